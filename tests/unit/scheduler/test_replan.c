/* SPDX-License-Identifier: Apache-2.0 */
/* test_replan.c - tests of scheduler/replan.h, whose work on whole jobs is in test_sim.c */
#include "scheduler/modes.h"

#include "four_workers.h"

#include <errno.h>
#include <string.h>

/* All report so many steps of these batches, at seconds a sample. */
static void report_all(int64_t plan, int64_t steps, const int64_t *batch, const double *sample_s)
{
    for (int i = 0; i < N; i++)
        report(i, plan, steps, batch[i], sample_s[i] * (double)batch[i]);
}

static const int64_t equal[] = { 64, 64, 64, 64 };
static const double same[] = { 1e-3, 1e-3, 1e-3, 1e-3 };
static const double uneven[] = { 1e-3, 1e-3, 1e-3, 3e-3 };

START_TEST(proposes)
{
    int64_t sum = 0;

    ck_assert(!decides(100));
    report_all(1, 10, equal, uneven);
    ck_assert(decides(100));
    for (int i = 0; i < N; i++)
        sum += p.batch[i];
    ck_assert_int_eq(sum, 256);
    ck_assert_int_eq(p.batch[3], 25);
    ck_assert_int_eq(p.rank, 3);
    ck_assert_double_eq_tol(p.gain, 192.0 / 77 - 1, 1e-6);
    ck_assert(p.wanted > 0.01 && p.wanted < p.gain && !p.halved);
    ck_assert_str_eq(
        p.reason,
        "rank 3 takes 192 ms for 64 samples; with 25 samples the longest step takes 77 ms");
}
END_TEST

/* A step of seconds is told in seconds. */
START_TEST(says_seconds)
{
    static const double slow[] = { 0.1, 0.1, 0.1, 0.3 };

    report_all(1, 10, equal, slow);
    ck_assert(decides(1000));
    ck_assert_str_eq(
        p.reason,
        "rank 3 takes 19.2 s for 64 samples; with 25 samples the longest step takes 7.7 s");
}
END_TEST

/* Not before all have reported steps of the plan, nor before its gap of seconds and of steps. */
START_TEST(waits)
{
    int64_t batch[N];
    double other[] = { 1e-3, 1e-3, 1e-3, 9e-3 };

    for (int i = 0; i < N - 1; i++)
        report(i, 1, 10, 64, 0.064);
    ck_assert(!decides(100));
    report(3, 1, 3, 64, 0.192);
    ck_assert(!decides(100)); /* four steps, the first included */
    report(3, 1, 4, 64, 0.192);
    ck_assert(decides(100));
    memcpy(batch, p.batch, sizeof batch);
    replan_published(r, 2, batch, 0);
    report_all(2, 10, batch, other);
    ck_assert(!decides(200)); /* not agreed */
    replan_agreed(r, 2, 200);
    ck_assert(!decides(200.9));
    ck_assert(!decides(201.9)); /* it gave nothing of what it promised */
    report_all(2, 11, batch, other);
    ck_assert(decides(202));
}
END_TEST

/* Where the first plan is by a probe's rates, the first one by times waits for nothing but times of
 * all, and the next one for its gap.
 */
START_TEST(early)
{
    int64_t batch[N];
    double other[] = { 1e-3, 1e-3, 1e-3, 9e-3 };

    s.early = true;
    begin();
    for (int i = 0; i < N - 1; i++)
        report(i, 1, 3, 64, 0.064);
    ck_assert(!decides(0.5));
    replan_published(r, 2, (int64_t[]){ 70, 70, 70, 46 }, 0); /* by better rates */
    report(3, 1, 3, 64, 0.192);
    ck_assert(!decides(0.6)); /* not agreed */
    replan_agreed(r, 2, 0.7);
    ck_assert(decides(0.7));
    ck_assert_int_eq(p.batch[3], 25);
    memcpy(batch, p.batch, sizeof batch);
    replan_published(r, 3, batch, 0);
    report_all(3, 3, batch, other);
    replan_agreed(r, 3, 0.8);
    ck_assert(!decides(0.9));
    report_all(3, 10, batch, other);
    ck_assert(decides(9));
}
END_TEST

/* Versions of the same batches, as those that ask for checkpoints, must be agreed on and are no new
 * plans: however often they come, the gap goes on.
 */
START_TEST(saves)
{
    s.gap_steps = 12;
    begin();
    for (int64_t v = 2; v <= 4; v++) {
        replan_published(r, v, equal, 0);
        report_all(v - 1, 4, equal, uneven);
        ck_assert(!decides(100)); /* not agreed */
        replan_agreed(r, v, 99.5);
    }
    ck_assert(decides(100));
}
END_TEST

/* Twice the largest batch measured, however fast the worker. */
START_TEST(trusts)
{
    static const double fast[] = { 1e-5, 1e-2, 1e-2, 1e-2 };

    report_all(1, 10, equal, fast);
    ck_assert(decides(100));
    ck_assert_int_eq(p.batch[0], 128);
}
END_TEST

/* A gain that the noise of few steps explains is none, and is one when more steps say the same. */
START_TEST(noise)
{
    static const double near[] = { 1e-3, 1e-3, 1e-3, 1.08e-3 };

    report_all(1, 4, equal, near);
    ck_assert(!decides(100));
    report_all(1, 64, equal, near);
    ck_assert(decides(101));
}
END_TEST

/* A window that has begun again holds few steps, however long the plan has been in force. */
START_TEST(noise_of_a_new_window)
{
    struct step_metrics f = steps_of(1, 160, 3, 64, 1.2 * 0.064);

    report_all(1, 60, equal, same);
    ck_assert(!decides(100));
    replan_metrics(r, 3, &f, 0);
    ck_assert(!decides(101));
    f.steps = f.points = 24;
    replan_metrics(r, 3, &f, 0);
    ck_assert(decides(102));
}
END_TEST

START_TEST(bounds_force)
{
    report_all(1, 10, equal, same);
    ck_assert(!decides(100));
    replan_bounds(r, 2, 1, 40);
    ck_assert(decides(101));
    ck_assert_int_eq(p.batch[2], 40);
    ck_assert_double_lt(p.gain, 0);
    ck_assert_str_eq(p.reason, "rank 2 may take 1 to 40 samples, not 64");
    for (int i = 0; i < N; i++)
        replan_bounds(r, i, 1, 40);
    report_all(1, 11, equal, same);
    ck_assert(!decides(102)); /* there is no such split */
}
END_TEST

/* A worker that seems slow with every other plan: the third move is halved, and the gap doubles. */
START_TEST(back_and_forth)
{
    int64_t batch[N] = { 64, 64, 64, 64 };
    double now_s = 100;

    for (int64_t plan = 1; plan <= 3; plan++) {
        double sample_s[N] = { 1e-3, 1e-3, 1e-3, plan % 2 ? 1.08e-3 : 0.94e-3 };

        report_all(plan, 30, batch, sample_s);
        now_s += 10;
        ck_assert(decides(now_s));
        ck_assert_int_eq(p.halved, plan == 3);
        memcpy(batch, p.batch, sizeof batch);
        replan_published(r, plan + 1, batch, 0);
        replan_agreed(r, plan + 1, now_s);
    }
    ck_assert_int_eq(batch[3], 64); /* from 67 to 60 */
    report_all(4, 30, batch, uneven);
    ck_assert(!decides(now_s + 7.5)); /* nor was promised what came, twice */
    report_all(4, 40, batch, uneven);
    ck_assert(decides(now_s + 8.5));
}
END_TEST

/* The network is known: models are exchanged as often as it carries them. */
START_TEST(period_of_the_network)
{
    s.algorithm = "easgd";
    s.period = 1000;
    s.network = (struct modes_setup){
        .n_nodes = N, .model_bytes = 1000000, .latency_s = 1e-4, .bytes_per_s = 125e6
    };
    begin();
    report_all(1, 10, equal, same);
    ck_assert(!decides(100));
    report_all(1, 30, equal, same);
    ck_assert(decides(101));
    ck_assert(p.period > 0 && p.period < 100);
    ck_assert_int_eq(memcmp(p.batch, equal, sizeof equal), 0);
    ck_assert(strncmp(p.reason, "models are exchanged every ", 27) == 0);
    ck_assert_int_eq(p.rank, -1);
    begin(); /* and with the batches, if those change */
    report_all(1, 30, equal, uneven);
    ck_assert(decides(101));
    ck_assert(p.period > 0 && p.period < 100);
    ck_assert(strncmp(p.reason, "rank 3 takes 192 ms for 64 samples; with ", 41) == 0);
    ck_assert_ptr_nonnull(strstr(p.reason, "; models are exchanged every "));
    s.keep_period = true;
    begin();
    report_all(1, 30, equal, same);
    ck_assert(!decides(101));
}
END_TEST

/* ---- the network, by what steps wait for it ---- */

/* All have done so many steps under plan 1, and waited so long in each; the last one less. */
static void expose(int64_t steps, double step_s)
{
    for (int i = 0; i < N; i++) {
        struct replan_exposed e = { .plan = 1,
                                    .steps = steps,
                                    .exposed_s = (double)steps * (i == N - 1 ? 1 : 5) * step_s };

        replan_exposed(r, i, &e);
    }
}

/* Gradients of 10 MB between four nodes take 0.12 s on wires of 1 Gbit/s, a step computes 64 ms. */
static void over_network(void)
{
    s.network = (struct modes_setup){
        .n_nodes = N, .model_bytes = 10000000, .latency_s = 1e-4, .bytes_per_s = 125e6
    };
    begin();
    report_all(1, 10, equal, same);
}

/* Return what is predicted for wires of this speed, of so many groups. */
static struct modes_time time_at(double bytes_per_s, const int *group, int64_t period, int n_groups)
{
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
    ck_assert_int_eq(modes_times(&modes, group, period, t, NULL), n_groups);
    return t[0];
}

static double exposed_at(double bytes_per_s)
{
    static const int together[N];

    return time_at(bytes_per_s, together, 0, 1).exposed_s;
}

/* Twenty steps in two halves that both say so; what the others wait for is the last one's compute,
 * and no network's.  A network that was measured again explains what comes after.
 */
START_TEST(network_contradicted)
{
    struct replan_contradiction c;
    double slow_s = exposed_at(25e6);

    over_network();
    expose(1, slow_s);
    expose(10, slow_s);
    ck_assert(!replan_contradicted(r, &c)); /* nine steps */
    expose(11, slow_s);
    ck_assert(!replan_contradicted(r, &c));
    expose(20, slow_s);
    ck_assert(!replan_contradicted(r, &c));
    expose(21, slow_s);
    ck_assert(replan_contradicted(r, &c));
    ck_assert_double_eq_tol(c.times, 5, 0.01);
    ck_assert_double_eq_tol(c.network.bytes_per_s, 25e6, 1e5);
    ck_assert_double_eq_tol(c.measured_s, slow_s, 1e-6);
    ck_assert_double_eq_tol(c.predicted_s, exposed_at(125e6), 1e-6);
    for (int64_t steps = 41; steps < 400; steps += 20) {
        expose(steps, slow_s);
        ck_assert(!replan_contradicted(r, &c));
    }
}
END_TEST

/* One half alone, as of a machine that was busy for a moment, two that say the opposite, or what is
 * within a fifth of a step.
 */
START_TEST(network_believed)
{
    double was_s = exposed_at(125e6), most_s = was_s + 0.2 * (0.064 + was_s);
    const double exposed[][4] = { { exposed_at(25e6), was_s, exposed_at(25e6), was_s },
                                  { exposed_at(25e6), 0, exposed_at(25e6), 0 },
                                  { most_s, most_s, most_s, most_s } };
    struct replan_contradiction c;

    for (size_t k = 0; k < sizeof exposed / sizeof *exposed; k++) {
        double sum_s = 0;

        over_network();
        expose(1, 0);
        for (int half = 0; half < 4; half++) {
            int64_t steps = 1 + 10 * (half + 1);

            sum_s += 10 * exposed[k][half];
            expose(steps, sum_s / (double)steps);
            ck_assert(!replan_contradicted(r, &c));
        }
    }
}
END_TEST

/* Four workers with models of their own, of 10 MB, that are exchanged every 16 steps over 1 Gbit/s.
 */
static void apart(void)
{
    s.algorithm = "easgd";
    s.period = 16;
    over_network();
}

static double exchange_at(double bytes_per_s)
{
    return time_at(bytes_per_s, NULL, 16, N).exchange_s;
}

/* All have waited so long in each step, and besides in every 16th for an exchange. */
static void exchange(int64_t plan, int64_t steps, double step_s, double exchange_s)
{
    for (int i = 0; i < N; i++) {
        struct replan_exposed e = { .plan = plan,
                                    .steps = steps,
                                    .exchanges = steps / 16,
                                    .exchange_s = (double)(steps / 16) * exchange_s };

        e.exposed_s = e.exchange_s + (double)steps * step_s;
        replan_exposed(r, i, &e);
    }
}

/* What steps wait between exchanges is no network's, where every worker has a model of its own. */
START_TEST(only_exchanges_tell)
{
    struct replan_contradiction c;

    apart();
    for (int64_t steps = 1; steps < 400; steps += 16) {
        exchange(1, steps, 0.02, exchange_at(125e6));
        ck_assert(!replan_contradicted(r, &c));
    }
}
END_TEST

/* A version a save, more often than models are exchanged. */
START_TEST(saves_hide_no_network)
{
    struct replan_contradiction c;
    bool found = false;

    apart();
    for (int64_t steps = 1; steps < 200 && !found; steps += 4) {
        exchange(1 + steps / 4, steps, 0, exchange_at(25e6));
        found = replan_contradicted(r, &c);
    }
    ck_assert(found);
    ck_assert_double_eq_tol(c.network.bytes_per_s, 25e6, 1e6);
}
END_TEST

/* On one host the memory's own speed is enough to say how often models are exchanged. */
START_TEST(period_on_one_node)
{
    const struct modes_setup here = { .n_nodes = 1, .model_bytes = 10000000 };

    for (int i = 0; i < N; i++)
        worker[i].node = 0;
    s.algorithm = "easgd";
    s.period = 64;
    s.network.n_nodes = 1;
    begin();
    report_all(1, 30, equal, same);
    ck_assert(!decides(100));
    replan_network(r, &here);
    ck_assert(decides(101));
    ck_assert_int_gt(p.period, 1);
    ck_assert_int_lt(p.period, 32);
}
END_TEST

START_TEST(network_unknown)
{
    struct modes_setup nothing = { .n_nodes = N };
    struct replan_contradiction c;

    over_network();
    replan_network(r, &nothing);
    for (int64_t steps = 1; steps < 100; steps += 10) {
        expose(steps, 1);
        ck_assert(!replan_contradicted(r, &c));
    }
}
END_TEST

START_TEST(probe_becomes_seconds)
{
    struct replan_time t[N];

    worker[3].batch = 0;
    worker[3].first.sample_s = 2;
    begin();
    replan_times(r, t);
    ck_assert_double_eq_tol(t[3].t.sample_s, 2, 1e-9);
    ck_assert_int_eq(t[3].source, TIME_PROBE);
    for (int i = 0; i < N - 1; i++)
        report(i, 1, 10, 64, 0.064);
    replan_times(r, t);
    ck_assert_double_eq_tol(t[3].t.sample_s, 2e-3, 1e-9);
    ck_assert_int_eq(t[3].source, TIME_GUESSED);
    ck_assert_int_eq(t[0].source, TIME_MEASURED);
}
END_TEST

/* Speeds that end after 3.2 s each, in a generation's first plan. */
static void report_unstable(int rank, int64_t count, int since)
{
    double sample_s = since % 2 ? 1e-3 : 2e-3;
    struct step_metrics f = steps_of(1, 100 + since, 50, count, sample_s * (double)count);

    f.total = spread(0.064);
    replan_metrics(r, rank, &f, 0);
}

/* Of a worker without samples the probe's ratio is known, and seconds are made of that. */
START_TEST(past_of_none)
{
    bool better = false;

    worker[3].batch = worker[3].min = 0;
    begin();
    for (int t = 0; t < 20; t++) {
        for (int i = 0; i < N - 1; i++)
            report_unstable(i, 64, t);
        better = decides(100 + 4 * t);
        ck_assert(t != 4 || !better); /* not before the past tells */
    }
    ck_assert(better);
    ck_assert_int_gt(p.batch[3], 32);
}
END_TEST

START_TEST(refuses)
{
    struct eddis_error err = { 0 };
    struct replan *none = NULL;

    s.algorithm = "none";
    ck_assert_int_eq(replan_new(&s, &none, &err), -EINVAL);
    set_up();
    worker[1].first.sample_s = 0;
    ck_assert_int_eq(replan_new(&s, &none, &err), -EINVAL);
    set_up();
    s.n = 0;
    ck_assert_int_eq(replan_new(&s, &none, &err), -EINVAL);
    ck_assert_ptr_null(none);
    ck_assert_str_ne(err.text, "");
    replan_free(NULL);
}
END_TEST

/* Begun, and since 100 s at its second plan, whose batches are in batch [N]. */
static void replanned(int64_t *batch)
{
    set_up();
    report_all(1, 10, equal, uneven);
    ck_assert(decides(100));
    memcpy(batch, p.batch, N * sizeof *batch);
    replan_published(r, 2, batch, 0);
    replan_agreed(r, 2, 100);
}

/* A plan that gives nothing of what it promised, for the machine's other work has moved meanwhile:
 * the next one waits for twice as many steps.  One that keeps its promise waits for nothing.
 */
START_TEST(promises)
{
    static const double moved[] = { 1e-3, 1e-3, 1e-3, 9e-3 };

    for (int kept = 0; kept < 2; kept++) {
        int64_t batch[N];

        replanned(batch);
        report_all(2, 6, batch, kept ? uneven : moved);
        ck_assert(!decides(102));
        report_all(2, 7, batch, moved);
        ck_assert_int_eq(decides(102), kept);
        report_all(2, 12, batch, moved);
        ck_assert(decides(103));
    }
}
END_TEST

/* A worker that is slow with the more that it got gives that back after one gap, and the gap until
 * the next plan doubles; one that is slow only later is so by itself.
 */
START_TEST(goes_back)
{
    static const double throttled[] = { 1e-3, 1e-3, 4e-3, 3e-3 };

    for (int later = 0; later < 2; later++) {
        int64_t batch[N];

        replanned(batch);
        report_all(2, 6, batch, later ? uneven : throttled);
        if (later) {
            ck_assert(!decides(102));
            report_all(2, 40, batch, throttled);
        }
        ck_assert(decides(102));
        ck_assert_int_eq(memcmp(p.batch, equal, sizeof equal) == 0, !later);
        ck_assert_int_eq(strstr(p.reason, "back to that plan") != NULL, !later);
        if (!later) {
            replan_published(r, 3, p.batch, 0);
            replan_agreed(r, 3, 102);
            report_all(3, 20, equal, uneven);
            ck_assert(!decides(103.5));
            ck_assert(decides(104.1));
        }
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, goes_back);
    tcase_add_test(tc, proposes);
    tcase_add_test(tc, says_seconds);
    tcase_add_test(tc, waits);
    tcase_add_test(tc, early);
    tcase_add_test(tc, saves);
    tcase_add_test(tc, trusts);
    tcase_add_test(tc, noise);
    tcase_add_test(tc, noise_of_a_new_window);
    tcase_add_test(tc, bounds_force);
    tcase_add_test(tc, back_and_forth);
    tcase_add_test(tc, period_of_the_network);
    tcase_add_test(tc, network_contradicted);
    tcase_add_test(tc, network_believed);
    tcase_add_test(tc, only_exchanges_tell);
    tcase_add_test(tc, saves_hide_no_network);
    tcase_add_test(tc, period_on_one_node);
    tcase_add_test(tc, network_unknown);
    tcase_add_test(tc, promises);
    tcase_add_test(tc, probe_becomes_seconds);
    tcase_add_test(tc, past_of_none);
    tcase_add_test(tc, refuses);
}

SUITE_MAIN("rebalance", add_tests)
