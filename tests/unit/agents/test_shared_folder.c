/* SPDX-License-Identifier: Apache-2.0 */
/* test_shared_folder.c - tests of agents/node/shared_folder.h */
#include "agents/node/shared_folder.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

START_TEST(seen)
{
    cleanup_free char *above = file_join(scratch, "a"), *deep = file_join(scratch, "a/b");
    size_t first = 0, second = 0, far = strlen(deep);

    ck_assert(!shared_folder_is_seen(deep, "f00", 0, &far));
    ck_assert_int_eq(shared_folder_leave(deep, "f00", 0, &first, NULL), 0); /* makes the folder */
    ck_assert_int_eq(shared_folder_leave(deep, "f00", 12, &second, NULL), 0);
    ck_assert_uint_eq(first, strlen(scratch));
    ck_assert_uint_eq(second, strlen(deep));
    ck_assert(shared_folder_is_seen(deep, "f00", 12, &first) &&
              shared_folder_is_seen(deep, "f00", 0, &second));
    ck_assert(!shared_folder_is_seen(deep, "f00", 1, &far) &&
              !shared_folder_is_seen(deep, "f01", 0, &far));
    ck_assert_uint_eq(far, strlen(deep));
    shared_folder_remove(deep, "f00", 0, first);
    shared_folder_remove(deep, "f00", 0, first);
    ck_assert(!shared_folder_is_seen(deep, "f00", 0, &far) &&
              shared_folder_is_seen(deep, "f00", 12, &far));
    shared_folder_remove(deep, "f00", 12, second);
    ck_assert_int_eq(access(above, F_OK), -1); /* the last one goes with what the first has made */
    ck_assert_int_eq(shared_folder_leave(scratch, "f00", 0, &first, NULL), 0);
    shared_folder_remove(scratch, "f00", 0, first);
    ck_assert_int_eq(access(scratch, F_OK), 0); /* empty, but it was there */
}
END_TEST

/* Let a file in dir be so old. */
static void age(const char *dir, const char *file, int age_s)
{
    cleanup_free char *path = file_join(dir, "%s", file);
    struct timespec times[2] = { { .tv_nsec = UTIME_NOW }, { .tv_sec = time(NULL) - age_s } };

    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

/* What a node leaves does not outlive it: its file goes once all have seen it, and those of killed
 * nodes go with a later generation's.
 */
START_TEST(left)
{
    static const char *const stays[] = { ".f01-x", ".f01", ".f01-", ".xyz-1", "f00-1", ".f02-1" };
    cleanup_free char *deep = file_join(scratch, "a/b"), *own = file_join(deep, ".f02-0");
    cleanup_free char *dead = file_join(deep, ".f01-12");
    size_t kept, none;

    ck_assert_int_eq(shared_folder_leave(deep, "f01", 12, &kept, NULL), 0);
    age(deep, ".f01-12", 86400);
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) {
        cleanup_free char *path = file_join(deep, "%s", stays[i]);

        ck_assert_int_eq(file_write_atomic(path, "x", 1, 0600, NULL), 0);
        age(deep, stays[i], 86400);
    }
    ck_assert_int_eq(shared_folder_leave(deep, "f02", 0, &none, NULL), 0);
    ck_assert_int_eq(access(dead, F_OK), -1);
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) {
        cleanup_free char *path = file_join(deep, "%s", stays[i]);

        ck_assert_int_eq(access(path, F_OK), 0);
        ck_assert_int_eq(unlink(path), 0);
    }
    ck_assert_int_eq(access(own, F_OK), 0);
    shared_folder_take_back(deep, "f02", 0);
    ck_assert_int_eq(access(own, F_OK), -1);
    ck_assert_int_eq(access(deep, F_OK), 0);
    shared_folder_remove(deep, "f02", 0, kept);
    ck_assert_int_eq(access(deep, F_OK), -1); /* empty */
    ck_assert_int_eq(access(scratch, F_OK), 0);
}
END_TEST

/* Two jobs share the folder: neither removes what the other's nodes search for, nor what is no
 * node's file.
 */
START_TEST(of_other_jobs)
{
    cleanup_free char *link = file_join(scratch, ".f02-1");
    size_t kept = strlen(scratch);

    ck_assert_int_eq(shared_folder_leave(scratch, "f00", 0, &kept, NULL), 0);
    ck_assert_int_eq(shared_folder_leave(scratch, "f01", 0, &kept, NULL), 0);
    age(scratch, ".f01-0", 600); /* its node waits for a slow one */
    ck_assert_int_eq(symlink("nowhere", link), 0);
    age(scratch, ".f02-1", 86400);
    ck_assert_int_eq(shared_folder_leave(scratch, "f00", 1, &kept, NULL), 0);
    ck_assert(shared_folder_is_seen(scratch, "f00", 0, &kept));
    ck_assert(shared_folder_is_seen(scratch, "f01", 0, &kept));
    ck_assert_int_eq(unlink(link), 0);
}
END_TEST

START_TEST(not_writable)
{
    cleanup_free char *file = file_join(scratch, "file"), *below = file_join(file, "x");
    struct eddis_error err = { 0 };
    size_t kept;

    ck_assert_int_eq(file_write_atomic(file, "", 0, 0600, NULL), 0);
    ck_assert_int_lt(shared_folder_leave(below, "f00", 0, &kept, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "checkpoint.dir"));
    ck_assert_int_lt(shared_folder_leave("/proc/self", "f00", 0, &kept, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "checkpoint.dir '/proc/self'"));
}
END_TEST

/* A write that is cut short sets no errno: the reason is what stops the rest. */
START_TEST(full_disk)
{
    struct eddis_error err = { 0 };
    size_t kept;
    int rc;

    (void)signal(SIGXFSZ, SIG_IGN);
    scratch_limit_files(100);
    errno = ENOTDIR;
    rc = shared_folder_leave(scratch, "f00", 0, &kept, &err);
    scratch_limit_files(RLIM_INFINITY); /* Check writes files, too */
    ck_assert_int_eq(rc, -EFBIG);
    ck_assert_ptr_nonnull(strstr(err.text, "File too large"));
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, seen);
    tcase_add_test(tc, left);
    tcase_add_test(tc, of_other_jobs);
    tcase_add_test(tc, not_writable);
    tcase_add_test(tc, full_disk);
}

SUITE_MAIN("shared_folder", add_tests)
