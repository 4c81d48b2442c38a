/* SPDX-License-Identifier: Apache-2.0 */
/* sim.c - parties of workers step in the order of virtual time, and report */
#include "sim.h"
#include "sim_links.h"

#include "lib/base/random.h"
#include "lib/model/algorithm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FORWARD = 1.0 / 3;        /* forward part of a step's compute */
static const double MEMORY_BYTES_PER_S = 4e9; /* of one core that reads, adds and writes */
static const double REPORT_S = 1;             /* time between two reports of a worker */
static const double SOON_S = 0.1;       /* the same if there is something new; and between ticks */
static const double STEP_S = 1e-5;      /* duration of a step without samples */
static const double LEAST_OF_LAW = 0.2; /* jitter never makes a step shorter than this fraction */

static const double THROTTLED = 3;  /* factor on the time of a worker that exceeds its quota */
static const double SLICE_S = 3e-3; /* time slice of a core that programs share */

enum { BUCKETS = 8 };

/* A simulated worker. */
struct member {
    struct sim_worker law;
    double times; /* factor on the time by the law */
    int64_t batch;
    int64_t count; /* samples of the present step: a part of a round's, else `batch` */
    struct step_window window;
    int64_t reported_since, reported_plan; /* window of the last report with something new */
    bool unsure;                           /* that window had begun again and had few points */
    double reported_s;                     /* when the worker last reported */
    double own_s;                          /* of the present step */
    double exposed_s, exchange_s; /* sums over all steps; exchange_s: exchanges, hidden reads too */
    double sum_s;                 /* sum of own times since the last sim_own_s */
    int64_t sum_n;                /* number of steps in sum_s */
    double slice_s, visited_s;    /* used of its time slice; until when `visited` holds */
    bool visited;                 /* other programs use its core */
    uint64_t visits; /* random state for visits alone, so that other plans do not change them */
};

/* Simulated workers that train one model together. */
struct party {
    int first, n; /* ranks */
    int n_nodes;
    double slowest_bytes_per_s;
    int64_t step, version;
    int64_t switch_at;     /* step from which the published plan holds */
    int64_t exchanges;     /* number of exchanges so far */
    double hidden_s;       /* part of the exchange before it that steps hid */
    double begin_s, end_s; /* of the present step */
    double longest_s;      /* longest own time of a member in it */
    double exchange_s;     /* duration of the exchange before it */
    /* of a round (ALGORITHM_ROUNDS): its samples, its steps, and those done; and when they were */
    int64_t round_samples, round_steps, round_step;
    double round_end_s;
};

struct sim {
    struct sim_setup set;
    const struct algorithm *algorithm;
    struct member *member; /* [n] */
    int n;
    struct party *party;    /* [links.n], a heap by end_s from `heap` */
    int *heap;              /* [links.n] */
    struct sim_links links; /* number of parties and of nodes; exchanges */
    int64_t *batch, *next;  /* [n] batches in force everywhere; published batches */
    int64_t version, published, period;
    int waiting; /* number of parties that do not follow the published plan yet */
    int at_end;  /* number of parties that wait at the end of a round */
    uint64_t seed;
    double now_s, tick_s;
    int contradictions;
    struct replan_contradiction contradiction;
    int64_t samples, total;
};

/* ---- randomness ---- */

/* Draw a random factor on a step's time, from jitter and spikes. */
static double luck(struct sim *s)
{
    double x = 1;

    if (s->set.jitter > 0)
        x = fmax(1 + s->set.jitter * random_normal(&s->seed), LEAST_OF_LAW);
    if (s->set.spike > 0 && random_unit(&s->seed) < s->set.spike)
        x *= s->set.spike_ratio;
    return x;
}

/* Check whether all parties combine their models at the end of rounds. */
static bool has_rounds(const struct sim *s)
{
    return s->algorithm->traits & ALGORITHM_ROUNDS;
}

/* ---- laws ---- */

/* Return the true compute seconds of a simulated worker for a batch: those of its law, see struct
 * sim_worker, times the factor of sim_slow.
 */
static double compute_s(const struct member *m, int64_t batch)
{
    const struct sim_worker *law = &m->law;
    double s = fmax(law->floor_s, law->fixed_s + law->sample_s * (double)batch);

    if (law->quota_s > 0 && s > law->quota_s)
        s *= THROTTLED;
    return batch <= 0 ? 0 : m->times * s;
}

/* Return the seconds that a worker waits for input, beside `compute` seconds. */
static double input_s(const struct sim *s, const struct member *m, int64_t batch, double compute)
{
    double input = m->law.input_s * (double)batch;

    return s->set.read_ahead ? fmax(input - compute, 0) : input;
}

/* Return a worker's own seconds for a batch: compute and the wait for input, without randomness. */
static double own_s(const struct sim *s, int rank, int64_t batch)
{
    const struct member *m = &s->member[rank];
    double compute = compute_s(m, batch);

    return compute + input_s(s, m, batch, compute);
}

double sim_longest_s(const struct sim *s, const int64_t *batch)
{
    double longest = 0;

    for (int i = 0; i < s->n; i++)
        longest = fmax(longest, own_s(s, i, batch[i]));
    return longest;
}

double sim_best_s(const struct sim *s, int64_t min, const int64_t *max, int64_t *ret)
{
    for (int i = 0; i < s->n; i++)
        ret[i] = min;
    for (int64_t left = s->total - min * s->n; left > 0; left--) {
        int best = -1;

        for (int i = 0; i < s->n; i++)
            if ((!max || ret[i] < max[i]) &&
                (best < 0 || own_s(s, i, ret[i] + 1) < own_s(s, best, ret[best] + 1)))
                best = i;
        if (best < 0)
            return INFINITY;
        ret[best]++;
    }
    return sim_longest_s(s, ret);
}

/* ---- other programs on a worker's core ---- */

/* Check whether other programs use the worker's core now; advances the random visits. */
static bool are_others_there(struct member *m, double now_s)
{
    if (m->law.others <= 0 || m->law.visit_s <= 0)
        return m->law.others > 0;
    for (; now_s >= m->visited_s; m->visited = !m->visited)
        m->visited_s += m->law.visit_s * (0.5 + random_unit(&m->visits));
    return m->visited;
}

/* Return how long a worker waits for other programs' time slices if it computes for so long from
 * now on.
 */
static double turns_s(struct member *m, double now_s, double compute)
{
    double turns;

    if (!are_others_there(m, now_s))
        return 0;
    turns = floor((m->slice_s + compute) / SLICE_S);
    m->slice_s += compute - turns * SLICE_S;
    return turns * SLICE_S * m->law.others;
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

/* Return the seconds of an all-reduce over the members of p, whose links carry `crowd` other
 * transfers at the same time.
 */
static double ring_s(const struct sim *s, const struct party *p, double crowd)
{
    double m = (double)s->set.model_bytes, n = p->n_nodes, time = 0;
    double wire = s->set.wire_bytes ? (double)s->set.wire_bytes : m;

    if (p->n > p->n_nodes)
        time += 2 * m / MEMORY_BYTES_PER_S;
    if (p->n_nodes < 2 || !(p->slowest_bytes_per_s > 0))
        return time;
    return time + 2 * (n - 1) * s->set.latency_s +
           2 * (n - 1) / n * wire / p->slowest_bytes_per_s * (1 + crowd);
}

/* Return the seconds that a party's all-reduce of its gradients takes from this time on, while
 * other parties' exchanges share its links.
 */
static double allreduce_s(const struct sim *s, const struct party *p, double at_s)
{
    struct sim_crowd c = { 0 };

    if (p->n_nodes > 1 && p->slowest_bytes_per_s > 0)
        c = sim_links_crowd(&s->links, (int)(p - s->party), at_s);
    return ring_s(s, p, fmax(c.receiving, c.sending));
}

/* Return the seconds of a step whose slowest member computes for so long from this time on. Equal
 * buckets are sent one after another as back-propagation fills them.
 */
static double step_s(const struct sim *s, const struct party *p, double at_s, double compute)
{
    double bucket = allreduce_s(s, p, at_s) / BUCKETS, end = 0;

    for (int k = 1; k <= BUCKETS; k++)
        end = fmax(end, compute * (FORWARD + (1 - FORWARD) * k / BUCKETS)) + bucket;
    return fmax(fmax(end, compute), STEP_S);
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
    double m = (double)s->set.model_bytes, link = s->member[p->first].law.bytes_per_s;
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
    s->contradictions += replan_contradicted(s->set.replan, &s->contradiction);
    if (!replan_decide(s->set.replan, s->now_s, &p))
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
        m->own_s = own_s(s, i, m->count) * (m->count > 0 ? luck(s) : 0);
        m->own_s += turns_s(m, now_s, m->own_s);
        longest = fmax(longest, m->own_s);
    }
    p->longest_s = longest;
    p->begin_s = now_s;
    p->end_s = now_s + step_s(s, p, now_s, longest);
}

/* End a party's step: add it to its members' windows, and report. */
static void end_step(struct sim *s, struct party *p)
{
    for (int i = p->first; i < p->first + p->n; i++) {
        struct member *m = &s->member[i];
        double part = own_s(s, i, m->count), compute = compute_s(m, m->count);
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

    s->at_end = 0;
    for (int k = 0; k < s->links.n; k++) {
        struct party *p = &s->party[k];
        int64_t batch = 0, step;

        take_plan(s, p);
        for (int i = p->first; i < p->first + p->n; i++)
            batch += s->member[i].batch;
        step = s->period > 1 && most < batch ? most : batch;
        p->round_step = 0;
        p->round_samples = s->period * batch;
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
    return ring_s(s, &all, 0) + 3 * (double)s->set.model_bytes / MEMORY_BYTES_PER_S;
}

/* End a round and begin the next one. */
static void next_round(struct sim *s)
{
    double next_s = s->now_s + combine_s(s);

    begin_round(s);
    for (int k = 0; k < s->links.n; k++) {
        struct party *p = &s->party[k];

        p->exchanges++;
        p->exchange_s = next_s - p->round_end_s;
        begin_step(s, p, next_s);
    }
    for (int k = s->links.n / 2; k-- > 0;)
        sift_down(s, k);
}

/* Go on behind the end of a step of party p, the first of the heap: begin its next step, or let it
 * wait for the other parties at the end of the round.
 */
static void go_on(struct sim *s, struct party *p)
{
    tick(s);
    p->exchange_s = 0;
    if (++p->round_step < p->round_steps) {
        begin_step(s, p, s->now_s);
    } else {
        p->round_end_s = s->now_s;
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

/* ---- making one ---- */

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
