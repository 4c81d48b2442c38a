/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/node/share.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "suite.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

START_TEST(seen)
{
    char dir[] = "/tmp/eddis-test-XXXXXX";
    cleanup_free char *deep = NULL;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    deep = file_join(dir, "a/b");
    ck_assert(!share_is_seen(deep, "f00", 0));
    ck_assert_int_eq(share_leave(deep, "f00", 0, NULL), 0); /* makes the folder */
    ck_assert_int_eq(share_leave(deep, "f00", 12, NULL), 0);
    ck_assert(share_is_seen(deep, "f00", 0) && share_is_seen(deep, "f00", 12));
    ck_assert(!share_is_seen(deep, "f00", 1) && !share_is_seen(deep, "f01", 0));
    share_remove(deep, "f00", 0);
    share_remove(deep, "f00", 0);
    ck_assert(!share_is_seen(deep, "f00", 0) && share_is_seen(deep, "f00", 12));
    share_remove(deep, "f00", 12);
    ck_assert_int_eq(access(deep, F_OK), -1); /* it was empty */
    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
}
END_TEST

START_TEST(not_writable)
{
    char dir[] = "/tmp/eddis-test-XXXXXX";
    cleanup_free char *file = NULL, *below = NULL;
    struct eddis_error err = { 0 };

    ck_assert_ptr_nonnull(mkdtemp(dir));
    file = file_join(dir, "file");
    below = file_join(dir, "file/x");
    ck_assert_int_eq(file_write_atomic(file, "", 0, 0600, NULL), 0);
    ck_assert_int_lt(share_leave(below, "f00", 0, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "checkpoint.dir"));
    ck_assert_int_lt(share_leave("/proc/self", "f00", 0, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "checkpoint.dir '/proc/self'"));
    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, seen);
    tcase_add_test(tc, not_writable);
}

SUITE_MAIN("share", add_tests)
