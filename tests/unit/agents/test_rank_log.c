/* SPDX-License-Identifier: Apache-2.0 */
/* test_rank_log.c - tests of agents/node/output/rank_log.h */
#include "agents/node/output/rank_log.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct rank_log *open_log(int64_t generation, int64_t max)
{
    struct rank_log *l;

    ck_assert_int_eq(rank_log_open(scratch, 3, generation, max, &l, NULL), 0);
    return l;
}

/* Check the last lines, of a log of 20 with 400 bytes each. */
static void expect_lines(struct rank_log *l, bool this_start, const char *want)
{
    char lines[8192];

    rank_log_last_lines(l, this_start, 20, 400, lines, sizeof lines);
    ck_assert_str_eq(lines, want);
}

START_TEST(short_output)
{
    struct rank_log *l = open_log(1, 1 << 20);
    char lines[8192];

    rank_log_write(l, "one\ntw", 6);
    rank_log_write(l, "o\nthree", 7);
    rank_log_last_lines(l, false, 2, 400, lines, sizeof lines);
    ck_assert_str_eq(lines, "two\nthree\n");
    rank_log_last_lines(l, false, 20, 2, lines, sizeof lines);
    ck_assert_str_eq(lines, "on\ntw\nth\n");
    rank_log_close(l);
    l = open_log(2, 1 << 20);
    rank_log_write(l, "more\n", 5);
    rank_log_close(l);
    scratch_expect("rank-0003.log", "one\ntwo\nthree[eddis: start 2]\nmore\n");
    ck_assert_ptr_null(scratch_content("rank-0003.tail.log"));
}
END_TEST

/* For any sizes of writes: the beginning and the end are there, and the counts add up. */
START_TEST(long_output)
{
    enum { TOTAL = 300000, MAX = 40000 };
    uint64_t seed = (uint64_t)_i;
    cleanup_free char *all = malloc(TOTAL);
    cleanup_free char *head = NULL, *tail = NULL, *old = NULL;
    struct rank_log *l = open_log(1, MAX);
    size_t kept, n = 0;
    int64_t dropped;
    char *mark;

    for (size_t i = 0; i < TOTAL; i++)
        all[i] = i % 50 == 49 ? '\n' : (char)('a' + random_below(&seed, 26));
    while (n < TOTAL) {
        size_t some = 1 + random_below(&seed, _i % 2 ? 100 : 100000);

        some = some < TOTAL - n ? some : TOTAL - n;
        rank_log_write(l, all + n, some);
        n += some;
    }
    dropped = rank_log_dropped(l);
    rank_log_close(l);
    head = scratch_content("rank-0003.log");
    tail = scratch_content("rank-0003.tail.log");
    old = scratch_content("rank-0003.tail-1.log");
    mark = strstr(head, "\n[eddis: this file is full");
    ck_assert_ptr_nonnull(mark);
    ck_assert_ptr_nonnull(strstr(mark, "bytes in between were dropped"));
    ck_assert_int_eq(mark - head, MAX / 2);
    ck_assert_int_eq(memcmp(head, all, MAX / 2), 0);
    kept = strlen(tail) + strlen(old);
    ck_assert_int_eq(memcmp(tail, all + TOTAL - strlen(tail), strlen(tail)), 0);
    ck_assert_int_eq(memcmp(old, all + TOTAL - kept, strlen(old)), 0);
    ck_assert_int_eq(MAX / 2 + (int64_t)kept + dropped, TOTAL);
}
END_TEST

/* The next generation goes on in the same files: what it pushes out is counted too. */
START_TEST(full_before)
{
    enum { MAX = 400 };
    char all[1000];
    cleanup_free char *tail = NULL, *old = NULL;
    int64_t dropped = 0;
    size_t kept;

    memset(all, 'x', sizeof all);
    for (int generation = 1; generation <= 2; generation++) {
        struct rank_log *l = open_log(generation, MAX);

        rank_log_write(l, all, sizeof all);
        dropped += rank_log_dropped(l);
        rank_log_close(l);
    }
    tail = scratch_content("rank-0003.tail.log");
    old = scratch_content("rank-0003.tail-1.log");
    kept = MAX / 2 + strlen(tail) + strlen(old);
    ck_assert_int_eq((int64_t)kept + dropped, 2 * sizeof all + strlen("[eddis: start 2]\n"));
}
END_TEST

/* A tail that cannot be put aside ends the log, not the rank; the log says so at its end. */
START_TEST(no_way_on)
{
    cleanup_free char *path = file_join(scratch, "rank-0003.tail-1.log"), *tail = NULL;
    char all[1000];
    struct rank_log *l = open_log(1, 400);

    memset(all, 'x', sizeof all);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    (void)alarm(20);
    rank_log_write(l, all, sizeof all);
    rank_log_write(l, "more\n", 5);
    (void)alarm(0);
    ck_assert_int_eq(rank_log_dropped(l), 1000 - 200 - 100 + 5);
    ck_assert_int_eq(rank_log_error(l), -EISDIR);
    rank_log_close(l);
    tail = scratch_content("rank-0003.tail.log");
    ck_assert_str_eq(tail + 100,
                     "\n[eddis: 705 bytes could not be written here: Is a directory]\n");
}
END_TEST

/* A tail that cannot be put aside for a while: the log goes on at the next write, and says once how
 * much is missing.
 */
START_TEST(way_on_again)
{
    cleanup_free char *path = file_join(scratch, "rank-0003.tail-1.log");
    cleanup_free char *tail = NULL, *old = NULL;
    char all[400];
    struct rank_log *l = open_log(1, 400);

    memset(all, 'x', sizeof all);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    rank_log_write(l, all, 310);
    rank_log_write(l, all, 5);
    ck_assert_int_eq(rmdir(path), 0);
    rank_log_write(l, "back\n", 5);
    rank_log_write(l, "more\n", 5);
    ck_assert_int_eq(rank_log_dropped(l), 15);
    ck_assert_int_eq(rank_log_error(l), -EISDIR);
    rank_log_close(l);
    tail = scratch_content("rank-0003.tail.log");
    old = scratch_content("rank-0003.tail-1.log");
    ck_assert_str_eq(tail,
                     "\n[eddis: 15 bytes could not be written here: Is a directory]\nback\nmore\n");
    ck_assert_uint_eq(strspn(old, "x"), 100);
    ck_assert_uint_eq(strlen(old), 100);
}
END_TEST

/* A user removes the tail to free space: the log goes on, and what is gone is counted. */
START_TEST(removed)
{
    cleanup_free char *path = file_join(scratch, "rank-0003.tail.log"), *tail = NULL;
    char all[400];
    struct rank_log *l = open_log(1, 400);

    memset(all, 'x', sizeof all);
    rank_log_write(l, all, 250);
    ck_assert_int_eq(unlink(path), 0);
    rank_log_write(l, all, 60);
    ck_assert_int_eq(rank_log_dropped(l), 100);
    ck_assert_int_eq(rank_log_error(l), 0);
    rank_log_close(l);
    tail = scratch_content("rank-0003.tail.log");
    ck_assert_uint_eq(strlen(tail), 10);
}
END_TEST

START_TEST(tiny_limit)
{
    struct rank_log *l = open_log(1, 1);

    rank_log_write(l, "hello\n", 6);
    expect_lines(l, false, "hello\n");
    rank_log_close(l);
}
END_TEST

static const struct {
    const char *data;
    size_t n;
    const char *lines;
} line_rows[] = {
    { "", 0, "" },
    { "\n\n\n", 3, "" },
    { "a\n\nb\n", 5, "a\nb\n" },
    { "10%\r20%\r30%", 11, "30%\n" },
    { "\r10%\r20%\r\nend\r\n", 15, "20%\nend\n" },
    { "a\n10%\r\r20%\rb\r", 13, "a\nb\n" },
    { "\033[31mred\033[0m\n", 13, "red\n" },
    { "a\0b\n", 4, "a?b\n" },
    { "tab\there\n", 9, "tab\there\n" },
};

START_TEST(last_lines)
{
    struct rank_log *l = open_log(1, 1 << 20);

    rank_log_write(l, line_rows[_i].data, line_rows[_i].n);
    expect_lines(l, false, line_rows[_i].lines);
    rank_log_close(l);
}
END_TEST

/* A program that has said nothing has no last lines in a later generation, either. */
START_TEST(silent_again)
{
    struct rank_log *l = open_log(1, 1 << 20);

    rank_log_write(l, "one\n", 4);
    rank_log_close(l);
    l = open_log(2, 1 << 20);
    expect_lines(l, true, "");
    rank_log_write(l, "two\n", 4);
    expect_lines(l, true, "two\n");
    rank_log_close(l);
}
END_TEST

/* What stands before a long progress bar is not pushed out by it, wherever its bytes are cut. */
START_TEST(progress_bar)
{
    struct rank_log *l = open_log(1, 1 << 20);
    char state[16];

    rank_log_write(l, "loading\n", 8);
    for (int i = 0; i <= 10000; i++) {
        int n = snprintf(state, sizeof state, "%5d/10000\r", i);
        int cut = i % n;

        rank_log_write(l, state, (size_t)cut);
        rank_log_write(l, state + cut, (size_t)(n - cut));
    }
    rank_log_write(l, "\nbad luck\n", 10);
    expect_lines(l, false, "loading\n10000/10000\nbad luck\n");
    rank_log_close(l);
}
END_TEST

START_TEST(many_lines)
{
    struct rank_log *l = open_log(1, 1 << 20);
    cleanup_free char *long_line = malloc(100000);
    char lines[20 * 401 + 1];

    memset(long_line, 'x', 100000);
    rank_log_write(l, long_line, 100000); /* more than is kept */
    rank_log_last_lines(l, false, 20, 400, lines, sizeof lines);
    ck_assert_uint_eq(strlen(lines), 401);
    for (int i = 0; i < 100; i++) {
        long_line[500] = '\n';
        rank_log_write(l, long_line, 501);
    }
    rank_log_last_lines(l, false, 20, 400, lines, sizeof lines);
    ck_assert_uint_eq(strlen(lines), 20 * 401);
    rank_log_close(l);
}
END_TEST

START_TEST(no_folder)
{
    struct rank_log *l;
    struct eddis_error err = { 0 };

    ck_assert_int_eq(rank_log_open("/no/such/folder", 0, 1, 100, &l, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/no/such/folder/rank-0000.log"));
    rank_log_close(NULL);
}
END_TEST

/* A link that somebody put there is not followed. */
START_TEST(link_in_the_way)
{
    cleanup_free char *path = file_join(scratch, "rank-0003.log");
    cleanup_free char *target = file_join(scratch, "target");
    struct rank_log *l;

    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_int_eq(rank_log_open(scratch, 3, 1, 100, &l, NULL), -ELOOP);
    ck_assert_int_eq(access(target, F_OK), -1);
}
END_TEST

/* A disk that is full for a while, or for good, as a limit emulates it: the file says so. */
START_TEST(no_room)
{
    static const char all[1000] = { [0 ... 999] = 'x' };
    cleanup_free char *path = file_join(scratch, "rank-0007.log"), *text = NULL;
    struct rank_log *l;
    const char *mark;

    (void)signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(rank_log_open(scratch, 7, 1, 1 << 20, &l, NULL), 0);
    scratch_limit_files(1500);
    rank_log_write(l, all, sizeof all);
    rank_log_write(l, all, sizeof all);
    rank_log_write(l, all, sizeof all);
    ck_assert_int_eq(rank_log_error(l), -EFBIG);
    ck_assert_int_eq(rank_log_dropped(l), 1500);
    scratch_limit_files(RLIM_INFINITY);
    rank_log_write(l, "back\n", 5);
    scratch_limit_files(2200);
    rank_log_write(l, all, sizeof all);
    rank_log_close(l);
    scratch_limit_files(RLIM_INFINITY);
    ck_assert_int_eq(file_read(path, 1 << 20, &text, NULL, NULL), 0);
    mark = strstr(text, "\n[eddis: 1500 bytes could not be written here: File too large]\nback\n");
    ck_assert_ptr_nonnull(mark);
    ck_assert_int_eq(mark - text, 1500);
    ck_assert_uint_eq(strlen(text), 2200);
    ck_assert_str_eq(strrchr(text, ':'), ": File too large]\n");
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, short_output);
    tcase_add_loop_test(tc, long_output, 0, 8);
    tcase_add_test(tc, full_before);
    tcase_add_test(tc, no_room);
    tcase_add_test(tc, no_way_on);
    tcase_add_test(tc, way_on_again);
    tcase_add_test(tc, removed);
    tcase_add_test(tc, tiny_limit);
    tcase_add_loop_test(tc, last_lines, 0, sizeof line_rows / sizeof *line_rows);
    tcase_add_test(tc, silent_again);
    tcase_add_test(tc, progress_bar);
    tcase_add_test(tc, many_lines);
    tcase_add_test(tc, no_folder);
    tcase_add_test(tc, link_in_the_way);
}

SUITE_MAIN("rank_log", add_tests)
