/* SPDX-License-Identifier: Apache-2.0 */
/* test_report_limit.c - tests of agents/node/report_limit.h */
#include "agents/node/report_limit.h"

#include "suite.h"

#include "lib/base/clock.h"

START_TEST(single_news_at_once)
{
    struct report_limit h = { 0 };

    for (int i = 1; i <= 10; i++)
        ck_assert(report_limit_allows(&h, CLOCK_S, i * CLOCK_S));
    ck_assert(!report_limit_allows(&h, CLOCK_S, 10 * CLOCK_S + 50 * CLOCK_MS));
    ck_assert(report_limit_allows(&h, CLOCK_S, 10 * CLOCK_S + 100 * CLOCK_MS));
}
END_TEST

/* News at every look: a few reports an interval, however long it goes on. */
START_TEST(noise_is_not_hurried)
{
    struct report_limit h = { 0 };
    int n = 0;

    for (int i = 1; i <= 1000; i++)
        n += report_limit_allows(&h, CLOCK_S, i * 100 * CLOCK_MS);
    ck_assert_int_gt(n, 100);
    ck_assert_int_lt(n, 300);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, single_news_at_once);
    tcase_add_test(tc, noise_is_not_hurried);
}

SUITE_MAIN("report_limit", add_tests)
