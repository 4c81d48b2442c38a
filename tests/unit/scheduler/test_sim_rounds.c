/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_rounds.c - tests of groups that combine their models in rounds, in the simulation of
 * scheduler/sim.h
 */
#include "lib/base/random.h"
#include "scheduler/sim.h"
#include "suite.h"

#include <math.h>

enum { MOST = 8, BATCH = 64 };

static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(1 - random_unit(seed))) * cos(2 * M_PI * random_unit(seed));
}

/* Make unlike workers, so many on a node, on wires of this speed. */
static void make_workers(struct sim_worker *w, int on_node, double bytes_per_s, uint64_t *seed)
{
    for (int i = 0; i < MOST; i++)
        w[i] = (struct sim_worker){ .fixed_s = 0.005,
                                    .sample_s = 0.001 * exp(0.5 * normal(seed)),
                                    .bytes_per_s = bytes_per_s,
                                    .node = i / on_node,
                                    .group = i / on_node,
                                    .batch = BATCH / 2 + (int64_t)random_below(seed, BATCH) };
}

/* Without jitter a simulated round takes as long as predicted. */
START_TEST(as_predicted)
{
    uint64_t seed = 22;

    for (int k = 0; k < 100; k++) {
        const int on_node = 1 + k % 2;
        const int64_t period = 1 + (int64_t)random_below(&seed, 40);
        const double link = 2.5e6 * pow(40, random_unit(&seed));
        struct sim_worker w[MOST];
        struct modes_worker known[MOST];
        int group[MOST];
        struct sim_setup set = { .worker = w,
                                 .n = MOST,
                                 .seed = 1,
                                 .algorithm = "local",
                                 .period = period,
                                 .model_bytes = 10000 + (int64_t)random_below(&seed, 5000000) };
        struct modes_setup modes = { .worker = known,
                                     .n = MOST,
                                     .n_nodes = MOST / on_node,
                                     .model_bytes = set.model_bytes,
                                     .bytes_per_s = link };
        struct sim *sim;
        double predicted, rate;

        make_workers(w, on_node, link, &seed);
        for (int i = 0; i < MOST; i++) {
            group[i] = w[i].group;
            known[i] = (struct modes_worker){ .t = { w[i].fixed_s, w[i].sample_s },
                                              .batch = w[i].batch,
                                              .node = w[i].node };
        }
        ck_assert_int_eq(modes_rounds(&modes, group, period, &predicted, NULL), 0);
        ck_assert_int_eq(sim_new(&set, &sim, NULL), 0);
        sim_run(sim, 4000);
        rate = (double)sim_samples(sim) / sim_now_s(sim);
        sim_free(sim);
        ck_assert_msg(fabs(rate / predicted - 1) < 0.05, "%d: %g predicted, %g simulated", k,
                      predicted, rate);
    }
}
END_TEST

static const int64_t periods[] = { 1, 4, 16 };

/* Make a job whose wires have this speed.  At first only the ratios of its workers' speeds are
 * given; re-planning learns the rest.
 */
static struct sim *open_job(int64_t period, double link, uint64_t seed, struct replan **ret_replan)
{
    struct sim_worker w[MOST];
    struct replan_worker known[MOST];
    struct replan_setup set = { .worker = known,
                                .n = MOST,
                                .version = 1,
                                .grain = 1,
                                .algorithm = "local",
                                .period = period,
                                .keep_period = true,
                                .network = { .n_nodes = MOST,
                                             .model_bytes = 4000000,
                                             .latency_s = 1e-4,
                                             .bytes_per_s = link } };
    struct sim_setup job = { .worker = w,
                             .n = MOST,
                             .seed = seed,
                             .algorithm = "local",
                             .period = period,
                             .model_bytes = 4000000,
                             .latency_s = 1e-4,
                             .jitter = 0.05 };
    struct sim *sim;

    make_workers(w, 1, link, &seed);
    for (int i = 0; i < MOST; i++) {
        w[i].batch = BATCH;
        known[i] = (struct replan_worker){ .first = { .sample_s = 1 },
                                           .batch = BATCH,
                                           .min = 1,
                                           .max = INT64_MAX,
                                           .node = i,
                                           .group = i };
    }
    ck_assert_int_eq(replan_new(&set, ret_replan, NULL), 0);
    job.replan = *ret_replan;
    ck_assert_int_eq(sim_new(&job, &sim, NULL), 0);
    return sim;
}

/* Batches follow the speeds, so that the groups end a round together; _i: the period. */
START_TEST(batches_follow)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct replan *replan;
        struct sim *sim = open_job(periods[_i], 125e6, seed, &replan);
        int64_t best[MOST];
        double quality;

        sim_run(sim, 600);
        quality = sim_best_s(sim, 1, NULL, best) / sim_longest_s(sim, sim_batch(sim));
        ck_assert_msg(quality >= 0.85, "seed %d: %.3f", (int)seed, quality);
        sim_free(sim);
        replan_free(replan);
    }
}
END_TEST

/* On fast wires groups wait for each other longer than for the network, and that contradicts
 * nothing.
 */
START_TEST(waits_are_no_network)
{
    const struct replan_contradiction *c;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct replan *replan;
        struct sim *sim = open_job(periods[_i], 2e9, seed, &replan);

        sim_run(sim, 2000);
        ck_assert_msg(sim_contradictions(sim, &c) == 0, "period %d, seed %d: %g instead of %g ms",
                      (int)periods[_i], (int)seed, 1e3 * c->measured_s, 1e3 * c->predicted_s);
        sim_free(sim);
        replan_free(replan);
    }
}
END_TEST

/* A link that becomes a fifth as fast in mid-run is found, and before nothing is found. */
START_TEST(link_slows_down)
{
    const struct replan_contradiction *c;

    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct replan *replan;
        struct sim *sim = open_job(periods[_i], 125e6, seed, &replan);

        sim_run(sim, 600);
        ck_assert_msg(sim_contradictions(sim, &c) == 0, "period %d, seed %d: %g instead of %g ms",
                      (int)periods[_i], (int)seed, 1e3 * c->measured_s, 1e3 * c->predicted_s);
        sim_link(sim, 25e6);
        sim_run(sim, 1200);
        ck_assert_int_ge(sim_contradictions(sim, &c), 1);
        ck_assert_double_ge(c->network.bytes_per_s, 25e6 / 1.6);
        ck_assert_double_le(c->network.bytes_per_s, 25e6 * 1.6);
        sim_free(sim);
        replan_free(replan);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, as_predicted);
    tcase_add_loop_test(tc, batches_follow, 0, 3);
    tcase_add_loop_test(tc, waits_are_no_network, 0, 3);
    tcase_add_loop_test(tc, link_slows_down, 0, 3);
}

SUITE_MAIN("sim_rounds", add_tests)
