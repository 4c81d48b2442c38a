/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_files.c - tests of agents/protocol/log_files.h and of what log_answer.h reads by it */
#include "agents/protocol/log_answer.h"
#include "agents/protocol/log_files.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FULL LOG_FILES_FULL "the last output is elsewhere]\n"

static void add(const char *name, const char *text)
{
    cleanup_free char *path = file_join(scratch, "%s", name);

    ck_assert_int_eq(file_append(path, text, strlen(text), 0600, NULL), 0);
}

static void put_aside(void)
{
    cleanup_free char *tail = file_join(scratch, "rank-0003.tail.log");
    cleanup_free char *older = file_join(scratch, "rank-0003.tail-1.log");

    ck_assert_int_eq(rename(tail, older), 0);
}

/* Check that the log from this offset on is the text, and return where it ends. */
static int64_t reads(int64_t offset, const char *text)
{
    struct log_answer a = { .rank = 3, .offset = offset };
    struct eddis_error err = { 0 };

    ck_assert_msg(log_answer_read(scratch, &a, &err) == 0, "%s", err.text);
    ck_assert_str_eq(a.text, text);
    ck_assert_int_eq(a.end, a.offset + (int64_t)strlen(text));
    free(a.text);
    return a.end;
}

START_TEST(head_alone)
{
    struct log_answer a = { .rank = 3 };
    cleanup_free char *path = file_join(scratch, "rank-0003.log");

    ck_assert_int_eq(log_answer_read(scratch, &a, NULL), -ENOENT);
    ck_assert_ptr_null(a.text);
    add("rank-0003.log", "one\ntwo\n");
    ck_assert_int_eq(reads(-100, "one\ntwo\n"), 8);
    ck_assert_int_eq(reads(-4, "two\n"), 8);
    ck_assert_int_eq(reads(4, "two\n"), 8);
    ck_assert_int_eq(reads(8, ""), 8);
    ck_assert_int_eq(reads(99, ""), 8);
    /* A link and a FIFO are no log. */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(log_answer_read(scratch, &a, NULL), -ELOOP);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(log_answer_read(scratch, &a, NULL), -EINVAL);
}
END_TEST

/* A reader goes from the head through the tails, whatever is pushed out and appended meanwhile. */
START_TEST(around)
{
    int64_t at;

    add("rank-0003.log", "head\n");
    at = reads(-100, "head\n");
    add("rank-0003.log", FULL);
    add("rank-0003.tail.log", "1111\n");
    at = reads(at, FULL "1111\n");
    put_aside();
    at = reads(at, "");
    add("rank-0003.tail.log", "22");
    at = reads(at, "22");
    add("rank-0003.tail.log", "22\n");
    put_aside();
    add("rank-0003.tail.log", "3");
    at = reads(at, "22\n3");
    add("rank-0003.tail.log", "333\n");
    at = reads(at, "333\n");
    put_aside();
    at = reads(at, "");
    add("rank-0003.tail.log", "4");
    at = reads(at, "4");
    /* The last line of eddis in the head, as at the rank's end, moves nothing. */
    add("rank-0003.log", "[eddis: 10 bytes in between were dropped]\n");
    ck_assert_int_eq(reads(at, ""), at);
    add("rank-0003.tail.log", "444\n");
    at = reads(at, "444\n");
    (void)reads(-9, "333\n4444\n");
    (void)reads(-1000, "head\n" FULL "3333\n4444\n");
}
END_TEST

/* The newest bytes are in the answer, and no more than it may hold. */
START_TEST(newest)
{
    cleanup_free char *text = malloc(LOG_ANSWER_MOST + 1);
    struct log_answer a = { .rank = 3, .offset = -LOG_ANSWER_MOST };

    memset(text, 'h', LOG_ANSWER_MOST);
    text[LOG_ANSWER_MOST] = '\0';
    add("rank-0003.log", text);
    memset(text, 'o', LOG_ANSWER_MOST);
    add("rank-0003.tail-1.log", text);
    add("rank-0003.tail.log", "end\n");
    ck_assert_int_eq(log_answer_read(scratch, &a, NULL), 0);
    ck_assert_uint_eq(strlen(a.text), LOG_ANSWER_MOST);
    ck_assert_uint_eq(strspn(a.text, "o"), LOG_ANSWER_MOST - 4);
    ck_assert_str_eq(a.text + LOG_ANSWER_MOST - 4, "end\n");
    ck_assert_int_eq(a.end, 2 * (int64_t)LOG_ANSWER_MOST + 4);
    free(a.text);
    a.offset = 1;
    ck_assert_int_eq(log_answer_read(scratch, &a, NULL), 0);
    ck_assert_int_eq(a.end, 1 + LOG_ANSWER_MOST);
    free(a.text);
}
END_TEST

/* All of the head counts for who wants the whole log. */
START_TEST(whole)
{
    char *path[LOG_FILES], text[200] = "";
    struct log_files f = LOG_FILES_NONE;

    add("rank-0003.log", "head\n" FULL "[eddis: dropped]\n");
    add("rank-0003.tail.log", "tail\n");
    ck_assert_int_eq(log_files_paths(scratch, 3, path), 0);
    ck_assert_int_eq(log_files_open(path, true, &f, NULL), 0);
    ck_assert_int_eq(log_files_read(&f, 0, text, sizeof text - 1), f.end);
    ck_assert_str_eq(text, "head\n" FULL "[eddis: dropped]\ntail\n");
    log_files_close(&f);
    log_files_close(&f);
    log_files_free_paths(path);
    log_files_free_paths(path);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, head_alone);
    tcase_add_test(tc, around);
    tcase_add_test(tc, newest);
    tcase_add_test(tc, whole);
}

SUITE_MAIN("log_files", add_tests)
