/* SPDX-License-Identifier: Apache-2.0 */
/* replan_exposed.c - compares exposed communication with what the network measurement predicts
 *
 * The time that a worker's steps waited for communication between two reports is compared with the
 * prediction for them. Of the workers that train one model, the one that waits least is the
 * reporting worker, since the others also wait for its compute. If they share a node, only their
 * exchanges cross the network, and waits of steps are ignored. Communication that compute hides
 * shows nothing either. In rounds all groups wait for the slowest, so there is one reporting
 * worker: the one whose exchanges were shortest.
 */
#include "replan_impl.h"

#include "lib/model/network_check.h"

#include <math.h>

/* Fraction of a step by which a prediction may be wrong: OFF_ONE for one model; for models that are
 * averaged OFF_MORE if the measured time is larger, OFF_LESS if it is smaller.  Exchanges at the
 * chosen period may cost half of OFF_MORE.  Busy machines make them slower; nothing makes them
 * faster.
 */
static const double OFF_ONE = 0.2, OFF_MORE = 0.03, OFF_LESS = 0.005;
/* Range in which `fit` searches the factor on the network's times. */
static const double LEAST_SCALE = 1 / 8.0, MOST_SCALE = 1024;
static const double ALIKE = 2; /* factor by which the two halves may differ, since the first may
                                * contain a change */

enum {
    /* Steps of each half: two comparisons in a row must agree. */
    HALF_STEPS = 10,
    MAX_DOUBLINGS = 6, /* most doublings of the number of steps required */
    BISECTIONS = 40,
};

/* Check whether a report belongs to the present batches and has steps. */
static bool counts(const struct replan *r, const struct replan_exposed *e)
{
    return e->plan >= r->since && e->steps > 0;
}

void replan_exposed(struct replan *r, int rank, const struct replan_exposed *e)
{
    struct replan_member *m;

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

/* Return what a worker's steps did and waited for between its two reports. */
static struct replan_exposed between(const struct replan_member *m)
{
    return (struct replan_exposed){ .steps = m->last.steps - m->mark.steps,
                                    .exchanges = m->last.exchanges - m->mark.exchanges,
                                    .exposed_s = m->last.exposed_s - m->mark.exposed_s,
                                    .exchange_s = m->last.exchange_s - m->mark.exchange_s };
}

/* Check whether every worker with samples has reported enough steps since its mark and, if models
 * are exchanged, an exchange.
 */
static bool is_enough(const struct replan *r)
{
    int64_t wanted = HALF_STEPS << at_most(r->refits + r->in_vain, MAX_DOUBLINGS);

    for (int i = 0; i < r->n; i++) {
        const struct replan_member *m = &r->member[i];

        if (m->batch == 0)
            continue;
        if (!m->marked || m->mark.plan < r->since || learner_source(&m->learner) != TIME_MEASURED ||
            between(m).steps < wanted || (r->period > 0 && between(m).exchanges == 0))
            return false;
    }
    return true;
}

/* Seconds of a step, means over the reporting workers. */
struct compared {
    double compute_s, measured_s, predicted_s;
};

/* Keep only the reporting worker whose exchanges took least time each. */
static void keep_last_group(struct replan *r)
{
    double least = INFINITY;
    int best = -1;

    for (int g = 0; g < r->n; g++) {
        const int i = r->sum[g].reporter;
        const struct replan_exposed e =
            i >= 0 ? between(&r->member[i]) : (struct replan_exposed){ 0 };

        r->sum[g].reporter = -1;
        if (e.exchanges > 0 && e.exchange_s / (double)e.exchanges < least) {
            least = e.exchange_s / (double)e.exchanges;
            best = i;
        }
    }
    if (best >= 0)
        r->sum[replan_groups(r)[best]].reporter = best;
}

/* Find the reporting worker of each group: the member that waits least; -1: none has samples. */
static void find_reporters(struct replan *r)
{
    const int *group = replan_groups(r);

    for (int g = 0; g < r->n; g++)
        r->sum[g].reporter = -1;
    for (int i = 0; i < r->n; i++) {
        int *t = &r->sum[group ? group[i] : i].reporter;

        if (r->member[i].batch > 0 &&
            (*t < 0 || between(&r->member[i]).exposed_s < between(&r->member[*t]).exposed_s))
            *t = i;
    }
    if (trains_rounds(r))
        keep_last_group(r);
}

/* Add a reporting worker's measured and predicted times of a step to the sums. */
static void add_reporter(const struct replan_member *m, const struct modes_time *t,
                         struct compared *ret)
{
    const struct replan_exposed e = between(m);
    double steps = (double)e.steps;
    bool crosses = t->nodes > 1;

    ret->compute_s += t->compute_s;
    ret->measured_s += (crosses ? e.exposed_s : e.exchange_s) / steps;
    ret->predicted_s += (crosses ? t->exposed_s : 0) + t->exchange_s * (double)e.exchanges / steps;
}

/* Fill *ret with the measured times of a step, and those predicted if the network took `scale`
 * times as long. Return false if there is no reporting worker or no memory.
 */
static bool compare(struct replan *r, double scale, struct compared *ret)
{
    struct modes_setup wire = r->set.network;
    struct modes_setup s;
    int n, n_measured = 0;

    wire.latency_s *= scale;
    wire.bytes_per_s /= scale;
    s = replan_modes(r, replan_present, &wire);
    n = (trains_rounds(r) ? modes_round_times : modes_times)(&s, replan_groups(r), r->period,
                                                             r->time, NULL);
    *ret = (struct compared){ 0 };
    for (int g = 0; g < n; g++) {
        if (r->sum[g].reporter < 0)
            continue;
        add_reporter(&r->member[r->sum[g].reporter], &r->time[g], ret);
        n_measured++;
    }
    ret->compute_s /= fmax(n_measured, 1);
    ret->measured_s /= fmax(n_measured, 1);
    ret->predicted_s /= fmax(n_measured, 1);
    return n_measured > 0;
}

/* Return by bisection the factor on the network's times at which the prediction equals measured_s;
 * 1: there is no prediction.
 */
static double fit(struct replan *r, double measured_s)
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

/* Check whether measured and predicted time differ by more than the prediction may be wrong. In
 * rounds not always the same group is last, so even the reporting worker waits for others now and
 * then; the longer a round, the less of a step.
 */
static bool differ(const struct replan *r, const struct compared *c)
{
    double step_s = c->compute_s + fmax(c->measured_s, c->predicted_s), off = OFF_ONE;

    if (trains_several(r))
        off = c->measured_s > c->predicted_s ? OFF_MORE : OFF_LESS;
    if (trains_rounds(r) && c->measured_s > c->predicted_s)
        off = fmax(OFF_MORE, OFF_ONE / sqrt((double)r->period));
    return fabs(c->measured_s - c->predicted_s) > off * step_s;
}

/* Return the logarithm of the factor on the network's times that explains the steps since the
 * marks; 0: the steps agree with the network, or no factor explains them. Fill *c with the
 * comparison at factor 1, and update r->in_vain.
 */
static double contradiction(struct replan *r, struct compared *c)
{
    struct compared fitted;
    double scale;

    if (!compare(r, 1, c) || !differ(r, c)) {
        r->in_vain = 0;
        return 0;
    }
    scale = fit(r, c->measured_s);
    r->in_vain += r->in_vain < MAX_DOUBLINGS; /* a fit costs many predictions: do it less often */
    if ((scale <= NETWORK_CHECK_MOST && scale >= NETWORK_CHECK_LEAST) ||
        !compare(r, scale, &fitted) || differ(r, &fitted))
        return 0;
    r->in_vain = 0;
    return log(scale);
}

/* Begin the next comparison: make the last report of each worker its mark. */
static void mark_all(struct replan *r)
{
    for (int i = 0; i < r->n; i++)
        r->member[i].mark = r->member[i].last;
}

/* Multiply the network's times by exp(r->scale), and fill *ret with this factor and the network.
 * Set r->scale to 0, and require more steps for the next comparison.
 */
static void refit(struct replan *r, struct replan_contradiction *ret)
{
    ret->times = exp(r->scale);
    ret->network = r->set.network;
    ret->network.latency_s *= ret->times;
    ret->network.bytes_per_s /= ret->times;
    replan_network(r, &ret->network);
    r->scale = 0;
    r->refits += r->refits < MAX_DOUBLINGS;
}

bool replan_contradicted(struct replan *r, struct replan_contradiction *ret)
{
    const struct modes_setup *n = &r->set.network;
    struct compared c;
    double scale;
    bool agree;

    if (n->n_nodes < 2 || n->model_bytes <= 0 || !(n->bytes_per_s > 0) || !is_enough(r) ||
        program_is_external(&n->program)) /* its gradients may take another network */
        return false;
    replan_fill(r);
    find_reporters(r);
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
