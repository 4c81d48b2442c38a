/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_rows.c - tests of agents/driver/metrics/metrics_rows.h */
#include "agents/driver/metrics/metrics_rows.h"

#include "suite.h"

#include "lib/base/clock.h"

static struct metrics_rows rows;
static struct job_status status;
static int rank[METRICS_ROWS];

static void begin(int n)
{
    job_status_init(&status);
    ck_assert_int_eq(job_status_resize(&status, n, NULL), 0);
    for (int i = 0; i < n; i++)
        status.worker[i].metrics = (struct step_metrics){ .plan = 1, .since = 1 };
}

static void end(void)
{
    metrics_rows_fini(&rows);
    job_status_fini(&status);
}

static int choose(int64_t s)
{
    return metrics_rows_choose(&rows, &status, s * CLOCK_S, rank);
}

START_TEST(news_and_every_so_often)
{
    begin(3);
    status.worker[1].metrics.plan = 0; /* it has told nothing yet */
    ck_assert_int_eq(choose(1), 2);
    ck_assert_int_eq(rank[0], 0);
    ck_assert_int_eq(rank[1], 2);
    ck_assert_int_eq(choose(2), 0);
    status.worker[2].metrics.since = 50;
    ck_assert_int_eq(choose(3), 1);
    ck_assert_int_eq(rank[0], 2);
    status.worker[2].metrics.plan = 2;
    ck_assert_int_eq(choose(4), 1);
    ck_assert_int_eq(choose(METRICS_ROW_S), 0);
    ck_assert_int_eq(choose(METRICS_ROW_S + 1), 1);
    ck_assert_int_eq(rank[0], 0);
}
END_TEST

/* Of however many workers a line tells of few, and of each in its turn. */
START_TEST(in_turns)
{
    enum { N = 5 * METRICS_ROWS / 2 };
    int seen[N] = { 0 };

    begin(N);
    for (int s = 1; s <= 5; s++) {
        int n = choose(100L * s);

        ck_assert_int_eq(n, METRICS_ROWS);
        for (int i = 0; i < n; i++)
            seen[rank[i]]++;
    }
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(seen[i], 2);
}
END_TEST

/* Another generation has other workers. */
START_TEST(another_generation)
{
    begin(4);
    ck_assert_int_eq(choose(1), 4);
    job_status_fini(&status);
    begin(2);
    ck_assert_int_eq(choose(2), 2);
    job_status_fini(&status);
    begin(0);
    ck_assert_int_eq(choose(3), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, end);
    tcase_add_test(tc, news_and_every_so_often);
    tcase_add_test(tc, in_turns);
    tcase_add_test(tc, another_generation);
}

SUITE_MAIN("metrics_rows", add_tests)
