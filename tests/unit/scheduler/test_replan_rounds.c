/* SPDX-License-Identifier: Apache-2.0 */
/* test_replan_rounds.c - tests of scheduler/replan.h: groups that combine their models in rounds */
#include "four_workers.h"

#include <math.h>

/* Begin a job in local mode with this period.  Each worker is a group and has a node.  The model
 * has 10 MB, and the wires 1 Gbit/s.
 */
static void begin_rounds(int64_t period)
{
    s.algorithm = "local";
    s.period = period;
    s.network = (struct modes_setup){
        .n_nodes = N, .model_bytes = 10000000, .latency_s = 1e-4, .bytes_per_s = 125e6
    };
    begin();
}

/* Groups wait for the slowest, so a plan gains what it gains with one model. */
START_TEST(groups_wait)
{
    static const char *const algorithm[] = { "allreduce", "local" };
    double gain[2];

    for (int k = 0; k < 2; k++) {
        s.algorithm = algorithm[k];
        s.period = k ? 8 : 0;
        begin();
        for (int i = 0; i < N; i++)
            report(i, 1, 100, 64, i == N - 1 ? 0.128 : 0.064);
        ck_assert(decides(100));
        ck_assert_int_eq(p.batch[N - 1], 36);
        gain[k] = p.gain;
    }
    ck_assert_double_eq(gain[0], gain[1]);
}
END_TEST

/* Worker 0 has 160 of 256 samples and takes them in steps of 64, an equal part: it may get more
 * than twice these.
 */
START_TEST(parts_of_a_batch)
{
    for (int i = 0; i < N; i++)
        worker[i].batch = i ? 32 : 160;
    begin_rounds(8);
    for (int i = 0; i < N; i++)
        report(i, 1, 100, i ? 32 : 64, i ? 0.064 : 0.0064);
    ck_assert(decides(100));
    ck_assert_int_ge(p.batch[0], 220);
    ck_assert_int_le(p.batch[0], 224);
}
END_TEST

/* The period follows the network, and rounds that became too long are shortened whatever that
 * costs.
 */
START_TEST(period_of_rounds)
{
    begin_rounds(1);
    for (int i = 0; i < N; i++)
        report(i, 1, 30, 64, 0.064);
    ck_assert(decides(100));
    ck_assert_int_eq(p.rank, -1);
    ck_assert_int_gt(p.period, 4);
    begin_rounds(300);
    for (int i = 0; i < N; i++)
        report(i, 1, 30, 64, 1);
    ck_assert(decides(100));
    ck_assert_int_gt(p.period, 0);
    ck_assert_int_le(p.period, MODES_ROUND_S);
    ck_assert_double_ge(p.gain, 0);
    s.keep_period = true;
    begin_rounds(300);
    for (int i = 0; i < N; i++)
        report(i, 1, 30, 64, 1);
    ck_assert(!decides(100));
}
END_TEST

/* When the epoch becomes known, its last two rounds may be shorter than the overlap: the period is
 * changed for that whatever it costs, unless the job sets it.
 */
START_TEST(rounds_outlast_the_overlap)
{
    for (int keep = 0; keep < 2; keep++) {
        struct modes_setup n;

        s.keep_period = keep;
        begin_rounds(9);
        n = s.network;
        n.bytes_per_s = 1e12; /* a longer period gains nothing */
        n.overlap = 8;
        replan_network(r, &n);
        for (int i = 0; i < N; i++)
            report(i, 1, 30, 64, 0.064);
        ck_assert(!decides(100));
        n.epoch_steps = 100; /* the last two rounds of 9 steps would have 5 */
        replan_network(r, &n);
        ck_assert_int_eq(decides(101), !keep);
        if (keep)
            continue;
        ck_assert_int_eq(p.period, 10);
        ck_assert_int_eq(p.rank, -1);
        ck_assert_double_ge(p.gain, 0);
        ck_assert_str_eq(p.reason, "models are exchanged every 10 steps, not 9, so that all rounds "
                                   "have more steps than the overlap");
    }
}
END_TEST

/* Return the predicted seconds of an exchange on wires of this speed. */
static double exchange_at(double bytes_per_s)
{
    static const int alone[N] = { 0, 1, 2, 3 };
    struct modes_worker w[N];
    struct modes_setup modes = { .worker = w,
                                 .n = N,
                                 .n_nodes = N,
                                 .model_bytes = 10000000,
                                 .latency_s = 1e-4 * 125e6 / bytes_per_s,
                                 .bytes_per_s = bytes_per_s };
    struct modes_time t[N];

    for (int i = 0; i < N; i++)
        w[i] = (struct modes_worker){ .t = { 0, 1e-3 }, .batch = 64, .node = i };
    ck_assert_int_eq(modes_round_times(&modes, alone, 4, t, NULL), N);
    return t[0].exchange_s;
}

/* Report so many steps, in rounds of 4: worker 2 comes last and waits for nobody's compute. */
static void expose(int64_t steps, double exchange_s)
{
    for (int i = 0; i < N; i++) {
        double each_s = i == 2 ? exchange_s : exchange_s + 0.1 * (i + 1);
        struct replan_exposed e = { .plan = 1,
                                    .steps = steps,
                                    .exchanges = steps / 4,
                                    .exposed_s = (double)(steps / 4) * each_s,
                                    .exchange_s = (double)(steps / 4) * each_s };

        replan_exposed(r, i, &e);
    }
}

/* What the other groups wait for is compute, and no network's. */
START_TEST(last_group_says_the_network)
{
    static const double links[] = { 125e6, 25e6 };

    for (int k = 0; k < 2; k++) {
        struct replan_contradiction c;
        int said = 0;

        begin_rounds(4);
        for (int i = 0; i < N; i++)
            report(i, 1, 30, 64, 0.064);
        for (int64_t steps = 4; steps <= 64; steps += 12) {
            expose(steps, exchange_at(links[k]));
            said += replan_contradicted(r, &c);
        }
        ck_assert_int_eq(said, k);
        if (said)
            ck_assert_double_eq_tol(c.times, 5, 0.01);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, groups_wait);
    tcase_add_test(tc, parts_of_a_batch);
    tcase_add_test(tc, period_of_rounds);
    tcase_add_test(tc, rounds_outlast_the_overlap);
    tcase_add_test(tc, last_group_says_the_network);
}

SUITE_MAIN("replan_rounds", add_tests)
