/* SPDX-License-Identifier: Apache-2.0 */
/* test_oom.c - tests of agents/node/oom.h */
#include "agents/node/oom.h"

#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A watch of a counter that the test writes, and a program, which is dead or not. */
static struct fixture {
    struct oom_watch w;
    int64_t now_ns;
    pid_t pid;
} f;

static void count(int n)
{
    char text[64];

    (void)snprintf(text, sizeof text, "oom 7\noom_kill %d\n", n);
    ck_assert_int_eq(file_write_atomic(f.w.counter, text, strlen(text), 0600, NULL), 0);
}

static void begin(void)
{
    f = (struct fixture){ .now_ns = 1000 * CLOCK_S, .w.kmsg = -1, .pid = fork() };
    if (f.pid == 0) {
        (void)pause();
        _exit(0);
    }
    (void)snprintf(f.w.counter, sizeof f.w.counter, "%s/memory.events", scratch);
    count(3);
    f.w.count[0] = f.w.count[1] = 3;
    f.w.looked_ns = f.now_ns;
}

/* Look as the wrapper does, whenever it is due. */
static void wait_for(int64_t ns)
{
    int64_t end_ns = f.now_ns + ns;

    while (oom_next_ns(&f.w) <= end_ns) {
        f.now_ns = oom_next_ns(&f.w);
        oom_look(&f.w, f.pid, f.now_ns);
    }
    f.now_ns = end_ns;
}

static bool killed(int64_t *ret_ago_ns)
{
    return oom_killed(&f.w, f.pid, f.now_ns, ret_ago_ns);
}

static void end(void)
{
    (void)kill(f.pid, SIGKILL);
    (void)waitpid(f.pid, NULL, 0);
}

START_TEST(in_the_last_second)
{
    int64_t ago_ns;

    wait_for(10 * CLOCK_S);
    ck_assert(!killed(&ago_ns));
    ck_assert_int_eq(ago_ns, 0);
    count(4);
    ck_assert(killed(&ago_ns));
    wait_for(CLOCK_S / 2); /* it takes a moment to be reaped */
    ck_assert(killed(&ago_ns));
}
END_TEST

START_TEST(another_one_before)
{
    int64_t ago_ns;

    wait_for(5 * CLOCK_S);
    count(4);
    wait_for(20 * CLOCK_S);
    ck_assert(!killed(&ago_ns));
    ck_assert_int_ge(ago_ns, 19 * CLOCK_S);
    ck_assert_int_le(ago_ns, 20 * CLOCK_S);
    count(5); /* and then this one */
    ck_assert(killed(&ago_ns));
}
END_TEST

/* Of a large program the kernel frees the memory for a while before it can be reaped. */
START_TEST(long_end)
{
    int64_t ago_ns;
    siginfo_t dead;

    wait_for(5 * CLOCK_S);
    count(4);
    ck_assert_int_eq(kill(f.pid, SIGKILL), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)f.pid, &dead, WEXITED | WNOWAIT), 0);
    wait_for(60 * CLOCK_S);
    ck_assert(killed(&ago_ns));
}
END_TEST

START_TEST(no_counter)
{
    int64_t ago_ns;

    f.w.counter[0] = '\0';
    f.w.count[0] = f.w.count[1] = -1;
    ck_assert_int_eq(oom_next_ns(&f.w), CLOCK_NEVER);
    oom_look(&f.w, f.pid, f.now_ns);
    ck_assert(!killed(&ago_ns));
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, in_the_last_second);
    tcase_add_test(tc, another_one_before);
    tcase_add_test(tc, long_end);
    tcase_add_test(tc, no_counter);
}

SUITE_MAIN("oom", add_tests)
