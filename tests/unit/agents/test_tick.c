/* SPDX-License-Identifier: Apache-2.0 */
/* test_tick.c - tests of agents/node/keep/tick.h */
#include "agents/node/keep/tick.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PERIOD = 100 };

static struct tick_page *make(struct tick_page **other)
{
    struct tick_page *p;
    int fd;

    ck_assert_int_eq(tick_create(&p, &fd, NULL), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(tick_map(fd, other, NULL), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
    return p;
}

START_TEST(silence)
{
    struct tick_page *agent, *keeper = make(&agent);
    struct tick_watch w = { 0 };

    ck_assert_int_eq(tick_silence_ns(keeper, TICK_AGENT, &w, 1000, PERIOD), 0);
    ck_assert_int_eq(tick_silence_ns(keeper, TICK_AGENT, &w, 1100, PERIOD), 100);
    ck_assert_int_eq(tick_silence_ns(keeper, TICK_AGENT, &w, 1250, PERIOD), 250);
    tick_beat(keeper, TICK_KEEPER); /* one's own beat says nothing about the other */
    ck_assert_int_eq(tick_silence_ns(keeper, TICK_AGENT, &w, 1300, PERIOD), 300);
    tick_beat(agent, TICK_AGENT);
    ck_assert_int_eq(tick_silence_ns(keeper, TICK_AGENT, &w, 1400, PERIOD), 0);
}
END_TEST

/* The watcher itself was stopped for an hour: that is no silence of the other side. */
START_TEST(watcher_slept)
{
    struct tick_page *agent, *keeper = make(&agent);
    struct tick_watch w = { 0 };

    ck_assert_int_eq(tick_silence_ns(keeper, TICK_AGENT, &w, 1000, PERIOD), 0);
    ck_assert_int_eq(tick_silence_ns(keeper, TICK_AGENT, &w, 3600 * CLOCK_S, PERIOD), 200);
}
END_TEST

START_TEST(folders)
{
    struct tick_page *agent, *keeper = make(&agent);
    char far[TICK_PATH + 1];

    memset(far, 'x', sizeof far - 1);
    far[sizeof far - 1] = '\0';
    ck_assert_int_eq(tick_add_folder(agent, far, NULL), -ENOSPC);
    ck_assert_int_eq(tick_add_folder(agent, "/tmp/first", NULL), 0);
    ck_assert_int_eq(tick_add_folder(agent, "/tmp/second", NULL), 0);
    ck_assert_int_eq(tick_add_folder(agent, "/tmp/third", NULL), -ENOSPC);
    ck_assert_str_eq(tick_folder(keeper, 0), "/tmp/first");
    ck_assert_str_eq(tick_folder(keeper, 1), "/tmp/second");
    ck_assert_ptr_null(tick_folder(keeper, 2));
}
END_TEST

START_TEST(foreign)
{
    struct tick_page *p;
    int fd = memfd_create("foreign", 0);

    ck_assert_int_eq(tick_map(-1, &p, NULL), -EINVAL);
    ck_assert_int_eq(tick_map(fd, &p, NULL), -EINVAL);
    ck_assert_int_eq(ftruncate(fd, 1 << 20), 0);
    ck_assert_int_eq(tick_map(fd, &p, NULL), -EINVAL);
    (void)close(fd);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, silence);
    tcase_add_test(tc, watcher_slept);
    tcase_add_test(tc, folders);
    tcase_add_test(tc, foreign);
}

SUITE_MAIN("tick", add_tests)
