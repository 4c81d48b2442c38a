/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop.c - tests of agents/node/stop.h */
#include "agents/node/stop.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <signal.h>

static void expect(struct stop *s, int64_t now, enum stop_whom whom, int sig)
{
    const struct stop_row *row = stop_due(s, now);

    ck_assert_ptr_nonnull(row);
    ck_assert_int_eq(row->whom, whom);
    ck_assert_int_eq(row->signal, sig);
}

/* From the failure row on: mpirun and the ranks at once, the rest a second later, again and again.
 */
static void expect_failure(struct stop *s, int64_t now)
{
    expect(s, now, STOP_MPIRUN, SIGKILL);
    expect(s, now, STOP_RANKS, SIGTERM);
    ck_assert_ptr_null(stop_due(s, now));
    ck_assert_ptr_null(stop_due(s, now + CLOCK_S - 1));
    ck_assert_int_eq(stop_next_ns(s), now + CLOCK_S);
    for (int i = 0; i < 5; i++)
        expect(s, now + (1 + i) * CLOCK_S, STOP_ALL, SIGKILL);
}

START_TEST(idle)
{
    struct stop s = { 0 };

    ck_assert_ptr_null(stop_due(&s, CLOCK_S));
    ck_assert_int_eq(stop_next_ns(&s), CLOCK_NEVER);
    stop_hasten(&s, CLOCK_S);
    ck_assert_ptr_null(stop_due(&s, CLOCK_S));
}
END_TEST

START_TEST(orderly)
{
    struct stop s = { 0 };

    stop_begin(&s, STOP_ORDERLY, 10 * CLOCK_S, CLOCK_S);
    expect(&s, CLOCK_S, STOP_RANKS, SIGTERM);
    ck_assert_ptr_null(stop_due(&s, 11 * CLOCK_S - 1));
    expect_failure(&s, 11 * CLOCK_S);
}
END_TEST

START_TEST(failure)
{
    struct stop s = { 0 };

    stop_begin(&s, STOP_FAILURE, 0, CLOCK_S);
    expect_failure(&s, CLOCK_S);
}
END_TEST

START_TEST(at_once)
{
    struct stop s = { 0 };

    stop_begin(&s, STOP_KILL, 0, CLOCK_S);
    expect(&s, CLOCK_S, STOP_ALL, SIGKILL);
    ck_assert_ptr_null(stop_due(&s, CLOCK_S));
    expect(&s, CLOCK_S + 20 * CLOCK_MS, STOP_ALL, SIGKILL);
}
END_TEST

START_TEST(harder_wins)
{
    struct stop s = { 0 };

    stop_begin(&s, STOP_ORDERLY, 60 * CLOCK_S, CLOCK_S);
    expect(&s, CLOCK_S, STOP_RANKS, SIGTERM);
    stop_begin(&s, STOP_ORDERLY, 0, 2 * CLOCK_S);
    ck_assert_ptr_null(stop_due(&s, 2 * CLOCK_S));
    stop_begin(&s, STOP_FAILURE, 0, 3 * CLOCK_S);
    expect(&s, 3 * CLOCK_S, STOP_MPIRUN, SIGKILL);
    stop_begin(&s, STOP_ORDERLY, 60 * CLOCK_S, 3 * CLOCK_S);
    expect(&s, 3 * CLOCK_S, STOP_RANKS, SIGTERM);
    stop_begin(&s, STOP_FAILURE, 0, 3 * CLOCK_S + 5);
    ck_assert_ptr_null(stop_due(&s, 3 * CLOCK_S + 5));
    stop_begin(&s, STOP_KILL, 0, 3 * CLOCK_S + 6);
    expect(&s, 3 * CLOCK_S + 6, STOP_ALL, SIGKILL);
    ck_assert_int_eq(s.began_ns, CLOCK_S);
}
END_TEST

START_TEST(nobody_to_wait_for)
{
    struct stop s = { 0 };

    stop_begin(&s, STOP_ORDERLY, 60 * CLOCK_S, CLOCK_S);
    expect(&s, CLOCK_S, STOP_RANKS, SIGTERM);
    stop_hasten(&s, 2 * CLOCK_S);
    expect(&s, 2 * CLOCK_S, STOP_MPIRUN, SIGKILL);
    expect(&s, 2 * CLOCK_S, STOP_RANKS, SIGTERM);
    stop_hasten(&s, 2 * CLOCK_S);
    expect(&s, 2 * CLOCK_S, STOP_ALL, SIGKILL);
    stop_hasten(&s, 2 * CLOCK_S); /* must not become a busy loop */
    ck_assert_ptr_null(stop_due(&s, 2 * CLOCK_S));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, idle);
    tcase_add_test(tc, orderly);
    tcase_add_test(tc, failure);
    tcase_add_test(tc, at_once);
    tcase_add_test(tc, harder_wins);
    tcase_add_test(tc, nobody_to_wait_for);
}

SUITE_MAIN("stop", add_tests)
