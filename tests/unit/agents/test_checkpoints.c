/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoints.c - tests of agents/job/checkpoints.h */
#include "agents/job/checkpoints.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "tests/unit/scratch.h"
#include "tests/unit/suite.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    bool stays;
} rows[] = {
    { "step-00000010", true },
    { "step-00000020", true },
    { "step-00000060", true }, /* not a checkpoint: it has no manifest */
    { "step-00000030.g1.part", false },
    { "step-00000040.g12.part", false },
    { "step-00000040.g20.part", false },
    { "step-00000050.g21.part", true }, /* of a newer start */
    { ".dead-part-0123456789abcdef-0", false },
    { ".dead-part-step-00000030.g1.part", false }, /* of a removal that was held up */
    { "mine.part", true },
    { "step-notes", true },
    { ".part", true },
};

static char *folder_of(int i)
{
    return file_join(scratch, "%s", rows[i].name);
}

enum { WHOLE = 2 }; /* the first rows */

static void complete(const char *folder)
{
    cleanup_free char *manifest = file_join(folder, "MANIFEST");

    ck_assert_int_eq(file_write_atomic(manifest, "", 0, 0600, NULL), 0);
}

START_TEST(parts_are_dropped)
{
    const int n = sizeof rows / sizeof *rows;
    cleanup_free char *file = file_join(scratch, "step-00000070");
    char newest[64];

    for (int i = 0; i < n; i++) {
        cleanup_free char *folder = folder_of(i), *inside = file_join(folder, "rank-0000.w");

        ck_assert_int_eq(file_mkdirs(folder, 0700, NULL), 0);
        ck_assert_int_eq(file_write_atomic(inside, "x", 1, 0600, NULL), 0);
        if (i < WHOLE)
            complete(folder);
    }
    ck_assert_int_eq(file_write_atomic(file, "x", 1, 0600, NULL), 0);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_eq(checkpoints_drop_parts(scratch, 20, NULL), 0);
        for (int i = 0; i < n; i++) {
            cleanup_free char *folder = folder_of(i);

            ck_assert_int_eq(access(folder, F_OK) == 0, rows[i].stays);
        }
    }
    ck_assert_int_eq(checkpoints_newest(scratch, newest, sizeof newest), 20);
    ck_assert_int_eq(checkpoints_newest_below(scratch, 20, newest, sizeof newest), 10);
    ck_assert_int_eq(file_remove_tree(scratch, NULL), 0);
    ck_assert_int_eq(checkpoints_drop_parts(scratch, 20, NULL), 0);
    ck_assert_int_eq(mkdir(scratch, 0700), 0);
}
END_TEST

START_TEST(resumed)
{
    cleanup_free char *one = file_join(scratch, "step-00000020");
    cleanup_free char *none = file_join(scratch, "step-00000030");
    char found[PATH_MAX];

    ck_assert_int_eq(file_mkdirs(one, 0700, NULL), 0);
    ck_assert_int_eq(checkpoints_resumed(scratch, found, sizeof found), -1);
    ck_assert_int_eq(checkpoints_resumed(one, found, sizeof found), -1);
    complete(one);
    ck_assert_int_eq(checkpoints_resumed(scratch, found, sizeof found), 20);
    ck_assert_str_eq(found, one);
    ck_assert_int_eq(checkpoints_resumed(one, found, sizeof found), 20);
    ck_assert_str_eq(found, one);
    ck_assert_int_eq(checkpoints_resumed(none, found, sizeof found), -1);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, parts_are_dropped);
    tcase_add_test(tc, resumed);
}

SUITE_MAIN("checkpoints", add_tests)
