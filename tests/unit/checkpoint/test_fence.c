/* SPDX-License-Identifier: Apache-2.0 */
/* test_fence.c - tests of lib/checkpoint/fence.h */
#include "suite.h"

#include "lib/base/file.h"
#include "lib/checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], mark[96];
static struct eddis_error err;
static const struct checkpoint_meta meta = { 0, 42, 1437, 256, 2, 1 };

static void set_up(void)
{
    strcpy(dir, "/tmp/eddis-fence-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(mark, sizeof mark, "%s/.generation", dir);
}

static void tear_down(void)
{
    (void)chmod(dir, 0700);
    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
}

static bool is_there(const char *name)
{
    char path[256];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0;
}

START_TEST(one_writer_at_a_time)
{
    static const struct {
        const char *job, *next;
        int generation, next_generation;
        int rc;            /* of the next one's opening */
        const char *words; /* of the first one's check, or of the opening that fails */
    } rows[] = {
        { "a", "a", 1, 2, 0, "start 2 of the job has taken over" },
        { "a", "a", 7, 9, 0, "this process belongs to start 7" },
        { "a", "a", 2, 1, -ESTALE, "start 2 of the job has taken over" },
        { "a", "b", 3, 1, 0, "job b now writes checkpoints to" },
        { "a", "a", 1, 1, 0, "job a now writes checkpoints to" }, /* opened again */
        { "", "", 1, 1, 0, "another run now writes checkpoints to" },
        { "no name\n", "", 1, 1, 0, "another run now writes checkpoints to" },
    };
    struct fence first, next;

    ck_assert_int_eq(fence_open(dir, rows[_i].job, rows[_i].generation, &first, &err), 0);
    ck_assert_int_eq(fence_check(dir, &first, &err), 0);
    ck_assert_int_eq(fence_open(dir, rows[_i].next, rows[_i].next_generation, &next, &err),
                     rows[_i].rc);
    if (rows[_i].rc == 0) {
        ck_assert_int_eq(fence_check(dir, &next, &err), 0);
        ck_assert_int_eq(fence_check(dir, &first, &err), -ESTALE);
    }
    ck_assert_msg(strstr(err.text, rows[_i].words) != NULL, "%s", err.text);
}
END_TEST

/* Whatever a dead generation has begun, its successor takes away; later ones' it leaves alone. */
START_TEST(parts_of_others)
{
    struct checkpoint *mine, *stale;
    struct fence old, now;
    char text[300];

    ck_assert_int_eq(fence_open(dir, "a", 1, &old, &err), 0);
    ck_assert_int_eq(checkpoint_begin(dir, 500, &old, &stale, &err), 0);
    ck_assert_int_eq(checkpoint_put(stale, 0, "w", "old", 3, &err), 0);
    snprintf(text, sizeof text, "%s/.generation.123.part", dir);
    ck_assert_int_eq(file_write_atomic(text, "x", 1, 0600, NULL), 0);
    snprintf(text, sizeof text, "%s/.dead-part-0123-4", dir);
    ck_assert_int_eq(mkdir(text, 0700), 0);
    ck_assert_int_eq(fence_open(dir, "a", 2, &now, &err), 0);
    ck_assert(!is_there("step-00000500.g1.part") && !is_there(".generation.123.part") &&
              !is_there(".dead-part-0123-4"));
    ck_assert_int_eq(checkpoint_begin(dir, 500, &now, &mine, &err), 0);
    ck_assert_int_eq(checkpoint_put(mine, 0, "w", "new", 3, &err), 0);
    /* The old one goes on as if nothing had happened. */
    ck_assert_int_lt(checkpoint_put(stale, 1, "w", "old", 3, &err), 0);
    ck_assert_int_eq(checkpoint_commit_take(stale, &meta, 1, &err), -ESTALE);
    ck_assert_ptr_nonnull(strstr(err.text, "start 2"));
    ck_assert_int_eq(checkpoint_begin(dir, 600, &old, &stale, &err), -ESTALE);
    ck_assert_int_eq(fence_open(dir, "a", 1, &old, &err), -ESTALE);
    ck_assert(is_there("step-00000500.g2.part"));
    ck_assert_int_eq(checkpoint_commit_take(mine, &meta, 3, &err), 0);
    ck_assert(is_there("step-00000500") && !is_there("step-00000500.g2.part"));
}
END_TEST

/* An older generation that was frozen while it opened writes its mark over ours. */
START_TEST(overwritten_by_an_older_one)
{
    struct checkpoint *c;
    struct fence old, now;
    char *text;
    size_t n;

    ck_assert_int_eq(fence_open(dir, "a", 1, &old, &err), 0);
    ck_assert_int_eq(file_read(mark, 4096, &text, &n, &err), 0);
    ck_assert_int_eq(fence_open(dir, "a", 2, &now, &err), 0);
    ck_assert_int_eq(checkpoint_begin(dir, 500, &now, &c, &err), 0);
    ck_assert_int_eq(file_write_atomic(mark, text, n, 0600, &err), 0);
    ck_assert_int_eq(checkpoint_commit_take(c, &meta, 3, &err), 0);
    ck_assert_int_eq(fence_check(dir, &old, &err), -ESTALE);
    free(text);
}
END_TEST

START_TEST(hostile_marks)
{
    static const char big[5000] = { 'x' };
    static const struct {
        const char *text;
        size_t n;
    } rows[] = {
        { "", 0 },
        { "\0\0\0", 3 },
        { big, sizeof big },
        { "eddis generation 1\njob a\ngeneration 99999999999999\nowner 0\n", 59 },
        { "eddis generation 1\njob a\ngeneration -4\nowner 0123456789abcdef\n", 63 },
        { "eddis generation 1\njob \ngeneration 4\nowner 0123456789abcdef\n", 61 },
        { "eddis generation 2\n", 19 },
    };
    struct fence f;

    ck_assert_int_eq(file_write_atomic(mark, rows[_i].text, rows[_i].n, 0600, NULL), 0);
    ck_assert_msg(fence_open(dir, "a", 1, &f, &err) == 0, "%s", err.text);
    ck_assert_int_eq(fence_check(dir, &f, &err), 0);
    ck_assert_int_eq(file_write_atomic(mark, rows[_i].text, rows[_i].n, 0600, NULL), 0);
    ck_assert_int_eq(fence_check(dir, &f, &err), 0); /* and is ours again */
    ck_assert_int_eq(unlink(mark), 0);
    ck_assert_int_eq(mkdir(mark, 0700), 0);
    ck_assert_int_lt(fence_open(dir, "a", 1, &f, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, ".generation"));
}
END_TEST

START_TEST(removed_meanwhile)
{
    struct checkpoint *c;
    struct fence f;

    ck_assert_int_eq(fence_open(dir, "a", 1, &f, &err), 0);
    ck_assert_int_eq(checkpoint_begin(dir, 500, &f, &c, &err), 0);
    ck_assert_int_eq(file_remove_tree(dir, NULL), 0);
    ck_assert_int_eq(checkpoint_commit_take(c, &meta, 3, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "was removed"));
    ck_assert_int_eq(checkpoint_begin(dir, 500, &f, &c, &err), -ENOENT);
    ck_assert_int_eq(fence_open(dir, "a", 1, &f, &err), 0);
    ck_assert_int_eq(checkpoint_begin(dir, 500, &f, &c, &err), 0);
    ck_assert_int_eq(checkpoint_commit_take(c, &meta, 3, &err), 0);
}
END_TEST

START_TEST(not_a_folder)
{
    struct fence f;

    ck_assert_int_lt(fence_open("/dev/null/x", "a", 1, &f, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "/dev/null"));
    ck_assert_int_lt(fence_open("", "a", 1, &f, &err), 0);
    ck_assert_int_eq(fence_open("/proc/nothing", "a", 1, &f, &err), -ENOENT);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, one_writer_at_a_time, 0, 7);
    tcase_add_test(tc, parts_of_others);
    tcase_add_test(tc, overwritten_by_an_older_one);
    tcase_add_loop_test(tc, hostile_marks, 0, 7);
    tcase_add_test(tc, removed_meanwhile);
    tcase_add_test(tc, not_a_folder);
}

SUITE_MAIN("fence", add_tests)
