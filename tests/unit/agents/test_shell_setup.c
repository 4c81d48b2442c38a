/* SPDX-License-Identifier: Apache-2.0 */
/* test_shell_setup.c - tests of agents/node/shell_setup.h */
#include "agents/node/shell_setup.h"

#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "suite.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* The lines are over when the shell becomes the program, and what that is called is its own. */
START_TEST(lines_are_over)
{
    static char stop[] = "kill -STOP $$", word[] = "sleep", time[] = "1000";
    char *const lines[] = { stop, NULL }, *const command[] = { word, time, NULL };
    int64_t end_ns = clock_after_ns(clock_now_ns(), 60 * CLOCK_S);
    struct strlist argv = { 0 };
    pid_t pid;

    ck_assert_int_eq(setup_argv(lines, command, "/bin/sh", &argv, NULL), 0);
    pid = fork();
    if (pid == 0) {
        (void)execv(argv.item[0], argv.item);
        _exit(127);
    }
    while (proctree_state(pid) != 'T' && clock_now_ns() < end_ns)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    ck_assert(setup_runs(pid));
    (void)kill(pid, SIGCONT);
    while (setup_runs(pid) && clock_now_ns() < end_ns)
        clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    ck_assert(!setup_runs(pid));
    ck_assert_int_ne(proctree_state(pid), 'Z');
    (void)kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert(!setup_runs(pid));
    strlist_fini(&argv);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, lines_are_over);
}

SUITE_MAIN("setup", add_tests)
