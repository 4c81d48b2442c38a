/* SPDX-License-Identifier: Apache-2.0 */
/* test_quiet_watch.c - tests of agents/node/watch/quiet_watch.h */
#include "agents/node/watch/quiet_watch.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int64_t limit = 10 * CLOCK_S;

/* A look a second, of this many clock ticks each. */
static int polled(struct quiet_watch *q, int64_t *now_ns, int n, int64_t ticks)
{
    int news = 0;

    for (int i = 0; i < n; i++) {
        *now_ns += CLOCK_S;
        news += quiet_watch_take(q, q->used + ticks, limit, *now_ns);
    }
    return news;
}

START_TEST(quiet)
{
    struct quiet_watch q = { 0 };
    int64_t now_ns = CLOCK_S;

    ck_assert_int_eq(polled(&q, &now_ns, 1, 500), 0); /* what it had used before is no news */
    ck_assert_int_eq(polled(&q, &now_ns, 9, 0), 0);
    ck_assert_int_eq(polled(&q, &now_ns, 1, 0), 1);
    ck_assert_int_eq(now_ns - q.since_ns, limit);
    ck_assert_int_eq(polled(&q, &now_ns, 30, 0), 0); /* told once */
    ck_assert_int_eq(polled(&q, &now_ns, 1, 50), -1);
    ck_assert_int_eq(polled(&q, &now_ns, 10, 0), 1);
    quiet_watch_heard(&q, now_ns + CLOCK_S); /* it prints */
    ck_assert_int_eq(polled(&q, &now_ns, 1, 0), -1);
}
END_TEST

/* A thread that wakes now and then is no work; a process that ends is. */
START_TEST(little)
{
    struct quiet_watch q = { 0 };
    int64_t now_ns = CLOCK_S;

    ck_assert_int_eq(polled(&q, &now_ns, 11, 1), 1);
    ck_assert_int_eq(polled(&q, &now_ns, 1, -1), -1);
    ck_assert_int_eq(polled(&q, &now_ns, 100, 5), 0); /* 5 % of a processor */
}
END_TEST

/* Whether the kernel tells where this process waits, once it does. */
static bool kernel_tells(pid_t pid)
{
    char path[64], c = '0';
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%d/wchan", (int)pid);
    f = fopen(path, "r");
    if (f) {
        (void)!fread(&c, 1, 1, f);
        (void)fclose(f);
    }
    return c != '0';
}

START_TEST(processes)
{
    struct quiet_watch q = { 0 };
    char where[48];
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            pause();
    ck_assert_int_gt(pid, 0);
    for (int i = 0; i < 11; i++)
        ck_assert_int_eq(quiet_watch_look(&q, getpid(), limit, (1 + i) * CLOCK_S), i == 10);
    ck_assert_int_eq(quiet_watch_look(&q, getpid(), limit, 11 * CLOCK_S + 1), 0); /* too soon */
    for (int i = 0; i < 1000 && !kernel_tells(pid); i++)
        (void)usleep(1000);
    quiet_watch_where(pid, where, sizeof where);
    if (kernel_tells(pid))
        ck_assert_str_ne(where, "");
    else
        puts("SKIP processes: this kernel does not tell what a process waits in");
    quiet_watch_where(0x7ffffff, where, sizeof where);
    ck_assert_str_eq(where, "");
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, quiet);
    tcase_add_test(tc, little);
    tcase_add_test(tc, processes);
}

SUITE_MAIN("quiet_watch", add_tests)
