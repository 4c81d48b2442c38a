/* SPDX-License-Identifier: Apache-2.0 */
/* test_objective.c - tests of scheduler/objective.h, through plans */
#include "suite.h"

#include "lib/data/sample_rounds.h"
#include "lib/model/algorithm.h"
#include "scheduler/objective.h"

#include "tests/unit/planning.h"

enum { CLUSTERS = 1000, SEED = 20270101 };

static uint64_t state;

/* Return a random number in 0 .. n - 1 (splitmix64). */
static int below(int n)
{
    uint64_t z = (state += 0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

/* Return a random number whose logarithm is uniform. */
static double between(double low, double high)
{
    return low * pow(high / low, below(1 << 20) / (double)(1 << 20));
}

/* Make random nodes, and return their number; fill the job and *known. */
static int make_cluster(struct planner_history *known)
{
    static const int nodes[] = { 1, 2, 3, 4, 6, 8, 12, 16 }, devices[] = { 1, 1, 2, 4 };
    int n = nodes[below(8)], per_node = devices[below(4)];
    double fixed_s = between(1e-4, 1e-1), sample_s = between(1e-5, 1e-2);

    make_nodes(n);
    for (int i = 0; i < n * per_node; i++)
        add_emulated(&node[i / per_node], between(0.1, 1), fixed_s, sample_s);
    job.batch.global = n * per_node * (8 + below(64));
    *known = (struct planner_history){ .model_bytes = (int64_t)between(1e5, 2e9),
                                       .latency_s = between(1e-5, 1e-2),
                                       .bytes_per_s = between(1e6, 1e10),
                                       .n_gradients = below(200) };
    if (below(2))
        known->samples = (int64_t)between(100, 1e6) * job.batch.global;
    return n;
}

/* Borrow the plan's entry for the algorithm that it takes. */
static const struct plan_candidate *taken(void)
{
    for (int i = 0; i < p->n_candidates; i++)
        if (!p->candidate[i].lost[0])
            return &p->candidate[i];
    ck_abort_msg("the plan lists no algorithm as taken");
}

/* A plan's choices, and the progress that it predicts */
struct made {
    char mode[16];
    struct sync_options options;
    int n_groups, n_workers;
    bool exact;
    double progress;
};

static struct made plan_made(int n, const struct planner_history *known)
{
    struct made m = { .exact = true };

    ck_assert_int_eq(plan_nodes(n, known), 0);
    (void)snprintf(m.mode, sizeof m.mode, "%s", p->mode);
    m.options = p->options;
    m.n_groups = p->n_groups;
    m.n_workers = p->n_workers;
    m.exact = algorithm_has(p->algorithm, ALGORITHM_EXACT) && !sync_wire_is_half(p->options.wire);
    m.progress = taken()->predicted_progress;
    return m;
}

static int changed; /* plans with one choice changed */

/* Fail if the job as it is now pinned has more progress than the plan of eddis' own choice. */
static void check_no_better(int n, const struct planner_history *known, const struct made *own,
                            const char *what)
{
    struct made other = plan_made(n, known);
    double margin = own->exact && !other.exact ? ALGORITHM_MARGIN : 1;

    changed++;
    ck_assert_msg(other.progress <= own->progress * margin * (1 + 1e-9),
                  "%s: %s, %d groups, period %lld, %s: %.9g is more than %s, %d groups, period "
                  "%lld, %s: %.9g",
                  what, other.mode, other.n_groups, (long long)other.options.period,
                  sync_wire_name(other.options.wire), other.progress, own->mode, own->n_groups,
                  (long long)own->options.period, sync_wire_name(own->options.wire), own->progress);
}

/* Pin all choices of the plan. */
static void pin(const struct made *m)
{
    job.sync.mode = word_of(m->mode);
    job.sync.options = m->options;
    job.sync.groups = (struct job_groups){ 0 };
}

static void check_modes(int n, const struct planner_history *known, const struct made *own)
{
    static const char *const modes[] = { "sync", "async", "hybrid", "local" };

    for (size_t i = 0; i < 4; i++) {
        job.sync.mode = word_of(modes[i]);
        job.sync.options = (struct sync_options){ 0 };
        check_no_better(n, known, own, "another mode");
    }
}

static void check_wires(int n, const struct planner_history *known, const struct made *own)
{
    static const enum sync_wire wires[] = { SYNC_WIRE_FLOAT32, SYNC_WIRE_BFLOAT16 };

    for (size_t i = 0; i < 2; i++) {
        pin(own);
        job.sync.options.wire = wires[i];
        check_no_better(n, known, own, "another wire");
    }
}

static void check_groups(int n, const struct planner_history *known, const struct made *own)
{
    if (strcmp(own->mode, "hybrid") != 0 && strcmp(own->mode, "local") != 0)
        return;
    for (int k = 2; k < own->n_workers; k = k < 16 ? k + 1 : 2 * k) {
        pin(own);
        job.sync.groups.n = k;
        check_no_better(n, known, own, "other groups");
    }
}

/* Check whether the job as it is now pinned has rounds longer than MODES_ROUND_S. */
static bool is_long_round(int n, const struct planner_history *known)
{
    ck_assert_int_eq(plan_nodes(n, known), 0);
    return algorithm_has(p->algorithm, ALGORITHM_ROUNDS) &&
           (double)(p->options.period * p->global_batch) >
               MODES_ROUND_S * p->predicted_samples_per_s;
}

static void check_periods(int n, const struct planner_history *known, const struct made *own)
{
    int64_t t = own->options.period, steps = known->samples / job.batch.global;
    const int64_t periods[] = { t - 1, t + 1, t / 2, 2 * t };
    int64_t most = MODES_MAX_PERIOD;

    if (known->samples && steps / MODES_LEAST_EXCHANGES < most)
        most = steps / MODES_LEAST_EXCHANGES;
    for (size_t i = 0; t > 0 && i < 4; i++) {
        if (periods[i] < 1 || periods[i] > most)
            continue;
        pin(own);
        job.sync.options.period = periods[i];
        if (!is_long_round(n, known))
            check_no_better(n, known, own, "another period");
    }
}

/* No plan with one choice changed has more predicted progress than the plan of eddis' choice, but
 * for the margin by which an exact one is kept.
 */
START_TEST(no_change_is_better)
{
    int of_mode[SYNC_MODES] = { 0 };

    state = SEED;
    for (int i = 0; i < CLUSTERS; i++) {
        struct planner_history known;
        struct made own;
        int n;

        planning_begin();
        n = make_cluster(&known);
        own = plan_made(n, &known);
        of_mode[sync_mode_find(own.mode, strlen(own.mode))]++;
        check_modes(n, &known, &own);
        check_wires(n, &known, &own);
        check_groups(n, &known, &own);
        check_periods(n, &known, &own);
        planning_end();
    }
    node = NULL;
    p = NULL;
    ck_assert_int_gt(of_mode[SYNC_MODE_SYNC], CLUSTERS / 20);
    ck_assert_int_gt(of_mode[SYNC_MODE_LOCAL], CLUSTERS / 20);
    ck_assert_int_gt(of_mode[SYNC_MODE_ASYNC], CLUSTERS / 40);
    ck_assert_int_gt(of_mode[SYNC_MODE_HYBRID], CLUSTERS / 40);
    ck_assert_int_gt(changed, 5 * CLUSTERS);
}
END_TEST

/* A cluster of four speeds, what eddis takes, and its progress as a fraction of the devices' sum */
struct chosen {
    int nodes;
    double bits_per_s, parameters;
    const char *mode;
    int64_t period;
    double progress;
};

/* Plan such a cluster of 16 workers, and check that the plan takes what its own figures rank first,
 * and that these figures are as recorded.
 */
static void check_chosen(const struct chosen *c)
{
    const struct planner_history known = { .model_bytes = (int64_t)(4 * c->parameters),
                                           .latency_s = 1e-4,
                                           .bytes_per_s = c->bits_per_s / 8 };
    double best = 0, sync;

    make_mix(c->nodes);
    job.batch.global = 512;
    ck_assert_int_eq(plan_nodes(c->nodes, &known), 0);
    for (int i = 0; i < p->n_candidates; i++)
        best = fmax(best, p->candidate[i].predicted_progress);
    sync = p->candidate[0].predicted_progress;
    ck_assert(taken()->predicted_progress == best ||
              (strcmp(p->mode, "sync") == 0 && best <= sync * ALGORITHM_MARGIN));
    ck_assert_msg(strcmp(p->mode, c->mode) == 0 && p->options.period == c->period &&
                      fabs(best / p->ideal_samples_per_s - c->progress) < 0.0005,
                  "%d nodes, %g bit/s, %g parameters: %s, period %lld, %.3f", c->nodes,
                  c->bits_per_s, c->parameters, p->mode, (long long)p->options.period,
                  best / p->ideal_samples_per_s);
}

/* Clusters with whose figures eddis once chose another mode or a period many times too long. */
static const struct chosen clusters[] = {
    { 16, 1e9, 1e6, "sync", 0, 0.959 },     { 16, 200e6, 1e6, "sync", 0, 0.920 },
    { 16, 10e6, 1e6, "local", 216, 0.568 }, { 16, 1e9, 25e6, "local", 16, 0.732 },
    { 4, 50e6, 1e6, "local", 33, 0.882 },   { 4, 10e6, 1e6, "local", 216, 0.820 },
    { 4, 1e9, 350e6, "local", 61, 0.238 },
};

START_TEST(chosen)
{
    check_chosen(&clusters[_i]);
}
END_TEST

/* What eddis takes for clusters at random. */
static const struct chosen drawn[] = {
    { .mode = "local", .period = 16, .progress = 0.947 },
    { .mode = "local", .period = 212, .progress = 0.558 },
    { .mode = "hybrid", .period = 256, .progress = 0.027 },
    { .mode = "local", .period = 210, .progress = 0.771 },
    { .mode = "hybrid", .period = 127, .progress = 0.145 },
};

START_TEST(chosen_at_random)
{
    struct chosen c = drawn[_i];

    state = 20270102;
    for (int i = 0; i <= _i; i++) {
        c.nodes = below(2) ? 4 : 16;
        c.bits_per_s = between(1e7, 1e10);
        c.parameters = between(1e5, 1e9);
    }
    check_chosen(&c);
}
END_TEST

/* While the size of the model is unknown, the period is MODES_PERIOD, or the longest of the job. */
START_TEST(unknown_model)
{
    struct modes_worker worker[2] = { { .t = { 1e-3, 1e-4 }, .batch = 8, .node = 0 },
                                      { .t = { 1e-3, 1e-4 }, .batch = 8, .node = 1 } };
    struct modes_setup s = { .worker = worker, .n = 2, .n_nodes = 2, .bytes_per_s = 1e6 };
    struct objective_way way = { .setup = &s, .algorithm = algorithm_find("easgd"), .writers = 2 };
    int64_t period;

    ck_assert_int_eq(objective_best_period(&way, &period, NULL), 0);
    ck_assert_int_eq(period, MODES_PERIOD);
    s.steps = 20;
    ck_assert_int_eq(objective_best_period(&way, &period, NULL), 0);
    ck_assert_int_eq(period, 5);
    s.model_bytes = 1000000;
    s.steps = 3;
    ck_assert_int_eq(objective_best_period(&way, &period, NULL), 0);
    ck_assert_int_eq(period, 1);
}
END_TEST

/* No round of a period that eddis chooses takes longer than MODES_ROUND_S, if there is a shorter
 * one; of the others no neighbour has more progress.
 */
START_TEST(rounds_are_short)
{
    int bound = 0;

    state = SEED;
    for (int i = 0; i < CLUSTERS / 5; i++) {
        struct planner_history known;
        struct made own;
        double round_s;
        int n;

        planning_begin();
        n = make_cluster(&known);
        job.sync.mode = word_of("local");
        own = plan_made(n, &known);
        round_s = (double)(own.options.period * job.batch.global) / p->predicted_samples_per_s;
        ck_assert(own.options.period == 1 || round_s <= MODES_ROUND_S);
        bound += round_s > 0.9 * MODES_ROUND_S;
        for (int64_t t = own.options.period - 1; t <= own.options.period + 1; t++) {
            struct made other;

            pin(&own);
            job.sync.options.period = t;
            if (t == 0 ||
                (known.samples && t > known.samples / job.batch.global / MODES_LEAST_EXCHANGES))
                continue;
            other = plan_made(n, &known);
            round_s = (double)(t * job.batch.global) / p->predicted_samples_per_s;
            ck_assert(round_s > MODES_ROUND_S || t > MODES_MAX_PERIOD ||
                      other.progress <= own.progress * (1 + 1e-9));
        }
        planning_end();
    }
    node = NULL;
    p = NULL;
    ck_assert_int_gt(bound, 0);
}
END_TEST

/* Return the period that eddis chooses. */
static int64_t best_period(const struct objective_way *way)
{
    int64_t period = 0;

    ck_assert_int_eq(objective_best_period(way, &period, NULL), 0);
    return period;
}

/* Return the global batch, in samples. */
static int64_t global_batch(const struct modes_setup *s)
{
    int64_t sum = 0;

    for (int i = 0; i < s->n; i++)
        sum += s->worker[i].batch;
    return sum;
}

/* Return the global batches of the shortest round in which workers take an epoch. */
static double shortest_round(const struct modes_setup *s, int64_t period)
{
    const int64_t batch = global_batch(s);
    const struct rounds_plan rounds = { .batch = &batch, .n_groups = 1, .period = period };
    int64_t left = llround(s->epoch_steps * (double)batch), least = period * batch;

    while (left > 0) {
        int64_t size = rounds_size(&rounds, left);

        least = size < least ? size : least;
        left -= size;
    }
    return (double)least / (double)batch;
}

/* Check whether all rounds of an epoch outlast the overlap. */
static bool outlasts(const struct modes_setup *s, int64_t period)
{
    return shortest_round(s, period) > (double)s->overlap;
}

/* Check whether none of the next longer and shorter periods whose rounds outlast the overlap, nor
 * half and double, has more progress than `period`; *ret_any: a period up to `most` outlasts it.
 */
static bool is_best(const struct objective_way *way, int64_t period, int64_t most, bool *ret_any)
{
    int64_t around[] = { 0, 0, period / 2, period * 2 };
    struct forecast own, other;

    *ret_any = false;
    for (int64_t t = 1; t <= most; t++)
        if (outlasts(way->setup, t)) {
            *ret_any = true;
            if (t < period)
                around[0] = t;
            else if (t > period && !around[1])
                around[1] = t;
        }
    ck_assert_int_eq(objective_at(way, period, &own, NULL), 0);
    for (int i = 0; i < 4; i++) {
        if (around[i] < 1 || around[i] > most || !outlasts(way->setup, around[i]))
            continue;
        ck_assert_int_eq(objective_at(way, around[i], &other, NULL), 0);
        if (forecast_progress(other) > forecast_progress(own) * (1 + 1e-9))
            return false;
    }
    return true;
}

/* The result of a round is applied before the next round ends, if a round that eddis may choose is
 * long enough for that; else the rounds are as long as they may be.
 */
START_TEST(rounds_outlast_the_overlap)
{
    int bound = 0, impossible = 0, worse = 0;

    state = SEED;
    for (int i = 0; i < CLUSTERS; i++) {
        struct modes_worker worker[3];
        struct modes_setup s = { .worker = worker, .n = 3, .n_nodes = 3, .latency_s = 1e-4 };
        struct objective_way way = { .setup = &s,
                                     .algorithm = algorithm_find(i % 2 ? "local" : "diloco"),
                                     .writers = 3 };
        int64_t overlap = below(40), free, most, period;
        bool any, best;

        for (int k = 0; k < 3; k++)
            worker[k] = (struct modes_worker){ { between(1e-4, 1e-2), between(1e-5, 1e-3) },
                                               8 + below(64),
                                               k };
        s.model_bytes = below(4) ? (int64_t)between(1e5, 1e8) : 0;
        s.bytes_per_s = between(1e8, 1e9); /* no round is too long */
        s.steps = below(2) ? below(1000) : 0;
        if (below(2)) /* an epoch has whole samples, and often whole batches */
            s.epoch_steps = below(2) ? 1 + below(200)
                                     : round(between(1, 200) * (double)global_batch(&s)) /
                                           (double)global_batch(&s);
        free = best_period(&way);
        s.overlap = 1 << 20;
        most = best_period(&way);
        s.overlap = overlap;
        period = best_period(&way);
        best = is_best(&way, period, most, &any);
        if (any)
            ck_assert_double_gt(shortest_round(&s, period), (double)overlap);
        else
            ck_assert_int_eq(period, most);
        worse += any && s.model_bytes && !best;
        bound += period > free;
        impossible += period == most && period <= overlap;
    }
    ck_assert_int_gt(bound, CLUSTERS / 20);
    ck_assert_int_gt(impossible, CLUSTERS / 20);
    ck_assert_int_eq(worse, 0);
}
END_TEST

/* The last two rounds of an epoch are shorter, so a longer period may have shorter rounds. */
START_TEST(last_rounds_outlast_the_overlap)
{
    static const int64_t epochs[][3] = {
        { 10, 2, 4 }, { 100, 22, 25 }, { 100, 24, 25 }, { 100, 25, 34 }, { 100, 33, 50 }
    };

    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        struct modes_worker worker = { .t = { 0, 1e-3 }, .batch = 8 };
        struct modes_setup s = { .worker = &worker,
                                 .n = 1,
                                 .n_nodes = 1,
                                 .model_bytes = 1,
                                 .epoch_steps = (double)epochs[i][0],
                                 .overlap = epochs[i][1] };
        struct objective_way way = { .setup = &s,
                                     .algorithm = algorithm_find("local"),
                                     .writers = 4 };

        ck_assert_int_eq(best_period(&way), epochs[i][2]);
    }
}
END_TEST

/* While the size of the model is unknown, rounds outlast the overlap as well. */
START_TEST(unknown_model_outlasts_the_overlap)
{
    struct modes_worker worker = { .t = { 0, 1e-3 }, .batch = 8 };
    struct modes_setup s = {
        .worker = &worker, .n = 1, .n_nodes = 1, .epoch_steps = 33, .overlap = 9
    };
    struct objective_way way = { .setup = &s, .algorithm = algorithm_find("local"), .writers = 4 };

    ck_assert_int_eq(best_period(&way), 17); /* 16 would give rounds of 16, 8.5 and 8.5 steps */
}
END_TEST

/* A hybrid job whose model is unknown groups its workers by node: groups over several nodes seem to
 * cost nothing, and the job keeps its groups.
 */
START_TEST(unknown_groups)
{
    make_mix(4);
    job.sync.mode = word_of("hybrid");
    ck_assert_int_eq(plan_nodes(4, NULL), 0);
    for (int i = 0; i < p->n_workers; i++)
        ck_assert_int_eq(p->worker[i].group, p->worker[i].node);
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, no_change_is_better);
    tcase_add_loop_test(tc, chosen, 0, sizeof clusters / sizeof *clusters);
    tcase_add_loop_test(tc, chosen_at_random, 0, sizeof drawn / sizeof *drawn);
    tcase_add_test(tc, unknown_model);
    tcase_add_test(tc, rounds_are_short);
    tcase_add_test(tc, rounds_outlast_the_overlap);
    tcase_add_test(tc, last_rounds_outlast_the_overlap);
    tcase_add_test(tc, unknown_model_outlasts_the_overlap);
    tcase_add_test(tc, unknown_groups);
}

SUITE_MAIN("objective", add_tests)
