/* SPDX-License-Identifier: Apache-2.0 */
/* test_replan_few.c - tests of scheduler/replan.h: workers with few samples, and many workers
 */
#include "scheduler/learner.h"

#include "four_workers.h"

bool __real_learner_is_unstable(const struct learner *l);
bool __wrap_learner_is_unstable(const struct learner *l);

static int learners_asked;

bool __wrap_learner_is_unstable(const struct learner *l)
{
    learners_asked++;
    return __real_learner_is_unstable(l);
}

/* Each worker is looked at a few times for a decision, however many there are. */
START_TEST(many)
{
    enum { MANY = 1000, FEW = 5 };
    static struct replan_worker w[MANY];

    for (int i = 0; i < MANY; i++)
        w[i] = worker[0];
    s.worker = w;
    s.n = MANY;
    begin();
    for (int i = 0; i < MANY; i++)
        report(i, 1, 100, 64, 0.064);
    learners_asked = 0;
    ck_assert(!decides(100));
    ck_assert_int_ge(learners_asked, MANY);
    ck_assert_int_le(learners_asked, FEW * MANY);
}
END_TEST

/* Of fewer samples than it may take a worker makes none, and tells nothing: the plan is left all
 * the same.
 */
START_TEST(too_few)
{
    static const int64_t few[] = { 84, 84, 84, 4 };

    for (int i = 0; i < N; i++)
        worker[i].batch = few[i];
    begin();
    for (int i = 0; i < N - 1; i++)
        report(i, 1, 10, 84, 0.084);
    ck_assert(!decides(100)); /* it may have 4, and is awaited */
    for (int i = 0; i < N; i++)
        replan_bounds(r, i, 8, INT64_MAX);
    ck_assert(decides(101));
    ck_assert_int_ge(p.batch[N - 1], 8);
    ck_assert_int_eq(p.rank, N - 1);
}
END_TEST

/* Nor is one awaited that is to get none: it has no samples by now. */
START_TEST(left_out)
{
    for (int i = 0; i < N - 1; i++)
        report(i, 1, 10, 84, 0.084);
    ck_assert(!decides(100));
    replan_bounds(r, N - 1, 0, 0);
    ck_assert(decides(101));
    ck_assert_int_eq(p.batch[N - 1], 0);
    ck_assert_str_eq(p.reason, "rank 3 may take no samples, not 64");
}
END_TEST

/* A group of which one member has fewer samples than the program takes gives all to the other, and
 * the first of the two is not awaited; where it does report it counts.
 */
START_TEST(too_few_of_a_group)
{
    static const int64_t few[] = { 84, 4, 84, 84 };

    for (int i = 0; i < N; i++) {
        worker[i].batch = few[i];
        worker[i].group = i / 2;
    }
    s.algorithm = "hsgd";
    begin();
    for (int i = 0; i < N; i++)
        if (i != 1)
            report(i, 1, 10, 84, i == 3 ? 0.252 : 0.084);
    ck_assert(!decides(100));
    s.network.program.min_count = 8;
    replan_network(r, &s.network);
    report(1, 1, 3, 4, 0.004);
    report(0, 1, 11, 84, 0.084);
    ck_assert(!decides(101)); /* so few steps */
    begin();
    for (int i = 0; i < N; i++)
        if (i != 1)
            report(i, 1, 10, 84, i == 3 ? 0.252 : 0.084);
    ck_assert(decides(100));
    ck_assert_int_lt(p.batch[3], 84);
}
END_TEST

/* As report, and each step waits so long, for communication and for others. */
static void report_waiting(int rank, int64_t steps, double own_s, double exposed_s, double wait_s)
{
    struct step_metrics f = steps_of(1, 100, steps, 64, own_s);

    f.exposed = spread(exposed_s);
    f.total = spread(own_s + exposed_s + wait_s);
    replan_metrics(r, rank, &f, 0);
}

static void report_waits(int64_t steps, double longest_s)
{
    for (int i = 0; i < N - 1; i++)
        report_waiting(i, steps, 0.0639, 0.004, longest_s + 0.002 - 0.0639);
    report_waiting(N - 1, steps, longest_s, 0.004, 0.002);
}

/* 64 ms, 4 ms of communication and 2 for others: what was predicted without the latter follows
 * after 20 steps, and again after 20 more, but not what is within 2.5 %.
 */
START_TEST(prediction_follows)
{
    double step_s = 0;

    ck_assert(!replan_predicts(r, 0.064, &step_s));
    report_waits(19, 0.064);
    ck_assert(!replan_predicts(r, 0.064, &step_s));
    report_waits(20, 0.064);
    ck_assert(!replan_predicts(r, 0.0685, &step_s));
    ck_assert(replan_predicts(r, 0.064, &step_s));
    ck_assert_double_eq_tol(step_s, 0.070, 1e-4);
    ck_assert(!replan_predicts(r, 0.064, &step_s)); /* of the same steps */
    ck_assert(!decides(100));                       /* and no plan follows from it */
    report_waits(40, 0.064);
    ck_assert(!replan_predicts(r, step_s, &step_s));
    ck_assert(replan_predicts(r, 0.1, &step_s));
    replan_published(r, 2, (const int64_t[]){ 60, 64, 64, 68 }, 0);
    ck_assert(!replan_predicts(r, 0.1, &step_s)); /* no step of it is known */
}
END_TEST

/* Noise of 5 % leaves the prediction alone, and where models are several nobody's time is a step's.
 */
START_TEST(prediction_stays)
{
    double step_s;

    for (int i = 0; i < N; i++)
        report_waiting(i, 60, 0.064 * (1 + 0.003 * i), 0.006, 0);
    ck_assert(!replan_predicts(r, 0.070, &step_s));

    s.algorithm = "easgd";
    begin();
    report_waits(40, 0.064);
    ck_assert(!replan_predicts(r, 0.010, &step_s));
}
END_TEST

/* Workers 0 to 2 take 1 ms for a sample, the last one `slow` times as long; each step exchanges for
 * so long beside.  Reports of so many steps.
 */
static void report_exchanging(int64_t steps, double slow, double exposed_s)
{
    for (int i = 0; i < N; i++)
        report_waiting(i, steps, i < N - 1 ? 0.064 : slow * 0.064, exposed_s,
                       i < N - 1 ? (slow - 1) * 0.064 : 0);
}

/* Whether a worker is faster alone, with all 256 samples, over 40 steps. */
static bool is_alone(double slow, double exposed_s, double *ret_times)
{
    int rank = -1;
    bool is;

    begin();
    report_exchanging(20, slow, exposed_s);
    ck_assert(!replan_alone(r, &rank, ret_times)); /* it may be a moment */
    report_exchanging(39, slow, exposed_s);
    ck_assert(!replan_alone(r, &rank, ret_times));
    report_exchanging(40, slow, exposed_s);
    is = replan_alone(r, &rank, ret_times);
    ck_assert(is ? rank == 0 : rank == -1);
    replan_published(r, 2, (const int64_t[]){ 73, 73, 73, 37 }, 0);
    ck_assert(!replan_alone(r, &rank, ret_times)); /* no step of it is known */
    return is;
}

/* One worker alone takes 0.256 s, all together at best 73 ms and what they exchange. */
START_TEST(faster_alone)
{
    double times = 0;

    ck_assert(is_alone(2, 0.3, &times));
    ck_assert_double_eq_tol(times, 0.428 / 0.256, 0.01);
    ck_assert(!is_alone(2, 0.22, &times)); /* 1.15 times, by the best split */
    ck_assert(!is_alone(10, 0, &times));   /* a split would help, and no exchange takes time */
    worker[0].max = worker[1].max = worker[2].max = 255;
    ck_assert(!is_alone(2, 0.3, &times)); /* the last one alone takes 0.512 s */
    set_up();
    s.algorithm = "easgd";
    ck_assert(!is_alone(2, 0.3, &times)); /* nobody's time is the step's */
}
END_TEST

/* A worker without samples has only the probe's ratio: it is converted to seconds by the others,
 * and all four take 48 ms and what they exchange, less than 1.2 times the 192 ms of one alone.
 */
START_TEST(faster_alone_beside_an_idle_one)
{
    double times;
    int rank;

    worker[N - 1].batch = worker[N - 1].min = 0;
    begin();
    for (int64_t steps = 20; steps <= 40; steps += 20) {
        for (int i = 0; i < N - 1; i++)
            report_waiting(i, steps, 0.064, 0.174, 0);
        ck_assert(!replan_alone(r, &rank, &times));
    }
}
END_TEST

/* It begins anew where it was not so for a while. */
START_TEST(faster_alone_for_a_moment)
{
    double times;
    int rank;

    report_exchanging(20, 2, 0.3);
    ck_assert(!replan_alone(r, &rank, &times));
    report_exchanging(30, 2, 0.01);
    ck_assert(!replan_alone(r, &rank, &times));
    report_exchanging(45, 2, 0.3);
    ck_assert(!replan_alone(r, &rank, &times));
    report_exchanging(65, 2, 0.3);
    ck_assert(replan_alone(r, &rank, &times));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, faster_alone);
    tcase_add_test(tc, faster_alone_for_a_moment);
    tcase_add_test(tc, faster_alone_beside_an_idle_one);
    tcase_add_test(tc, prediction_follows);
    tcase_add_test(tc, prediction_stays);
    tcase_add_test(tc, many);
    tcase_add_test(tc, too_few);
    tcase_add_test(tc, left_out);
    tcase_add_test(tc, too_few_of_a_group);
}

SUITE_MAIN("rebalance_few", add_tests)
