/* SPDX-License-Identifier: Apache-2.0 */
/* test_sim_network.c - predictions of modes and of their exchanges beside the jobs of
 * scheduler/sim.h, and re-planning when a link changes
 */
#include "sim_job.h"

#include "scheduler/modes.h"
#include "scheduler/objective.h"

#include <string.h>

/* ---- modes ---- */

/* Samples per second of 400 steps without re-planning. */
static double measured(struct job *j, const char *algorithm, int64_t period)
{
    struct sim_setup s = { .worker = j->worker,
                           .n = j->n,
                           .seed = 1,
                           .algorithm = algorithm,
                           .period = period,
                           .model_bytes = j->model_bytes };
    double rate;

    ck_assert_int_eq(sim_new(&s, &j->sim, NULL), 0);
    sim_run(j->sim, 400);
    rate = (double)sim_samples(j->sim) / sim_now_s(j->sim);
    sim_free(j->sim);
    return rate;
}

/* Predictions are within a tenth.  So if one mode is predicted to be 1.1 / 0.9 times as fast as
 * another, the simulation ranks the two in the same order.
 */
START_TEST(modes_rank)
{
    uint64_t seed = 21;

    for (int round = 0; round < 100; round++) {
        struct job j = { .n = MOST };
        struct modes_worker w[MOST];
        struct modes_setup set = { .worker = w, .n = MOST, .n_nodes = MOST / 2 };
        double link = 2.5e7 * pow(40, random_unit(&seed)), predicted[3], is[3];
        int group[MOST];
        int64_t period = 8;

        set.model_bytes = j.model_bytes = 1000000 + (int64_t)random_below(&seed, 50000000);
        set.bytes_per_s = link;
        for (int i = 0; i < j.n; i++) {
            group[i] = i / 2;
            j.worker[i] = (struct sim_worker){ .fixed_s = 0.005,
                                               .sample_s = 0.002 * exp(0.5 * normal(&seed)),
                                               .bytes_per_s = link,
                                               .node = i / 2,
                                               .group = i / 2,
                                               .batch = 32 };
            w[i] = (struct modes_worker){ .t = { 0.005, j.worker[i].sample_s },
                                          .batch = 32,
                                          .node = i / 2 };
        }
        predicted[0] = modes_sync(&set);
        ck_assert_int_eq(modes_elastic(&set, group, period, &predicted[1], NULL), 0);
        ck_assert_int_eq(modes_elastic(&set, NULL, period, &predicted[2], NULL), 0);
        is[0] = measured(&j, "allreduce", 0);
        is[1] = measured(&j, "hsgd", period);
        is[2] = measured(&j, "easgd", period);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                ck_assert_msg(predicted[a] * 0.9 < 1.1 * predicted[b] || is[a] > is[b],
                              "round %d: modes %d and %d: predicted %.0f %.0f, simulated %.0f %.0f",
                              round, a, b, predicted[a], predicted[b], is[a], is[b]);
    }
}
END_TEST

/* Eight workers of unlike speed on eight nodes, in groups of two, for the model of open_linked:
 * what the scheduler predicts for a mode and a period is what the simulation gives, at short
 * periods too.
 */
START_TEST(predicted_at_each_period)
{
    static const char *const algorithm[] = { "easgd", "hsgd" };

    for (int64_t k = 0; k < 3 * 6; k++) {
        int64_t period = INT64_C(1) << k % 6;
        uint64_t seed = 1 + (uint64_t)k / 6;
        struct job j = { .n = MOST, .model_bytes = 4000000 };
        struct modes_worker w[MOST];
        struct modes_setup set = { .worker = w,
                                   .n = MOST,
                                   .n_nodes = MOST,
                                   .model_bytes = j.model_bytes,
                                   .bytes_per_s = 25e6 };
        int group[MOST];
        double predicted, is;

        for (int i = 0; i < j.n; i++) {
            group[i] = i / 2;
            j.worker[i] = (struct sim_worker){ .fixed_s = 0.01,
                                               .sample_s = 0.001 * exp(0.5 * normal(&seed)),
                                               .bytes_per_s = set.bytes_per_s,
                                               .node = i,
                                               .group = i / 2,
                                               .batch = 64 };
            w[i] = (struct modes_worker){ .t = { 0.01, j.worker[i].sample_s },
                                          .batch = 64,
                                          .node = i };
        }
        is = measured(&j, algorithm[_i], period);
        ck_assert_int_eq(modes_elastic(&set, _i ? group : NULL, period, &predicted, NULL), 0);
        ck_assert_msg(fabs(predicted / is - 1) < 0.05, "%s, period %d: predicted %.0f, is %.0f",
                      algorithm[_i], (int)period, predicted, is);
    }
}
END_TEST

/* ---- the network ---- */

/* Of eight unlike workers on eight nodes, by this algorithm; links of 1 Gbit/s, as is known. */
static void open_linked(struct job *j, const char *algorithm, uint64_t seed)
{
    const struct modes_setup known = {
        .n_nodes = MOST, .model_bytes = 4000000, .latency_s = 1e-4, .bytes_per_s = 125e6
    };

    *j = (struct job){ .n = MOST,
                       .algorithm = algorithm,
                       .period = strcmp(algorithm, "allreduce") == 0 ? 0 : 16,
                       .model_bytes = 4000000,
                       .jitter = 0.05,
                       .source = TIME_GIVEN,
                       .min = 1 };
    for (int i = 0; i < MOST; i++) {
        j->worker[i] = (struct sim_worker){ .fixed_s = 0.01,
                                            .sample_s = 0.001 * exp(0.5 * normal(&seed)),
                                            .bytes_per_s = 125e6,
                                            .node = i,
                                            .group = i / 2,
                                            .batch = 64 };
        j->first[i] = (struct time_model){ 0.01, j->worker[i].sample_s };
    }
    open_job(j, seed);
    replan_network(j->replan, &known);
}

/* Return the progress with the job's period as a fraction of that with the best period, for its
 * workers and batches on links of this bandwidth.
 */
static double of_best_period(const struct job *j, double bytes_per_s)
{
    struct modes_worker w[MOST];
    struct modes_setup s = { .worker = w,
                             .n = j->n,
                             .n_nodes = j->n,
                             .model_bytes = j->model_bytes,
                             .latency_s = 1e-4,
                             .bytes_per_s = bytes_per_s };
    struct objective_way way = { .setup = &s,
                                 .algorithm = algorithm_find(j->algorithm),
                                 .writers = j->n };
    struct forecast now, best;
    int64_t period;

    for (int i = 0; i < j->n; i++)
        w[i] = (struct modes_worker){ .t = { j->worker[i].fixed_s, j->worker[i].sample_s },
                                      .batch = sim_batch(j->sim)[i],
                                      .node = j->worker[i].node };
    ck_assert_int_eq(objective_best_period(&way, &period, NULL), 0);
    ck_assert_int_eq(objective_at(&way, period, &best, NULL), 0);
    ck_assert_int_eq(objective_at(&way, sim_period(j->sim), &now, NULL), 0);
    return forecast_progress(now) / forecast_progress(best);
}

/* Make the link as fast as at first, and check that this is found, and the period is short again.
 */
static void check_link_back(struct job *j, int64_t before, int found)
{
    const struct replan_contradiction *c;

    sim_link(j->sim, 125e6);
    sim_run(j->sim, 1500);
    ck_assert_int_le(sim_contradictions(j->sim, &c), found + 2);
    ck_assert_double_ge(c->network.bytes_per_s, 125e6 / 1.6);
    if (strcmp(j->algorithm, "easgd") == 0)
        ck_assert_int_le(sim_period(j->sim), before + before / 2);
}

/* The link becomes a fifth as fast in mid-run, or less than a tenth: that is found, and the period
 * follows as far as progress asks for it. On the slower of the two the best period is more than
 * twice as long. Afterwards, and before, nothing is found.
 */
START_TEST(link_slows_down)
{
    static const char *const algorithm[] = { "easgd", "hsgd", "allreduce" };
    const bool async = _i % 3 == 0;
    const double slow = _i < 3 ? 25e6 : 10e6;
    const struct replan_contradiction *c;

    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct job j;
        int64_t before;
        int found;

        open_linked(&j, algorithm[_i % 3], seed);
        sim_run(j.sim, 600);
        ck_assert_msg(sim_contradictions(j.sim, &c) == 0, "%s, seed %d: %g instead of %g ms",
                      j.algorithm, (int)seed, 1e3 * c->measured_s, 1e3 * c->predicted_s);
        before = sim_period(j.sim);
        sim_link(j.sim, slow);
        sim_run(j.sim, 600);
        found = sim_contradictions(j.sim, &c);
        ck_assert_msg(found >= 1 && found <= 2, "%s, seed %d: found %d times", j.algorithm,
                      (int)seed, found);
        ck_assert_double_ge(c->network.bytes_per_s, slow / 1.4);
        ck_assert_double_le(c->network.bytes_per_s, slow * 1.4);
        if (async)
            ck_assert_double_ge(of_best_period(&j, slow), 0.95);
        if (async && _i >= 3)
            ck_assert_int_ge(sim_period(j.sim), 2 * before);
        if (_i < 3)
            check_link_back(&j, before, found);
        close_job(&j);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, modes_rank);
    tcase_add_loop_test(tc, predicted_at_each_period, 0, 2);
    tcase_add_loop_test(tc, link_slows_down, 0, 6);
}

SUITE_MAIN("sim_network", add_tests)
