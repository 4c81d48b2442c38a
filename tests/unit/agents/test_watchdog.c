/* SPDX-License-Identifier: Apache-2.0 */
/* test_watchdog.c - who is lost when: a driver or keeper silent for a lease, and nobody sooner */
#include "agents/node/watchdog.h"
#include "agents/protocol/timing.h"
#include "tests/unit/suite.h"

#include <unistd.h>

enum { BEATS = 9 }; /* more of them than make a lease */

static const int64_t begin_ns = 1000 * CLOCK_S, period_ns = CLOCK_S / TIMING_TICKS;

static struct watchdog l;

static void begin(void)
{
    int fd;

    l = (struct watchdog){ .lease_ns = CLOCK_S };
    ck_assert_int_eq(tick_create(&l.page, &fd, NULL), 0);
    (void)close(fd);
    watchdog_find_keeper(&l);
    ck_assert_int_ge(l.keeper_fd, 0);
    ck_assert_int_eq(watchdog_heartbeat(&l, begin_ns), 0);
    ck_assert_int_eq(l.beat_ns, begin_ns + period_ns);
}

/* Look a period later each time, from look i on, while the keeper is heard. */
static int looks(int i, int n)
{
    int lost = 0;

    for (int end = i + n; i < end; i++) {
        ck_assert_int_eq(lost, 0);
        tick_beat(l.page, TICK_KEEPER);
        lost = watchdog_heartbeat(&l, begin_ns + i * period_ns);
    }
    return lost;
}

static const struct {
    bool driver, keeper; /* is heard */
    int lost;
} rows[] = {
    { true, true, 0 },
    { false, true, LIFELINE_DRIVER },
    { true, false, LIFELINE_KEEPER },
    { false, false, LIFELINE_DRIVER | LIFELINE_KEEPER },
};

START_TEST(silence_of_a_lease)
{
    int lost = 0;

    for (int i = 1; i <= BEATS; i++) {
        ck_assert_int_eq(lost, 0);
        if (rows[_i].driver)
            watchdog_heard(&l);
        if (rows[_i].keeper)
            tick_beat(l.page, TICK_KEEPER);
        lost = watchdog_heartbeat(&l, begin_ns + i * period_ns);
    }
    ck_assert_int_eq(lost, rows[_i].lost);
    ck_assert_int_eq(watchdog_is_cut(&l), !rows[_i].driver);
}
END_TEST

/* Whoever was stopped, or slept, accuses nobody on waking. */
START_TEST(slept_itself)
{
    ck_assert_int_eq(watchdog_heartbeat(&l, begin_ns + 3600 * CLOCK_S), 0);
    ck_assert_int_eq(l.silence_ns, TIMING_TICKS_COUNTED * period_ns);
    watchdog_heard(&l);
    ck_assert_int_eq(l.silence_ns, 0);
}
END_TEST

/* A lease begins when the driver is heard, not at the look before. */
START_TEST(counted_from_hearing)
{
    watchdog_heard(&l);
    l.heard_ns = begin_ns + period_ns - 1; /* just before the next look */
    ck_assert_int_eq(watchdog_heartbeat(&l, begin_ns + period_ns), 0);
    ck_assert_int_eq(l.silence_ns, 1);
    ck_assert_int_eq(watchdog_heartbeat(&l, begin_ns + 2 * period_ns), 0);
    ck_assert_int_eq(l.silence_ns, 1 + period_ns);
}
END_TEST

/* A driver that has said that it stops may be silent for as long as its process is there. */
START_TEST(driver_pauses)
{
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    watchdog_pause(&l, ends[1], -1);
    ck_assert_int_eq(looks(1, 3 * BEATS), 0);
    ck_assert_int_eq(l.silence_ns, 0);
    if (_i == 0)
        (void)close(ends[0]); /* it has died: a lease from now on */
    else
        watchdog_go_on(&l);
    ck_assert_int_eq(looks(3 * BEATS + 1, BEATS), LIFELINE_DRIVER);
    if (_i)
        (void)close(ends[0]);
    (void)close(ends[1]);
}
END_TEST

/* Where there is no session the lease stands. */
START_TEST(pause_without_a_session)
{
    watchdog_pause(&l, 0, -1);
    ck_assert_int_eq(looks(1, BEATS), LIFELINE_DRIVER);
}
END_TEST

START_TEST(keeper_has_died)
{
    l.keeper = getpid(); /* not our parent */
    ck_assert(!watchdog_has_keeper(&l));
    ck_assert_int_eq(watchdog_heartbeat(&l, begin_ns + period_ns), LIFELINE_KEEPER);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, begin, NULL);
    tcase_add_loop_test(tc, silence_of_a_lease, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, slept_itself);
    tcase_add_test(tc, counted_from_hearing);
    tcase_add_loop_test(tc, driver_pauses, 0, 2);
    tcase_add_test(tc, pause_without_a_session);
    tcase_add_test(tc, keeper_has_died);
}

SUITE_MAIN("lifeline", add_tests)
