/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim.c - the policy of scheduler/replan.h at work on the jobs of scheduler/sim.h */
#include "sim_job.h"

#include <string.h>

enum { SEEDS = SUITE_SEEDS(200), AHEAD = 3 };

static const double JITTER = 0.02;

/* Of the exact optimum: 1 is the best that any plan gives. */
static double quality(const struct job *j)
{
    int64_t best[MOST], max[MOST];

    for (int i = 0; i < j->n; i++)
        max[i] = j->max[i] ? j->max[i] : INT64_MAX;
    return sim_best_s(j->sim, j->min, max, best) / sim_longest_s(j->sim, sim_batch(j->sim));
}

static int replans(const struct job *j, int64_t since_version)
{
    return (int)(sim_version(j->sim) - since_version);
}

/* Four workers, 256 samples split equally, of which nothing is known. */
static struct job four(const double *sample_s, const double *fixed_s)
{
    struct job j = { .n = 4, .min = 1, .algorithm = "allreduce", .jitter = JITTER };

    for (int i = 0; i < j.n; i++) {
        j.worker[i] =
            (struct sim_worker){ .fixed_s = fixed_s[i], .sample_s = sample_s[i], .node = i };
        j.worker[i].batch = 64;
        j.first[i] = (struct time_model){ .sample_s = 1 };
    }
    return j;
}

/* The paced workers of 18, 12, 9 and 6 GFLOP/s at 0.026 GFLOP a sample; affine: each of a step's 50
 * calls lasts 0.4, 4, 1 and 2 ms longer.
 */
static struct job paced(bool affine)
{
    static const double rate[] = { 18, 12, 9, 6 }, call_s[] = { 4e-4, 4e-3, 1e-3, 2e-3 };
    double sample_s[4], fixed_s[4];

    for (int i = 0; i < 4; i++) {
        sample_s[i] = 0.026 / rate[i];
        fixed_s[i] = affine ? 50 * call_s[i] : 0;
    }
    return four(sample_s, fixed_s);
}

/* The plan of a probe that was disturbed: 0.38 to 0.65 of the optimum, and no share below a third
 * of what it should be, for a re-plan doubles one at most.
 */
static void probe_badly(struct job *j, uint64_t *seed)
{
    int64_t best[MOST];
    double q = 0;

    open_job(j, 1);
    sim_best_s(j->sim, j->min, NULL, best);
    close_job(j);
    while (!(q >= 0.38 && q <= 0.65)) {
        double speed[MOST], sum = 0;
        int64_t left = 256;
        bool some = true;

        for (int i = 0; i < j->n; i++)
            sum += speed[i] = exp(0.6 * normal(seed)) / j->worker[i].sample_s;
        for (int i = 0; i < j->n; i++) {
            int64_t b = i < j->n - 1 ? (int64_t)(256 * speed[i] / sum) : left;

            j->worker[i].batch = b;
            j->first[i].sample_s = 1 / speed[i];
            left -= b;
            some = some && b > 0 && 3 * b >= best[i];
        }
        open_job(j, 1);
        q = some ? quality(j) : 0;
        close_job(j);
    }
}

/* ---- real steps of unequal speed ---- */

/* _i: affine, from a bad probe's plan.  0.95 of the optimum within 50 steps and 3 re-plans, at most
 * one in the 100 steps after.
 */
START_TEST(converges)
{
    for (uint64_t k = 1; k <= SEEDS; k++) {
        struct job j = paced(_i & 1);
        uint64_t seed = k;
        int64_t version;

        if (_i & 2)
            probe_badly(&j, &seed);
        open_job(&j, seed);
        while (quality(&j) < 0.95 && sim_step(j.sim) < 50)
            sim_run(j.sim, 1);
        ck_assert_msg(quality(&j) >= 0.95, "seed %d: %.3f", (int)k, quality(&j));
        ck_assert_msg(replans(&j, 1) <= 3, "seed %d: %d", (int)k, replans(&j, 1));
        sim_run(j.sim, 50 - sim_step(j.sim));
        version = sim_version(j.sim);
        sim_run(j.sim, 100);
        ck_assert_int_le(replans(&j, version), 1);
        ck_assert_double_ge(quality(&j), 0.95);
        close_job(&j);
    }
}
END_TEST

static void run_for(struct job *j, int64_t steps, double least_s)
{
    double began_s = sim_now_s(j->sim);

    sim_run(j->sim, steps);
    while (sim_now_s(j->sim) < began_s + least_s)
        sim_run(j->sim, 1);
}

/* A worker becomes three times slower: 0.90 of the new optimum within two re-plans and 20 steps
 * beside those that are read ahead, or 5 s if longer; and back.
 */
START_TEST(slows_down)
{
    for (uint64_t k = 1; k <= SEEDS; k++) {
        struct job j = paced(_i);
        int64_t version;

        open_job(&j, k);
        sim_run(j.sim, 150);
        for (int back = 0; back < 2; back++) {
            version = sim_version(j.sim);
            sim_slow(j.sim, (int)k % 4, back ? 1 : 3);
            run_for(&j, 20 + AHEAD, 5);
            ck_assert_msg(quality(&j) >= 0.9, "seed %d back %d: %.3f", (int)k, back, quality(&j));
            ck_assert_int_le(replans(&j, version), 2);
            sim_run(j.sim, 80);
            ck_assert_double_ge(quality(&j), 0.9);
        }
        close_job(&j);
    }
}
END_TEST

/* ---- heterogeneity: the grid ---- */

static const double slowness[][4] = {
    { 1, 1, 1, 1 }, { 1, 1, 1, 3 }, { 1, 1, 2, 6 }, { 1, 1, 2, 8 }
};

enum { ROWS = sizeof slowness / sizeof *slowness };

static struct job grid(int row)
{
    static const double fixed_s[4] = { 0.01, 0.01, 0.01, 0.01 };
    double sample_s[4];

    for (int i = 0; i < 4; i++)
        sample_s[i] = 0.001 * slowness[row][i];
    return four(sample_s, fixed_s);
}

START_TEST(grid_converges)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job j = grid(_i);
        int64_t sum = 0, version;

        open_job(&j, seed);
        sim_run(j.sim, 100);
        ck_assert_double_ge(quality(&j), 0.95);
        version = sim_version(j.sim);
        sim_run(j.sim, 200);
        ck_assert_int_le(replans(&j, version), 2);
        for (int i = 0; i < j.n; i++)
            sum += sim_batch(j.sim)[i];
        ck_assert_int_eq(sum, 256);
        close_job(&j);
    }
}
END_TEST

/* Speeds are known, and the plan is the best: 5 % of jitter change nothing for 2 000 steps, nor
 * does a step in twenty that takes three times as long, unless five of six do.
 */
START_TEST(jitter_changes_nothing)
{
    const uint64_t seeds = _i < ROWS ? SEEDS : SEEDS / 4;
    int changed = 0;

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct job j = grid(_i % ROWS);
        int64_t best[4];

        open_job(&j, seed);
        sim_best_s(j.sim, j.min, NULL, best);
        close_job(&j);
        for (int i = 0; i < j.n; i++) {
            j.worker[i].batch = best[i];
            j.first[i] = (struct time_model){ j.worker[i].fixed_s, j.worker[i].sample_s };
        }
        j.source = TIME_GIVEN;
        j.jitter = 0.05;
        j.spike = _i < ROWS ? 0 : 0.05;
        open_job(&j, seed);
        sim_run(j.sim, 2000);
        changed += replans(&j, 1) > 0;
        close_job(&j);
    }
    ck_assert_int_le(changed, _i < ROWS ? 0 : SEEDS / 100);
}
END_TEST

START_TEST(memory_binds)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job j = grid(2);

        j.max[0] = 70;
        open_job(&j, seed);
        for (int i = 0; i < 200; i++) {
            sim_run(j.sim, 1);
            ck_assert_int_le(sim_batch(j.sim)[0], 70);
        }
        ck_assert_int_eq(sim_batch(j.sim)[0], 70);
        ck_assert_double_ge(quality(&j), 0.95);
        close_job(&j);
    }
}
END_TEST

/* The last worker's constant alone is longer than the others' steps. */
START_TEST(batch_of_nothing)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job j = grid(0);

        j.worker[3].fixed_s = 0.5;
        j.min = 0;
        open_job(&j, seed);
        sim_run(j.sim, 200);
        ck_assert_int_eq(sim_batch(j.sim)[3], 0);
        ck_assert_double_ge(quality(&j), 0.95);
        close_job(&j);
    }
}
END_TEST

/* One slow link holds up all alike: no reason to move samples. */
START_TEST(network_binds)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job j = grid(0);

        j.model_bytes = 10000000;
        for (int i = 0; i < j.n; i++)
            j.worker[i].bytes_per_s = i == 2 ? 2e7 : 1e9;
        open_job(&j, seed);
        sim_run(j.sim, 300);
        ck_assert_int_eq(replans(&j, 1), 0);
        close_job(&j);
    }
}
END_TEST

/* _i: with read-ahead.  The data path of one worker gives a sample in 4 ms, its device in 1. */
START_TEST(input_binds)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job j = grid(0);

        j.worker[1].input_s = 0.004;
        j.read_ahead = _i;
        open_job(&j, seed);
        sim_run(j.sim, 100);
        ck_assert_double_ge(quality(&j), 0.95);
        ck_assert_int_lt(sim_batch(j.sim)[1], 30);
        ck_assert_double_ge(learner_input(replan_learner(j.replan, 1)), 0.5);
        ck_assert_double_eq(learner_input(replan_learner(j.replan, 0)), 0);
        close_job(&j);
    }
}
END_TEST

/* A law with a floor is not affine: the newest window gives the scale. */
START_TEST(floor_of_a_device)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job j = grid(3);

        j.worker[3].floor_s = 0.12;
        j.worker[0].floor_s = 0.05;
        open_job(&j, seed);
        sim_run(j.sim, 150);
        ck_assert_double_ge(quality(&j), 0.93);
        close_job(&j);
    }
}
END_TEST

/* A worker behind a quota looks fast with few samples and is slow with many; no line tells that.
 * Plans do not go back and forth for ever, and nearly all steps are done under the better one.
 */
START_TEST(quota_of_a_device)
{
    for (uint64_t k = 1; k <= SEEDS / 4; k++) {
        struct job j = { .n = 2, .min = 1, .algorithm = "allreduce", .jitter = JITTER };
        double least_s, began_s;
        int64_t begun, best[MOST];
        int early;

        for (int i = 0; i < j.n; i++) {
            j.worker[i] = (struct sim_worker){ .sample_s = 2e-5, .node = i, .batch = 240 };
            j.first[i] = (struct time_model){ .sample_s = 1 };
        }
        j.worker[1].quota_s = 2.4e-3; /* 120 samples */
        open_job(&j, k);
        least_s = sim_best_s(j.sim, j.min, NULL, best);
        run_for(&j, 1, 20);
        early = replans(&j, 1);
        ck_assert_msg(early <= 8, "seed %d: %d", (int)k, early);
        began_s = sim_now_s(j.sim);
        begun = sim_step(j.sim);
        run_for(&j, 1, 60);
        ck_assert_msg(replans(&j, 1) - early <= 4, "seed %d: %d", (int)k, replans(&j, 1));
        ck_assert_double_ge(least_s * (double)(sim_step(j.sim) - begun),
                            0.9 * (sim_now_s(j.sim) - began_s));
        close_job(&j);
    }
}
END_TEST

/* OmniLearn's levels of heterogeneity, cores of four containers, one after another. */
START_TEST(omnilearn_levels)
{
    static const double cores[][4] = {
        { 12, 12, 12, 12 }, { 12, 12, 8, 16 }, { 9, 9, 6, 24 }, { 6, 6, 4, 32 }
    };
    static const int level[] = { 0, 1, 2, 3, 3, 2, 1, 0 };

    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job j = grid(0);

        open_job(&j, seed);
        for (size_t k = 0; k < sizeof level / sizeof *level; k++) {
            for (int i = 0; i < j.n; i++)
                sim_slow(j.sim, i, 12 / cores[level[k]][i]);
            sim_run(j.sim, 100);
            ck_assert_msg(quality(&j) >= 0.93, "seed %d level %d: %.3f", (int)seed, (int)k,
                          quality(&j));
        }
        close_job(&j);
    }
}
END_TEST

/* ---- cores that others use ---- */

/* Programs beside two equal workers, and the least that re-planning gives, as a part of what the
 * equal plan does: a mean over seeds.
 */
static const struct {
    double step_s, visit_s;
    int others[2];
    double least;
} shared[] = {
    { 0.003, 0, { 0, 0 }, 1 },      { 0.003, 0.5, { 1, 1 }, 0.97 },
    { 0.003, 2.5, { 1, 1 }, 0.97 }, { 0.003, 10, { 1, 1 }, 0.97 },
    { 0.003, 2.5, { 0, 1 }, 0.98 }, { 0.003, 5, { 0, 6 }, 0.98 },
    { 0.003, 3, { 6, 6 }, 0.93 },   { 0.003, 0, { 0, 1 }, 1.2 },
    { 0.003, 0, { 0, 6 }, 2 },      { 0.0002, 0.5, { 1, 1 }, 0.97 },
    { 0.0002, 0, { 0, 6 }, 2 },     { 0.0002, 2.5, { 0, 1 }, 0.96 },
    { 0.06, 2.5, { 1, 1 }, 0.97 },  { 0.06, 3, { 6, 6 }, 0.98 },
    { 0.06, 0, { 0, 1 }, 1.4 },     { 0.06, 0, { 0, 6 }, 3 },
};

enum { SHARED = sizeof shared / sizeof *shared };

static double samples_per_s(const struct sim_setup *s, double seconds)
{
    struct sim *sim;
    double rate;

    ck_assert_int_eq(sim_new(s, &sim, NULL), 0);
    while (sim_now_s(sim) < seconds)
        sim_run(sim, 1);
    rate = (double)sim_samples(sim) / sim_now_s(sim);
    sim_free(sim);
    return rate;
}

/* Whoever computes on a worker's core comes and goes; a user does not lose by re-planning. */
START_TEST(shared_cores)
{
    const double seconds = shared[_i].step_s < 0.001 && shared[_i].visit_s < 1 ? 10 : 60;
    const int seeds = 10;
    double sum = 0;

    for (int seed = 1; seed <= seeds; seed++) {
        struct job j = { .n = 2, .min = 1, .algorithm = "allreduce", .jitter = JITTER };
        struct sim_setup s = { .worker = j.worker, .n = 2, .seed = (uint64_t)seed };
        double kept;

        for (int i = 0; i < j.n; i++) {
            j.worker[i] = (struct sim_worker){ .sample_s = shared[_i].step_s / 240,
                                               .others = shared[_i].others[i],
                                               .visit_s = shared[_i].visit_s,
                                               .batch = 240 };
            j.first[i] = (struct time_model){ .sample_s = 1 };
        }
        s.algorithm = j.algorithm;
        s.jitter = j.jitter;
        kept = samples_per_s(&s, seconds);
        open_job(&j, (uint64_t)seed);
        while (sim_now_s(j.sim) < seconds)
            sim_run(j.sim, 1);
        sum += log((double)sim_samples(j.sim) / sim_now_s(j.sim) / kept);
        close_job(&j);
    }
    ck_assert_msg(exp(sum / seeds) >= shared[_i].least * 0.9999, "%.3f", exp(sum / seeds));
}
END_TEST

/* ---- modes ---- */

/* Workers that do not wait for each other end up with equal steps, members of a group too. */
START_TEST(equal_intervals)
{
    static const char *const algorithm[] = { "easgd", "hsgd" };

    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct job j = grid(2);

        j.algorithm = algorithm[_i];
        j.period = 4;
        for (int i = 0; i < j.n; i++)
            j.worker[i].group = _i ? i / 2 : i;
        open_job(&j, seed);
        sim_run(j.sim, 400);
        ck_assert_double_ge(quality(&j), 0.85);
        close_job(&j);
    }
}
END_TEST

/* ---- the simulation itself ---- */

START_TEST(same_seed)
{
    struct job j[2] = { paced(true), paced(true) };

    for (int k = 0; k < 2; k++) {
        open_job(&j[k], 7);
        sim_run(j[k].sim, 200);
    }
    ck_assert(sim_now_s(j[0].sim) == sim_now_s(j[1].sim));
    ck_assert(memcmp(sim_batch(j[0].sim), sim_batch(j[1].sim), 4 * sizeof(int64_t)) == 0);
    close_job(&j[0]);
    close_job(&j[1]);
}
END_TEST

/* Without jitter and communication a step is the longest law's time, and a plan waits its steps. */
START_TEST(exact_steps)
{
    struct job j = grid(1);
    struct sim_setup s = { .worker = j.worker, .n = 4, .seed = 3, .algorithm = "allreduce" };
    const int64_t batch[] = { 80, 80, 80, 16 };

    ck_assert_int_eq(sim_new(&s, &j.sim, NULL), 0);
    sim_run(j.sim, 10);
    ck_assert_double_eq_tol(sim_now_s(j.sim), 10 * (0.01 + 0.003 * 64), 1e-9);
    ck_assert_int_eq(sim_samples(j.sim), 2560);
    ck_assert_double_eq_tol(sim_own_s(j.sim, 0), 0.01 + 0.001 * 64, 1e-9);
    sim_publish(j.sim, batch);
    sim_run(j.sim, 1);
    ck_assert_int_eq(sim_version(j.sim), 1);
    sim_run(j.sim, 2);
    ck_assert_int_eq(sim_version(j.sim), 2);
    ck_assert(memcmp(sim_batch(j.sim), batch, sizeof batch) == 0);
    sim_free(j.sim);
}
END_TEST

/* Narrowed gradients take half the wire; what is summed in them is the same. */
START_TEST(narrow_gradients)
{
    struct sim_worker w[2] = { { .sample_s = 1e-9, .bytes_per_s = 1e6, .batch = 1 },
                               { .sample_s = 1e-9, .bytes_per_s = 1e6, .batch = 1, .node = 1 } };
    struct sim_setup s = { .worker = w, .n = 2, .algorithm = "allreduce", .model_bytes = 1000000 };
    double wide = samples_per_s(&s, 60);

    s.wire_bytes = s.model_bytes / 2;
    ck_assert_double_eq_tol(samples_per_s(&s, 60) / wide, 2, 1e-3);
}
END_TEST

START_TEST(refuses)
{
    struct sim_worker w = { .batch = 1 };
    struct sim_setup s = { .worker = &w, .n = 1, .algorithm = "allreduce" };
    struct eddis_error err = { 0 };
    struct sim *sim = NULL;

    ck_assert_int_lt(sim_new(&s, &sim, &err), 0);
    w.sample_s = 1;
    s.algorithm = "none";
    ck_assert_int_lt(sim_new(&s, &sim, &err), 0);
    s.n = 0;
    ck_assert_int_lt(sim_new(&s, &sim, &err), 0);
    ck_assert_ptr_null(sim);
    ck_assert_str_ne(err.text, "");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, converges, 0, 4);
    tcase_add_loop_test(tc, slows_down, 0, 2);
    tcase_add_loop_test(tc, grid_converges, 0, ROWS);
    tcase_add_loop_test(tc, jitter_changes_nothing, 0, 2 * ROWS);
    tcase_add_test(tc, memory_binds);
    tcase_add_test(tc, batch_of_nothing);
    tcase_add_test(tc, network_binds);
    tcase_add_loop_test(tc, input_binds, 0, 2);
    tcase_add_test(tc, floor_of_a_device);
    tcase_add_test(tc, quota_of_a_device);
    tcase_add_test(tc, omnilearn_levels);
    tcase_add_loop_test(tc, shared_cores, 0, SHARED);
    tcase_add_loop_test(tc, equal_intervals, 0, 2);
    tcase_add_test(tc, same_seed);
    tcase_add_test(tc, exact_steps);
    tcase_add_test(tc, narrow_gradients);
    tcase_add_test(tc, refuses);
}

SUITE_MAIN("sim", add_tests)
