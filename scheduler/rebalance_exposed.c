/* SPDX-License-Identifier: Apache-2.0 */
/* rebalance_exposed.c - whether exposed communication is what the network's figures make of it
 *
 * Communication is counted between two reports of a worker: all that its steps have waited for it,
 * against what these steps and the exchanges between them are predicted to wait.  Of those who
 * train one model together the one that waits least tells, since the others wait for its compute
 * too.  Where they share a node only their exchanges cross the network: what steps wait there tells
 * of the node alone, and so does all that compute hides.
 */
#include "rebalance_impl.h"

#include "lib/model/network_check.h"

#include <math.h>

/* Of a step, by which a prediction may be wrong.  Where models are averaged an exchange may cost
 * half of the second one, and what is busy makes it cost more, but nothing makes it cost less.
 */
static const double OFF_ONE = 0.2, OFF_MORE = 0.03, OFF_LESS = 0.005;
static const double LEAST_SCALE = 1 / 8.0, MOST_SCALE = 1024;
static const double ALIKE = 2; /* two halves may differ by so much: the first may lie on both sides
                                * of a change */

enum {
    HALF_STEPS = 10,
    MAX_DOUBLINGS = 6, /* of the steps wanted */
    BISECTIONS = 40,
};

static bool counts(const struct rebalance *r, const struct rebalance_exposed *e)
{
    return e->plan >= r->since && e->steps > 0;
}

void rebalance_exposed(struct rebalance *r, int rank, const struct rebalance_exposed *e)
{
    struct rebalance_member *m;

    if (rank < 0 || rank >= r->n)
        return;
    m = &r->member[rank];
    if (!counts(r, e) || (m->marked && (m->mark.plan < r->since || e->steps < m->mark.steps)))
        m->marked = false;
    if (!counts(r, e))
        return;
    if (!m->marked)
        m->mark = *e;
    m->marked = true;
    m->last = *e;
}

static int64_t exchanges(const struct rebalance_member *m)
{
    return m->last.exchanges - m->mark.exchanges;
}

static bool is_enough(const struct rebalance *r)
{
    int64_t wanted = HALF_STEPS << at_most(r->refits + r->in_vain, MAX_DOUBLINGS);

    for (int i = 0; i < r->n; i++) {
        const struct rebalance_member *m = &r->member[i];

        if (m->batch == 0)
            continue;
        if (!m->marked || m->mark.plan < r->since || learner_source(&m->learner) != TIME_MEASURED ||
            m->last.steps - m->mark.steps < wanted || (r->period > 0 && exchanges(m) == 0))
            return false;
    }
    return true;
}

/* Of a step, a mean over the workers that tell. */
struct compared {
    double compute_s, measured_s, predicted_s;
};

static double waited_s(const struct rebalance_member *m)
{
    return m->last.exposed_s - m->mark.exposed_s;
}

static double exchanged_s(const struct rebalance_member *m)
{
    return m->last.exchange_s - m->mark.exchange_s;
}

/* Of each group the member that waits least; -1: it has none. */
static void find_tellers(struct rebalance *r)
{
    const int *group = rebalance_groups(r);

    for (int g = 0; g < r->n; g++)
        r->teller[g] = -1;
    for (int i = 0; i < r->n; i++) {
        int *t = &r->teller[group ? group[i] : i];

        if (r->member[i].batch > 0 &&
            (*t < 0 || waited_s(&r->member[i]) < waited_s(&r->member[*t])))
            *t = i;
    }
}

static void add_teller(const struct rebalance_member *m, const struct modes_time *t,
                       struct compared *ret)
{
    double steps = (double)(m->last.steps - m->mark.steps);
    bool crosses = t->nodes > 1;

    ret->compute_s += t->compute_s;
    ret->measured_s += (crosses ? waited_s(m) : exchanged_s(m)) / steps;
    ret->predicted_s += (crosses ? t->exposed_s : 0) + t->exchange_s * (double)exchanges(m) / steps;
}

/* What is predicted for a network that takes so many times as long.  False without memory. */
static bool compare(struct rebalance *r, double scale, struct compared *ret)
{
    struct rebalance_network wire = r->set.network;
    struct modes_setup s;
    int n, told = 0;

    wire.latency_s *= scale;
    wire.bytes_per_s /= scale;
    s = rebalance_modes(r, rebalance_present, &wire);
    n = modes_times(&s, rebalance_groups(r), r->period, r->time, NULL);
    *ret = (struct compared){ 0 };
    for (int g = 0; g < n; g++) {
        if (r->teller[g] < 0)
            continue;
        add_teller(&r->member[r->teller[g]], &r->time[g], ret);
        told++;
    }
    ret->compute_s /= fmax(told, 1);
    ret->measured_s /= fmax(told, 1);
    ret->predicted_s /= fmax(told, 1);
    return told > 0;
}

/* By what the network has to be scaled for the prediction to be what was measured. */
static double fit(struct rebalance *r, double measured_s)
{
    double low = log(LEAST_SCALE), high = log(MOST_SCALE);

    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        struct compared c;

        if (!compare(r, exp(middle), &c))
            return 1;
        if (c.predicted_s < measured_s)
            low = middle;
        else
            high = middle;
    }
    return exp((low + high) / 2);
}

static bool differ(const struct rebalance *r, const struct compared *c)
{
    double step_s = c->compute_s + fmax(c->measured_s, c->predicted_s);
    double off = c->measured_s > c->predicted_s ? OFF_MORE : OFF_LESS;

    return fabs(c->measured_s - c->predicted_s) > (trains_several(r) ? off : OFF_ONE) * step_s;
}

/* What the steps since the marks say, as a logarithm; 0: they agree with the network, or no network
 * explains them.
 */
static double contradiction(struct rebalance *r, struct compared *c)
{
    struct compared fitted;
    double scale;

    if (!compare(r, 1, c) || !differ(r, c)) {
        r->in_vain = 0;
        return 0;
    }
    scale = fit(r, c->measured_s);
    r->in_vain += r->in_vain < MAX_DOUBLINGS; /* a fit costs many predictions */
    if ((scale <= NETWORK_CHECK_MOST && scale >= NETWORK_CHECK_LEAST) ||
        !compare(r, scale, &fitted) || differ(r, &fitted))
        return 0;
    r->in_vain = 0;
    return log(scale);
}

static void mark_all(struct rebalance *r)
{
    for (int i = 0; i < r->n; i++)
        r->member[i].mark = r->member[i].last;
}

static void refit(struct rebalance *r, struct rebalance_contradiction *ret)
{
    ret->times = exp(r->scale);
    ret->network = r->set.network;
    ret->network.latency_s *= ret->times;
    ret->network.bytes_per_s /= ret->times;
    rebalance_network(r, &ret->network);
    r->scale = 0;
    r->refits += r->refits < MAX_DOUBLINGS;
}

bool rebalance_contradicted(struct rebalance *r, struct rebalance_contradiction *ret)
{
    const struct rebalance_network *n = &r->set.network;
    struct compared c;
    double scale;
    bool agree;

    if (n->n_nodes < 2 || n->model_bytes <= 0 || !(n->bytes_per_s > 0) || !is_enough(r))
        return false;
    rebalance_fill(r);
    find_tellers(r);
    scale = contradiction(r, &c);
    mark_all(r);
    agree = scale * r->scale > 0 && fabs(scale - r->scale) <= log(ALIKE);
    r->scale = scale;
    if (!agree)
        return false;
    ret->measured_s = c.measured_s;
    ret->predicted_s = c.predicted_s;
    refit(r, ret);
    return true;
}
