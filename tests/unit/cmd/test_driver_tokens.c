/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_tokens.c - tests that no token of a driver stays on the stack of the programs that
 * ask it
 */
#include "cmd/run/end/run_stop.h"
#include "cmd/status/status_live.h"
#include "cmd/status/status_logs.h"

#include "agents/job/job_folder.h"
#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"
#include "tests/unit/stack_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct job_folder f;

/* Write driver.json for this process, which then is a driver that does not answer. */
static void be_driver(void)
{
    static const struct job_driver d = { .url = "http://127.0.0.1:9",
                                         .token = "first-secret",
                                         .owner = "second-secret" };

    ck_assert_int_eq(job_driver_write(&f, &d, NULL), 0);
}

static void set_up(void)
{
    setenv("XDG_STATE_HOME", scratch, 1);
    ck_assert_int_eq(job_folder_make("digits", NULL, &f, NULL), 0);
}

static int rc;

static void wiped(void (*fn)(void))
{
    ck_assert(!stack_scan_finds(fn, "first-secret"));
    ck_assert(!stack_scan_finds(fn, "second-secret"));
}

static void print_log(void)
{
    static const struct status_logs o = { .lines = 20 };

    rc = status_logs_print(&f, &o, NULL);
}

static void stop(void)
{
    static struct job_status s;

    rc = run_stop(&f, false, &s, NULL);
}

/* Begin a live view that SIGTERM ends at once, unless the driver is gone. */
static void view(void)
{
    static const struct status_live o = { .interval_ns = CLOCK_S };
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    (void)pthread_kill(pthread_self(), SIGTERM);
    rc = status_live_run(&f, &o, NULL);
}

START_TEST(logs)
{
    be_driver();
    wiped(print_log);
    ck_assert_int_lt(rc, 0);
}
END_TEST

START_TEST(stopping)
{
    be_driver();
    wiped(stop);
    ck_assert_int_lt(rc, 0);
}
END_TEST

START_TEST(live)
{
    int out, none = open("/dev/null", O_WRONLY | O_CLOEXEC), status;
    pid_t pid;

    be_driver();
    (void)fflush(stdout);
    out = dup(STDOUT_FILENO);
    ck_assert(out >= 0 && none >= 0 && dup2(none, STDOUT_FILENO) >= 0);
    wiped(view);
    ck_assert_int_eq(rc, 128 + SIGTERM);
    pid = fork();
    if (pid == 0) { /* a driver that is gone, but whose file is there */
        be_driver();
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    wiped(view);
    ck_assert_int_eq(rc, 0);
    wiped(print_log);
    ck_assert_int_ge(dup2(out, STDOUT_FILENO), 0);
    (void)close(out);
    (void)close(none);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, logs);
    tcase_add_test(tc, stopping);
    tcase_add_test(tc, live);
}

SUITE_MAIN("driver_tokens", add_tests)
