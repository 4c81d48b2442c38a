/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - parties of workers step in the order of virtual time, and report */
#include "sim_impl.h"

#include "lib/base/random.h"
#include "lib/model/algorithm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FORWARD = 1.0 / 3;        /* forward part of a step's compute */
static const double MEMORY_BYTES_PER_S = 4e9; /* of one core that reads, adds and writes */
static const double REPORT_S = 1;             /* time between two reports of a worker */
static const double SOON_S = 0.1;  /* the same if there is something new; and between ticks */
static const double STEP_S = 1e-5; /* duration of a step without samples */

enum {
    BUCKETS = 8,
    /* units of sim_work, measured: that of a report, that of a tick for each worker, and the number
     * of transfers that are counted in the time of one unit
     */
    REPORT_WORK = 25,
    TICK_WORK = 6,
    TRANSFERS_OF_WORK = 128,
};

/* Check whether all parties combine their models at the end of rounds. */
static bool has_rounds(const struct sim *s)
{
    return s->algorithm->traits & ALGORITHM_ROUNDS;
}

/* ---- the heap of parties ---- */

/* Check whether the party at heap index x ends its step before that at y; ties go to the lower
 * party.
 */
static bool ends_before(const struct sim *s, int x, int y)
{
    const struct party *a = &s->party[s->heap[x]], *b = &s->party[s->heap[y]];

    return a->end_s != b->end_s ? a->end_s < b->end_s : s->heap[x] < s->heap[y];
}

/* Restore the heap order below index i. */
static void sift_down(struct sim *s, int i)
{
    for (;;) {
        int least = i, kept;

        for (int c = 2 * i + 1; c <= 2 * i + 2 && c < s->links.n; c++)
            if (ends_before(s, c, least))
                least = c;
        if (least == i)
            return;
        kept = s->heap[i];
        s->heap[i] = s->heap[least];
        s->heap[least] = kept;
        i = least;
    }
}

/* ---- communication ---- */

/* Return the seconds of an all-reduce of so many bytes, `wire` of them between nodes, over the
 * members of p, whose links carry `crowd` other transfers at the same time.
 */
static double ring_s(const struct sim *s, const struct party *p, double bytes, double wire,
                     double crowd)
{
    double n = p->n_nodes, time = 0;

    if (p->n > p->n_nodes)
        time += 2 * bytes / MEMORY_BYTES_PER_S;
    if (p->n_nodes < 2 || !(p->slowest_bytes_per_s > 0) || !(bytes > 0))
        return time;
    return time + 2 * (n - 1) * s->set.latency_s +
           2 * (n - 1) / n * wire / p->slowest_bytes_per_s * (1 + crowd);
}

/* Return the transfers of other parties on the links of a party. */
static struct sim_crowd crowd_of(struct sim *s, const struct party *p, double at_s)
{
    s->work += s->links.n / TRANSFERS_OF_WORK;
    return sim_links_crowd(&s->links, (int)(p - s->party), at_s);
}

/* Return the seconds that a party's all-reduce of its gradients takes from this time on, while
 * other parties' exchanges share its links.
 */
static double allreduce_s(struct sim *s, const struct party *p, double at_s)
{
    struct sim_crowd c = { 0 };

    if (p->n_nodes > 1 && p->slowest_bytes_per_s > 0 && s->links.n > 1)
        c = crowd_of(s, p, at_s);
    return ring_s(s, p, s->sending.gradient_bytes, s->sending.wire_bytes,
                  fmax(c.receiving, c.sending));
}

/* Return the time at which part of a step that computes for so long is done, if the forward pass
 * and this part of the backward pass are done then.
 */
static double ready_s(double compute, double part)
{
    return compute * (FORWARD + (1 - FORWARD) * part);
}

/* Return the seconds of a step whose slowest member computes for so long from this time on. Equal
 * buckets are sent one after another as back-propagation fills them; the largest gradient is sent
 * as a whole, and all later ones after it.
 */
static double step_s(struct sim *s, const struct party *p, double at_s, double compute)
{
    const struct modes_sending *m = &s->sending;
    double all = allreduce_s(s, p, at_s), end = compute;

    if (all > 0) /* the last bucket, or the first one, decides when the last one is sent */
        end = fmax(compute + all / m->buckets, ready_s(compute, 1 / m->buckets) + all);
    if (all > 0 && m->left > 0)
        end = fmax(end, ready_s(compute, 1 - m->behind) + all * m->left);
    return fmax(end, STEP_S);
}

/* Return the steps since a party's last exchange was due; parties take turns as elastic_due of
 * lib/sync does.
 */
static int64_t since_exchange(const struct sim *s, const struct party *p)
{
    return (p->step + (p - s->party) * s->period / s->links.n) % s->period;
}

/* Return how long the parts of a party's exchange with the center take. */
static struct sim_exchange_times exchange_times(const struct sim *s, const struct party *p)
{
    double m = s->sending.model_bytes, link = s->member[p->first].law.bytes_per_s;
    struct sim_exchange_times t = { .local_s = 3 * m / MEMORY_BYTES_PER_S };

    if (s->links.n_nodes > 1 && link > 0) {
        t.wire_s = m * (s->links.n_nodes - 1) / s->links.n_nodes / link;
        t.latency_s = s->set.latency_s;
    }
    if (p->n_nodes > 1 && p->slowest_bytes_per_s > 0)
        t.link_s = m / p->slowest_bytes_per_s;
    if (p->n > p->n_nodes)
        t.memory_s = m / MEMORY_BYTES_PER_S;
    return t;
}

/* At the end of a party's step, begin its exchange with the center if it is due, and the read for
 * the next one if that goes ahead. Return when its next step may begin.
 */
static double exchange(struct sim *s, struct party *p)
{
    const struct sim_exchange_times t = exchange_times(s, p);
    int64_t since = since_exchange(s, p);
    double next_s = s->now_s;
    int self = (int)(p - s->party);

    p->hidden_s = 0;
    if (since == 0) {
        s->work += s->links.n / TRANSFERS_OF_WORK;
        next_s = sim_links_exchange(&s->links, self, &t, (double)s->period, s->now_s);
        p->exchanges++;
        p->hidden_s = s->links.exchange[self].hidden_s;
    }
    sim_links_ahead(&s->links, self, &t, (double)(s->period - since), next_s);
    return next_s;
}

/* ---- plans ---- */

void sim_publish(struct sim *s, const int64_t *batch)
{
    memcpy(s->next, batch, (size_t)s->n * sizeof *batch);
    s->published = s->version + 1;
    s->waiting = s->links.n;
    for (int i = 0; i < s->links.n; i++)
        s->party[i].switch_at =
            s->party[i].step + (has_rounds(s) ? 0 : 2 + (int64_t)random_below(&s->seed, 2));
}

/* Let a party follow the published plan from its switch step on; once all do, it is in force. */
static void take_plan(struct sim *s, struct party *p)
{
    if (p->version == s->published || p->step < p->switch_at)
        return;
    p->version = s->published;
    for (int i = p->first; i < p->first + p->n; i++)
        s->member[i].batch = s->next[i];
    if (--s->waiting > 0)
        return;
    s->version = s->published;
    memcpy(s->batch, s->next, (size_t)s->n * sizeof *s->batch);
    if (s->set.replan)
        replan_agreed(s->set.replan, s->version, s->now_s);
}

/* Let the re-planning policy decide, at most every SOON_S, and publish its proposal. */
static void tick(struct sim *s)
{
    struct replan_proposal p;

    if (!s->set.replan || s->now_s < s->tick_s || s->waiting > 0)
        return;
    s->tick_s = s->now_s + SOON_S;
    s->work += (int64_t)s->n * TICK_WORK;
    s->contradictions += replan_contradicted(s->set.replan, &s->contradiction);
    if (s->set.keeps_plan || !replan_decide(s->set.replan, s->now_s, &p))
        return;
    s->period = p.period ? p.period : s->period;
    sim_publish(s, p.batch);
    replan_published(s->set.replan, s->published, s->next, p.period);
}

/* ---- steps ---- */

/* Report a worker's window to the detection of stragglers. */
static void report_stragglers(struct sim *s, int rank, const struct step_metrics *f)
{
    struct time_model t = learner_model(replan_learner(s->set.replan, rank));

    if (s->set.stragglers)
        stragglers_take(s->set.stragglers, rank, f, NAN, &t);
}

/* Report a worker's exposed communication to the policy. */
static void report_exposed(struct sim *s, int rank, const struct party *p)
{
    const struct replan_exposed e = { .plan = p->version,
                                      .steps = p->step + 1,
                                      .exchanges = p->exchanges,
                                      .exposed_s = s->member[rank].exposed_s,
                                      .exchange_s = s->member[rank].exchange_s };

    replan_exposed(s->set.replan, rank, &e);
}

/* Report a worker's window to the policy, when an agent would: each second, or soon after something
 * new.
 */
static void report(struct sim *s, int rank, const struct party *p)
{
    struct member *m = &s->member[rank];
    bool is_another = m->window.points >= STEP_WINDOW_CHANGE &&
                      (m->window.since != m->reported_since || m->window.plan != m->reported_plan);
    bool is_new = is_another || (m->unsure && m->window.points >= STEP_WINDOW_SURE);
    struct step_metrics f;

    if (s->now_s < m->reported_s + (is_new ? SOON_S : REPORT_S))
        return;
    m->reported_s = s->now_s;
    s->work += REPORT_WORK;
    if (!step_window_metrics(&m->window, &f))
        return;
    m->unsure =
        (m->unsure || (is_another && f.plan == m->reported_plan)) && f.points < STEP_WINDOW_SURE;
    m->reported_since = f.since;
    m->reported_plan = f.plan;
    replan_metrics(s->set.replan, rank, &f, s->now_s);
    report_exposed(s, rank, p);
    report_stragglers(s, rank, &f);
}

/* Divide a party's samples of its present step of a round among its members, by their batches. */
static void set_counts(struct sim *s, const struct party *p)
{
    int64_t first = p->round_samples * p->round_step / p->round_steps;
    int64_t samples = p->round_samples * (p->round_step + 1) / p->round_steps - first;
    int64_t all = 0, before = 0;

    for (int i = p->first; i < p->first + p->n; i++)
        all += s->member[i].batch;
    for (int i = p->first; i < p->first + p->n && all > 0; i++) {
        int64_t after = before + s->member[i].batch;

        s->member[i].count = samples * after / all - samples * before / all;
        before = after;
    }
}

/* Begin a party's step, and compute when it ends. */
static void begin_step(struct sim *s, struct party *p, double now_s)
{
    double longest = 0;

    if (has_rounds(s))
        set_counts(s, p);
    else
        take_plan(s, p);
    for (int i = p->first; i < p->first + p->n; i++) {
        struct member *m = &s->member[i];

        if (!has_rounds(s))
            m->count = m->batch;
        m->own_s = sim_impl_own_s(s, i, m->count) * (m->count > 0 ? sim_impl_luck(s) : 0);
        m->own_s += sim_impl_turns_s(m, now_s, m->own_s);
        longest = fmax(longest, m->own_s);
    }
    s->work += p->n;
    p->longest_s = longest;
    p->begin_s = now_s;
    p->end_s = now_s + step_s(s, p, now_s, longest);
}

/* End a party's step: add it to its members' windows, and report. */
static void end_step(struct sim *s, struct party *p)
{
    for (int i = p->first; i < p->first + p->n; i++) {
        struct member *m = &s->member[i];
        double part = sim_impl_own_s(s, i, m->count), compute = sim_impl_compute_s(m, m->count);
        struct window_step w = { .step = p->step,
                                 .plan = p->version,
                                 .count = m->count,
                                 .work = (double)m->count,
                                 .compute_s = part > 0 ? m->own_s * compute / part : 0,
                                 .exposed_s =
                                     fmax(p->end_s - p->begin_s - m->own_s, 0) + p->exchange_s,
                                 .total_s = p->end_s - p->begin_s + p->exchange_s };

        w.input_s = fmax(m->own_s - w.compute_s, 0);
        m->exposed_s += w.exposed_s;
        m->exchange_s += p->exchange_s + p->hidden_s;
        s->samples += m->count;
        m->sum_s += m->own_s;
        m->sum_n += m->count > 0;
        if (!s->set.replan)
            continue;
        step_window_add(&m->window, &w, 0);
        report(s, i, p);
    }
}

/* ---- rounds ---- */

/* Begin a round: let all parties follow the published plan, and compute their samples and steps. */
static void begin_round(struct sim *s)
{
    int64_t most = (s->total + s->links.n - 1) / s->links.n;
    double batches = modes_round_batches(s->set.epoch_steps, s->period);

    s->at_end = 0;
    for (int k = 0; k < s->links.n; k++) {
        struct party *p = &s->party[k];
        int64_t batch = 0, step;

        take_plan(s, p);
        for (int i = p->first; i < p->first + p->n; i++)
            batch += s->member[i].batch;
        step = batches > 1 && most < batch ? most : batch;
        p->round_step = 0;
        p->round_samples = llround(batches * (double)batch);
        p->round_steps = step > 0 ? (p->round_samples + step - 1) / step : 1;
    }
}

/* Return the seconds in which all workers combine their models. */
static double combine_s(const struct sim *s)
{
    struct party all = { .n = s->n, .n_nodes = s->links.n_nodes };

    for (int k = 0; k < s->links.n; k++)
        if (k == 0 || s->party[k].slowest_bytes_per_s < all.slowest_bytes_per_s)
            all.slowest_bytes_per_s = s->party[k].slowest_bytes_per_s;
    return ring_s(s, &all, s->sending.model_bytes, s->sending.model_wire_bytes, 0) +
           3 * s->sending.model_bytes / MEMORY_BYTES_PER_S;
}

/* End a round and begin the next one, whose first steps hide the combining of models if they
 * overlap.
 */
static void next_round(struct sim *s)
{
    double end_s = s->now_s, next_s;

    for (int k = 0; k < s->links.n; k++)
        end_s = fmax(end_s, s->party[k].round_end_s);
    next_s = end_s + combine_s(s);
    begin_round(s);
    for (int k = 0; k < s->links.n; k++) {
        struct party *p = &s->party[k];
        double begin_s = s->set.overlap > 0 ? end_s : next_s;

        p->exchanges++;
        p->exchange_s = begin_s - p->round_end_s;
        p->lands_s = s->set.overlap > 0 ? next_s : 0;
        p->lands_after = s->set.overlap < p->round_steps ? s->set.overlap : p->round_steps;
        begin_step(s, p, begin_s);
    }
    for (int k = s->links.n / 2; k-- > 0;)
        sift_down(s, k);
}

/* Go on behind the end of a step of party p, the first of the heap: begin its next step, or let it
 * wait for the other parties at the end of the round.
 */
static void go_on(struct sim *s, struct party *p)
{
    double next_s = s->now_s;

    tick(s);
    p->exchange_s = 0;
    p->round_step++;
    if (p->lands_s > 0 && p->round_step >= p->lands_after) {
        next_s = fmax(next_s, p->lands_s);
        p->exchange_s = next_s - s->now_s;
        p->lands_s = 0;
    }
    if (p->round_step < p->round_steps) {
        begin_step(s, p, next_s);
    } else {
        p->round_end_s = next_s;
        p->end_s = INFINITY;
        s->at_end++;
    }
    sift_down(s, 0);
    if (s->at_end == s->links.n)
        next_round(s);
}

/* Advance the time to the next end of a party's step, and process it. */
static void next_event(struct sim *s)
{
    struct party *p = &s->party[s->heap[0]];
    double next_s = s->now_s = p->end_s;

    end_step(s, p);
    p->step++;
    if (has_rounds(s)) {
        go_on(s, p);
        return;
    }
    if (s->period > 0)
        next_s = exchange(s, p);
    p->exchange_s = next_s - s->now_s;
    tick(s);
    begin_step(s, p, next_s);
    sift_down(s, 0);
}

void sim_link(struct sim *s, double bytes_per_s)
{
    for (int i = 0; i < s->n; i++)
        s->member[i].law.bytes_per_s = bytes_per_s;
    for (int k = 0; k < s->links.n; k++)
        s->party[k].slowest_bytes_per_s = bytes_per_s;
}

void sim_run(struct sim *s, int64_t steps)
{
    int64_t last = s->party[0].step + steps;

    while (s->party[0].step < last)
        next_event(s);
}

void sim_run_until(struct sim *s, double until_s)
{
    while (s->party[s->heap[0]].end_s <= until_s)
        next_event(s);
}

/* ---- making one ---- */

/* Return what is sent: that of the setup, or eight buckets of its model. */
static struct modes_sending sending_of(const struct sim_setup *s)
{
    double m = (double)s->model_bytes, wire = s->wire_bytes ? (double)s->wire_bytes : m;

    if (s->sending.buckets > 0)
        return s->sending;
    return (struct modes_sending){ .gradient_bytes = m,
                                   .wire_bytes = wire,
                                   .model_bytes = m,
                                   .model_wire_bytes = wire,
                                   .buckets = BUCKETS };
}

/* Check the setup. -EINVAL: a value is out of range. */
static int check(const struct sim_setup *s, struct eddis_error *err)
{
    if (s->n < 1 || s->n > SIM_MAX_WORKERS)
        return eddis_fail(err, -EINVAL, "%d workers to simulate, not 1 to %d", s->n,
                          SIM_MAX_WORKERS);
    if (!algorithm_find(s->algorithm))
        return eddis_fail(err, -EINVAL, "no algorithm '%s' in this version", s->algorithm);
    if (algorithm_has(s->algorithm, ALGORITHM_ROUNDS) && s->period < 1)
        return eddis_fail(err, -EINVAL, "a round of %lld steps", (long long)s->period);
    for (int i = 0; i < s->n; i++)
        if (!(s->worker[i].sample_s > 0) || s->worker[i].batch < 0 || s->worker[i].node < 0 ||
            s->worker[i].node >= s->n)
            return eddis_fail(err, -EINVAL, "worker %d has no law to simulate", i);
    return 0;
}

/* Check whether worker i is the first of a party. */
static bool begins(const struct sim *s, int i)
{
    if (!(s->algorithm->traits & ALGORITHM_SEVERAL))
        return i == 0;
    return i == 0 || !(s->algorithm->traits & ALGORITHM_GROUPED) ||
           s->member[i].law.group != s->member[i - 1].law.group;
}

/* Add worker i to its party, a new one if it is the first. */
static void add_member(struct sim *s, int i)
{
    const struct sim_worker *w = &s->member[i].law;
    struct party *p;

    if (begins(s, i)) {
        s->links.exchange[s->links.n].node = w->node;
        s->party[s->links.n++] = (struct party){ .first = i, .version = 1 };
    }
    p = &s->party[s->links.n - 1];
    p->n_nodes += p->n == 0 || w->node != s->member[i - 1].law.node;
    if (p->n++ == 0 || w->bytes_per_s < p->slowest_bytes_per_s)
        p->slowest_bytes_per_s = w->bytes_per_s;
    s->links.n_nodes = w->node >= s->links.n_nodes ? w->node + 1 : s->links.n_nodes;
    s->total += w->batch;
}

/* Begin the first step of every party. */
static void begin(struct sim *s)
{
    for (int i = 0; i < s->n; i++) {
        struct member *m = &s->member[i];

        *m = (struct member){ .law = s->set.worker[i], .times = 1 };
        m->batch = s->batch[i] = m->law.batch;
        m->visits = random_mix(s->set.seed, 1000 + (uint64_t)i);
        /* Spread the reports over time, as those of agents are. */
        m->reported_s = -REPORT_S * i / s->n;
        step_window_init(&m->window);
        add_member(s, i);
    }
    if (has_rounds(s))
        begin_round(s);
    for (int k = 0; k < s->links.n; k++) {
        s->heap[k] = k;
        begin_step(s, &s->party[k], 0);
    }
    for (int k = s->links.n / 2; k-- > 0;)
        sift_down(s, k);
}

int sim_new(const struct sim_setup *set, struct sim **ret, struct eddis_error *err)
{
    size_t n = set->n > 0 ? (size_t)set->n : 0;
    struct sim *s;
    int rc = check(set, err);

    if (rc < 0)
        return rc;
    s = calloc(1, sizeof *s);
    if (s) {
        s->set = *set;
        s->algorithm = algorithm_find(set->algorithm);
        s->n = set->n;
        s->sending = sending_of(set);
        s->seed = random_mix(set->seed, 1);
        s->version = s->published = 1;
        s->period = s->algorithm->traits & ALGORITHM_SEVERAL ? set->period : 0;
        s->member = calloc(n, sizeof *s->member);
        s->party = calloc(n, sizeof *s->party);
        s->heap = calloc(n, sizeof *s->heap);
        s->links.exchange = calloc(n, sizeof *s->links.exchange);
        s->batch = calloc(n, sizeof *s->batch);
        s->next = calloc(n, sizeof *s->next);
    }
    if (!s || !s->member || !s->party || !s->heap || !s->links.exchange || !s->batch || !s->next) {
        sim_free(s);
        return eddis_fail(err, -ENOMEM, "no memory to simulate %d workers", set->n);
    }
    begin(s);
    s->set.worker = NULL;
    *ret = s;
    return 0;
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    free(s->member);
    free(s->party);
    free(s->heap);
    free(s->links.exchange);
    free(s->batch);
    free(s->next);
    free(s);
}

/* ---- access to the simulated job ---- */

void sim_slow(struct sim *s, int rank, double times)
{
    s->member[rank].times = times;
}

void sim_set_input(struct sim *s, int rank, double input_s)
{
    s->member[rank].law.input_s = input_s;
}

double sim_now_s(const struct sim *s)
{
    return s->now_s;
}

int64_t sim_samples(const struct sim *s)
{
    return s->samples;
}

int64_t sim_work(const struct sim *s)
{
    return s->work;
}

int64_t sim_version(const struct sim *s)
{
    return s->version;
}

int64_t sim_period(const struct sim *s)
{
    return s->period;
}

int sim_contradictions(const struct sim *s, const struct replan_contradiction **ret)
{
    *ret = &s->contradiction;
    return s->contradictions;
}

int64_t sim_step(const struct sim *s)
{
    return s->party[0].step;
}

const int64_t *sim_batch(const struct sim *s)
{
    return s->batch;
}

double sim_own_s(struct sim *s, int rank)
{
    struct member *m = &s->member[rank];
    double mean = m->sum_n > 0 ? m->sum_s / (double)m->sum_n : 0;

    m->sum_s = 0;
    m->sum_n = 0;
    return mean;
}
