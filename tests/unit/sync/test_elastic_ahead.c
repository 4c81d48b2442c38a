/* SPDX-License-Identifier: Apache-2.0 */
/* test_elastic_ahead.c - how many steps ahead of its exchange the centre is read */
#include "lib/base/clock.h"
#include "lib/sync/elastic_ahead.h"
#include "suite.h"

static struct elastic_ahead a;

/* Let an exchange end, and the next one begin so many steps of 100 ms later; it reads so long. */
static void exchange(int64_t steps, int64_t read_ms)
{
    static int64_t now_ns = CLOCK_S;

    elastic_ahead_end(&a, true, now_ns);
    now_ns += steps * 100 * CLOCK_MS;
    elastic_ahead_begin(&a, steps, steps, now_ns);
    elastic_ahead_read(&a, now_ns);
    now_ns += read_ms * CLOCK_MS;
    elastic_ahead_have(&a, now_ns);
    elastic_ahead_end(&a, true, now_ns);
}

/* Return how many steps before the exchange the read begins; 0: with it. */
static int64_t lead(int64_t period)
{
    int64_t n = 0;

    for (a.left = 1; a.left <= period; a.left++)
        if (elastic_ahead_is_due(&a)) {
            ck_assert_int_eq(n, a.left - 1);
            n = a.left;
        }
    return n;
}

START_TEST(as_few_steps_as_the_read_takes)
{
    static const struct {
        int64_t steps, read_ms, lead;
    } rows[] = {
        { 1, 9, 0 },   { 1, 11, 1 },  { 1, 300, 1 },     { 8, 0, 0 },   { 8, 9, 0 },
        { 8, 11, 1 },  { 8, 79, 1 },  { 8, 81, 2 },      { 8, 150, 2 }, { 8, 250, 4 },
        { 8, 639, 8 }, { 8, 900, 8 }, { 100, 1000, 13 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        a = (struct elastic_ahead){ 0 };
        exchange(rows[i].steps, rows[i].read_ms);
        ck_assert_msg(lead(rows[i].steps) == rows[i].lead, "row %d: %d", (int)i,
                      (int)lead(rows[i].steps));
    }
}
END_TEST

/* Without an exchange before it, or with a checkpoint before it, nothing is known of steps. */
START_TEST(only_steps_between_two_exchanges_count)
{
    a = (struct elastic_ahead){ 0 };
    ck_assert_int_eq(lead(8), 0);
    elastic_ahead_begin(&a, 8, 8, CLOCK_S);
    ck_assert_int_eq(lead(8), 0);
    exchange(8, 150);
    ck_assert_int_eq(lead(8), 2);
    elastic_ahead_end(&a, false, 10 * CLOCK_S);
    ck_assert(!elastic_ahead_is_due(&a)); /* nor when the next exchange is due */
    elastic_ahead_begin(&a, 1, 8, 99 * CLOCK_S);
    ck_assert_int_eq(lead(8), 2);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, as_few_steps_as_the_read_takes);
    tcase_add_test(tc, only_steps_between_two_exchanges_count);
}

SUITE_MAIN("elastic_ahead", add_tests)
