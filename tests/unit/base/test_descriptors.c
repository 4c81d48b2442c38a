/* SPDX-License-Identifier: Apache-2.0 */
/* test_descriptors.c - tests of lib/base/descriptors.h */
#include "lib/base/descriptors.h"

#include "suite.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THEIRS = 40, OURS = 41, HIGH = 200 };

/* THEIRS and HIGH are as a caller leaves them, OURS as we open them. */
static void set_up(void)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_uint_gt(limit.rlim_max, HIGH);
    limit.rlim_cur = HIGH + 1;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_int_eq(dup2(0, THEIRS), THEIRS);
    ck_assert_int_eq(dup2(0, HIGH), HIGH);
    ck_assert_int_eq(dup3(0, OURS, O_CLOEXEC), OURS);
    limit.rlim_cur = HIGH; /* below one that is open */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(inherited_are_closed)
{
    descriptors_close_inherited();
    ck_assert(is_open(0) && is_open(1) && is_open(2));
    ck_assert(is_open(OURS));
    ck_assert(!is_open(THEIRS) && !is_open(HIGH));
}
END_TEST

START_TEST(none_passes_an_exec)
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        descriptors_end_at_exec();
        (void)execl("/bin/sh", "sh", "-c",
                    "cd /proc/$$/fd && test -e 0 && test -e 1 && test -e 2 && "
                    "test ! -e 40 && test ! -e 41 && test ! -e 200",
                    (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert(is_open(THEIRS));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, none_passes_an_exec);
    tcase_add_test(tc, inherited_are_closed);
}

SUITE_MAIN("descriptors", add_tests)
