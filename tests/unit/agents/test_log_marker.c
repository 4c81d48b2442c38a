/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_marker.c - tests of agents/job/log_marker.h */
#include "agents/job/log_marker.h"

#include "lib/base/left.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MINE   ".c0123456789abcdef0123456789abcde"
#define LIVING ".a0123456789abcdef0123456789abcde"
#define KILLED ".b0123456789abcdef0123456789abcde"

static bool is_there(const char *name)
{
    cleanup_free char *path = file_join(scratch, "%s", name);

    return access(path, F_OK) == 0;
}

static int make(const char *name)
{
    cleanup_free char *path = file_join(scratch, "%s", name);

    return log_marker_make(path, NULL);
}

static void age(const char *name, int age_s)
{
    cleanup_free char *path = file_join(scratch, "%s", name);
    struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = time(NULL) - age_s } };

    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* The next driver removes what a killed one has left, and nothing else. */
START_TEST(left)
{
    static const char *const stays[] = { ".c0123456789abcdef0123456789abcd", MINE "0",
                                         ".x0123456789abcdef0123456789abcde", "rank-0000.log" };
    cleanup_free char *living = file_join(scratch, LIVING);

    ck_assert_int_eq(make(KILLED), 0);
    ck_assert_int_eq(make(LIVING), 0);
    age(KILLED, LEFT_S + 60);
    age(LIVING, LEFT_S + 60);
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) {
        scratch_write(stays[i], "x", 0600);
        age(stays[i], 86400);
    }
    log_marker_touch(living);
    ck_assert_int_eq(make(MINE), 0);
    ck_assert(is_there(MINE) && is_there(LIVING) && !is_there(KILLED));
    ck_assert_int_eq(make(MINE), -EEXIST);
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
        ck_assert(is_there(stays[i]));
    log_marker_remove_all(scratch);
    ck_assert(!is_there(MINE) && !is_there(LIVING) && is_there(stays[0]) && is_there(stays[1]));
}
END_TEST

/* A driver that was stopped for hours finds its marker gone. */
START_TEST(stopped)
{
    cleanup_free char *path = file_join(scratch, MINE);
    struct stat st;

    log_marker_touch(path);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    log_marker_touch("/nowhere/" MINE);
    ck_assert_int_lt(log_marker_make("/nowhere/" MINE, NULL), 0);
    log_marker_remove_all("/nowhere");
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, left);
    tcase_add_test(tc, stopped);
}

SUITE_MAIN("log_marker", add_tests)
