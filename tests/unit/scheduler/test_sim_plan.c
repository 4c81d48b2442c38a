/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_plan.c - tests of scheduler/sim_plan.h: what a simulated job reaches of its prediction
 */
#include "scheduler/sim_plan.h"

#include "suite.h"

#include "lib/base/cleanup.h"

#include <errno.h>

#include "tests/unit/planning.h"

#define cleanup_reached __attribute__((cleanup(sim_reached_fini)))

static const struct sim_disturbance none;

/* Sixteen devices of four speeds on four nodes, and what is known of a model and its network. */
static const struct planner_history known = {
    .model_bytes = 4000000, .latency_s = 1e-4, .bytes_per_s = 1.25e8, .samples = 10000000
};

/* Plan the mix on so many nodes in this mode. */
static void plan_mix(int nodes, const char *mode, const struct planner_history *h)
{
    make_mix(nodes);
    job.batch.global = 1024;
    job.sync.mode = word_of(mode);
    ck_assert_msg(plan_nodes(nodes, h) == 0, "%s", err.text);
}

/* Simulate the newest plan. */
static struct sim_reached reach(const struct sim_disturbance *d, double seconds, uint64_t seed,
                                const struct planner_history *h)
{
    const struct sim_plan s = {
        .job = &job, .plan = p, .history = h, .disturbance = *d, .seconds = seconds, .seed = seed
    };
    struct sim_reached r = { 0 };

    ck_assert_msg(sim_plan(&s, &r, &err) == 0, "%s", err.text);
    return r;
}

static const struct mode_row {
    const char *mode;
    int nodes;
    enum sync_wire wire;
    double within;
} mode_rows[] = {
    { "sync", 1, SYNC_WIRE_FLOAT32, 0.05 },  { "sync", 4, SYNC_WIRE_FLOAT32, 0.05 },
    { "sync", 4, SYNC_WIRE_BFLOAT16, 0.05 }, { "sync", 16, SYNC_WIRE_FLOAT32, 0.05 },
    { "async", 4, SYNC_WIRE_FLOAT32, 0.1 },  { "hybrid", 4, SYNC_WIRE_FLOAT32, 0.1 },
    { "local", 4, SYNC_WIRE_FLOAT32, 0.1 },  { "local", 16, SYNC_WIRE_BFLOAT16, 0.1 },
};

/* Without disturbance a job reaches its prediction, and is not re-planned. */
START_TEST(undisturbed)
{
    const struct mode_row *row = &mode_rows[_i];
    cleanup_reached struct sim_reached r = { 0 };
    struct planner_history h = known;
    double part;

    h.wire = row->wire;
    plan_mix(row->nodes, row->mode, &h);
    r = reach(&none, 300, 1, &h);
    part = r.samples_per_s / p->predicted_samples_per_s;
    ck_assert_msg(fabs(part - 1) < row->within, "%s on %d nodes: %.3f of the prediction", row->mode,
                  row->nodes, part);
    ck_assert_int_eq(r.n_slow, 0);
    if (strcmp(row->mode, "sync") == 0)
        ck_assert_int_eq(r.replans, 0);
}
END_TEST

/* Rounds end with epochs, and steps hide the combining of models, in the prediction and the
 * simulation.
 */
START_TEST(rounds)
{
    static const int64_t overlaps[] = { 0, 3 }, epochs[] = { 0, 6 };
    cleanup_reached struct sim_reached r = { 0 };
    struct planner_history h = known;
    double part;

    h.bytes_per_s = 2e6;
    h.samples_in_epoch = epochs[_i / 2] * 1024;
    job.sync.options.period = 4;
    job.sync.options.overlap = overlaps[_i % 2];
    plan_mix(4, "local", &h);
    r = reach(&none, 300, 1, &h);
    part = r.samples_per_s / p->predicted_samples_per_s;
    ck_assert_msg(fabs(part - 1) < 0.1, "epochs of %d, overlap %d: %.3f of the prediction",
                  (int)epochs[_i / 2], (int)overlaps[_i % 2], part);
}
END_TEST

/* A layer that holds most of the parameters is ready late, in the prediction and the simulation. */
START_TEST(large_gradient)
{
    cleanup_reached struct sim_reached r = { 0 };
    struct planner_history h = known;
    double part;

    h.bytes_per_s = 5e7;
    h.program = (struct program){ .gradient_bytes = h.model_bytes,
                                  .float32_bytes = h.model_bytes,
                                  .centre_bytes = h.model_bytes,
                                  .largest_bytes = 3000000,
                                  .largest_behind = 900000 };
    plan_mix(4, "sync", &h);
    r = reach(&none, 300, 1, &h);
    part = r.samples_per_s / p->predicted_samples_per_s;
    ck_assert_msg(fabs(part - 1) < 0.05, "%.3f of the prediction", part);
}
END_TEST

static bool is_equal(const struct sim_reached *a, const struct sim_reached *b)
{
    bool equal = a->n_slow == b->n_slow && a->replans == b->replans &&
                 a->samples_per_s == b->samples_per_s && a->period == b->period;

    for (int i = 0; i < a->n_slow && equal; i++)
        equal = a->slow[i].rank == b->slow[i].rank && a->slow[i].begin_s == b->slow[i].begin_s &&
                a->slow[i].end_s == b->slow[i].end_s && a->slow[i].found == b->slow[i].found;
    return equal;
}

/* The seed decides everything. */
START_TEST(seeds)
{
    static const char *const mode[] = { "sync", "async", "hybrid", "local" };
    const struct sim_disturbance usual = sim_disturbance_usual();
    cleanup_reached struct sim_reached a = { 0 }, b = { 0 }, other = { 0 };

    plan_mix(4, mode[_i], &known);
    a = reach(&usual, 600, 7, &known);
    b = reach(&usual, 600, 7, &known);
    other = reach(&usual, 600, 8, &known);
    ck_assert(is_equal(&a, &b));
    ck_assert(!is_equal(&a, &other));
    ck_assert_int_gt(a.n_slow, 0);
    for (int i = 0; i < a.n_slow; i++) {
        ck_assert_int_lt(a.slow[i].rank, p->n_workers);
        ck_assert_double_ge(a.slow[i].end_s - a.slow[i].begin_s, usual.least_s);
        ck_assert(i == 0 || a.slow[i].begin_s > a.slow[i - 1].begin_s);
    }
}
END_TEST

/* Return the speed of the devices' sum when this worker takes twice as long. */
static double sum_without_half(int rank)
{
    double sum = 0;

    for (int i = 0; i < p->n_workers; i++)
        sum += p->worker[i].samples_per_s / (i == rank ? 2 : 1);
    return sum;
}

/* A worker becomes slow and stays so: the job is re-planned, and does what its devices still can.
 * Without re-planning all workers wait for it.
 */
START_TEST(recovers)
{
    const struct sim_disturbance slow = {
        .every_s = 300, .times = 2, .least_s = 1e6, .most_s = 1e6
    };
    cleanup_reached struct sim_reached begun = { 0 }, all = { 0 }, kept = { 0 };
    double from_s, until_s = 400, then;
    uint64_t seed = 1;

    plan_mix(4, "sync", &known);
    for (;; seed++) { /* one slow-down, early */
        sim_reached_fini(&all);
        all = reach(&slow, until_s, seed, &known);
        if (all.n_slow == 1 && all.slow[0].begin_s < until_s / 2)
            break;
    }
    from_s = all.slow[0].begin_s + 60;
    begun = reach(&slow, from_s, seed, &known);
    then = (all.samples_per_s * until_s - begun.samples_per_s * from_s) / (until_s - from_s);
    ck_assert_int_ge(all.replans, 1);
    ck_assert_double_lt(all.slow[0].followed_s, all.slow[0].begin_s + 20);
    ck_assert(all.slow[0].found);
    ck_assert_msg(then > 0.93 * sum_without_half(all.slow[0].rank), "%.0f of %.0f", then,
                  sum_without_half(all.slow[0].rank));
    job.batch.rebalance = -1;
    kept = reach(&slow, until_s, seed, &known);
    ck_assert_int_eq(kept.replans, 0);
    ck_assert(isinf(kept.slow[0].followed_s) && kept.slow[0].found);
    ck_assert_double_lt(kept.samples_per_s, 0.9 * all.samples_per_s);
}
END_TEST

/* Disturbances cost speed, but not most of it. */
START_TEST(disturbed)
{
    const struct sim_disturbance usual = sim_disturbance_usual();
    cleanup_reached struct sim_reached r = { 0 };
    double part;

    plan_mix(4, "sync", &known);
    r = reach(&usual, 600, 1, &known);
    part = r.samples_per_s / p->predicted_samples_per_s;
    ck_assert_msg(part > 0.7 && part < 0.99, "%.3f of the prediction", part);
    ck_assert_int_gt(r.replans, 0);
}
END_TEST

/* Of ratios a part of the prediction follows. */
START_TEST(ratios)
{
    const struct planner_history unknown = { 0 };
    cleanup_reached struct sim_reached r = { 0 };
    double part;

    make_nodes(2);
    for (int i = 0; i < 4; i++)
        add_device(&node[i / 2], DEVICE_CUDA, i % 2 ? 10 : 20);
    job.batch.global = 256;
    job.sync.mode = word_of("sync");
    ck_assert_msg(plan_nodes(2, &unknown) == 0, "%s", err.text);
    ck_assert(p->relative);
    r = reach(&none, 100, 1, &unknown);
    part = r.samples_per_s / p->predicted_samples_per_s;
    ck_assert_msg(fabs(part - 1) < 0.05, "%.3f of the prediction", part);
}
END_TEST

/* Work is limited; the time that the error names is possible. */
START_TEST(too_much)
{
    struct sim_plan s = { .job = &job, .history = &known, .seconds = 1e5, .most_work = 100000 };
    struct sim_reached r = { .n_slow = 7 };
    const char *most;

    plan_mix(4, "async", &known);
    s.plan = p;
    ck_assert_int_eq(sim_plan(&s, &r, &err), -E2BIG);
    ck_assert_int_eq(r.n_slow, 7);
    ck_assert_msg(strstr(err.text, "100000 s of 16 workers are too much to simulate") != NULL, "%s",
                  err.text);
    most = strstr(err.text, "write at most ");
    ck_assert_ptr_nonnull(most);
    s.seconds = strtod(most + strlen("write at most "), NULL);
    ck_assert_msg(sim_plan(&s, &r, &err) == 0, "%s", err.text);
    sim_reached_fini(&r);
    s.seconds = 1e-4;
    ck_assert_int_eq(sim_plan(&s, &r, &err), -EINVAL);
    ck_assert_str_eq(err.text, "no step ends in 0.0001 s; simulate a longer time");
    s.most_work = 1;
    s.seconds = 10;
    ck_assert_int_eq(sim_plan(&s, &r, &err), -E2BIG);
    ck_assert_str_eq(err.text, "16 workers are too many to simulate");
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_loop_test(tc, undisturbed, 0, sizeof mode_rows / sizeof *mode_rows);
    tcase_add_loop_test(tc, rounds, 0, 4);
    tcase_add_test(tc, large_gradient);
    tcase_add_loop_test(tc, seeds, 0, 4);
    tcase_add_test(tc, recovers);
    tcase_add_test(tc, disturbed);
    tcase_add_test(tc, ratios);
    tcase_add_test(tc, too_much);
}

SUITE_MAIN("sim_plan", add_tests)
