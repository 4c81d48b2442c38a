/* SPDX-License-Identifier: Apache-2.0 */
/* test_core_watch.c - tests of agents/node/core_watch.h */
#include "agents/node/core_watch.h"

#include "suite.h"

#include "lib/base/clock.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_S = 120, PATH = 512 };

static struct core_watch *watch;

static void set_up(void)
{
    ck_assert_int_eq(core_watch_open(2, &watch, NULL), 0);
}

static void tear_down(void)
{
    core_watch_close(watch);
}

/* A process on the first core that this one may use: busy, or asleep. */
static pid_t start(bool busy)
{
    pid_t pid = fork();
    cpu_set_t all, one;

    ck_assert_int_ge(pid, 0);
    if (pid)
        return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) == 0)
        for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
            if (CPU_ISSET(i, &all))
                CPU_SET(i, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    while (busy)
        ;
    for (;;)
        (void)pause();
}

static void end(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static double lost(enum core_loss_kind kind)
{
    return core_watch_loss(watch, 0).part[kind];
}

/* Until more than that is lost; NAN: until it is not known. */
static void await_loss(enum core_loss_kind kind, double least)
{
    int64_t until_ns = clock_after_ns(clock_now_ns(), PATIENCE_S * CLOCK_S);

    while (isnan(least) ? !isnan(lost(kind)) : !(lost(kind) > least)) {
        ck_assert_msg(clock_now_ns() < until_ns, "%d: %g of it are lost", (int)kind, lost(kind));
        core_watch_take(watch, clock_now_ns());
        clock_sleep_until_ns(clock_after_ns(clock_now_ns(), 20 * CLOCK_MS));
    }
}

START_TEST(others_on_its_core)
{
    pid_t rank = start(false), other = start(true);

    core_watch_set(watch, 0, rank, rank);
    await_loss(CORE_LOSS_OTHERS, 0.1);
    ck_assert_double_ge(lost(CORE_LOSS_STOLEN), 0);
    ck_assert(isnan(core_watch_loss(watch, 1).part[CORE_LOSS_OTHERS])); /* it is not there */
    end(other);
    end(rank);
}
END_TEST

START_TEST(between_readings)
{
    int64_t now_ns = clock_now_ns();
    pid_t rank = start(true);

    core_watch_set(watch, 0, rank, rank);
    core_watch_take(watch, now_ns);
    core_watch_take(watch, now_ns); /* too early */
    ck_assert(isnan(lost(CORE_LOSS_OTHERS)));
    await_loss(CORE_LOSS_OTHERS, -1);
    ck_assert_double_le(lost(CORE_LOSS_OTHERS), 1);
    end(rank);
    await_loss(CORE_LOSS_OTHERS, NAN);
}
END_TEST

static bool put(const char *group, const char *name, const char *text)
{
    char path[2 * PATH];
    FILE *f;
    bool ok;

    (void)snprintf(path, sizeof path, "%s/%s", group, name);
    f = fopen(path, "we");
    ok = f && fputs(text, f) >= 0;
    return f && fclose(f) == 0 && ok;
}

/* Make a group below this process's own that may use a tenth of a core. */
static bool make_group(char *ret, size_t size)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool made = false;
    char line[PATH];

    while (f && !made && fgets(line, sizeof line, f)) {
        bool old = strstr(line, ":cpu:") != NULL;
        char *own = strrchr(line, ':') + 1;

        if (!old && strncmp(line, "0::", 3) != 0)
            continue;
        own[strcspn(own, "\n")] = '\0';
        (void)snprintf(ret, size, "/sys/fs/cgroup%s%s/eddis-test-%d", old ? "/cpu" : "", own,
                       (int)getpid());
        if (mkdir(ret, 0700) < 0)
            continue;
        made = old ? put(ret, "cpu.cfs_period_us", "20000") && put(ret, "cpu.cfs_quota_us", "2000")
                   : put(ret, "cpu.max", "2000 20000");
        if (!made)
            (void)rmdir(ret);
    }
    if (f)
        (void)fclose(f);
    return made;
}

START_TEST(quota_of_its_group)
{
    char group[PATH + 64], number[16];
    pid_t rank = start(true);

    (void)snprintf(number, sizeof number, "%d", (int)rank);
    if (!make_group(group, sizeof group)) {
        puts("skipped: no control group of processor time can be made here");
        end(rank);
        return;
    }
    core_watch_set(watch, 0, rank, rank);
    await_loss(CORE_LOSS_OTHERS, -1);
    if (put(group, "cgroup.procs", number))
        await_loss(CORE_LOSS_THROTTLED, 0.1);
    else
        puts("skipped: no process can be moved to a control group here");
    end(rank);
    ck_assert_int_eq(rmdir(group), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, others_on_its_core);
    tcase_add_test(tc, between_readings);
    tcase_add_test(tc, quota_of_its_group);
}

SUITE_MAIN("core_watch", add_tests)
