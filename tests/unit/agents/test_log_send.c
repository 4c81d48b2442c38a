/* SPDX-License-Identifier: Apache-2.0 */
/* test_log_send.c - tests of agents/node/output/log_send.h */
#include "agents/node/output/log_place.h"
#include "agents/node/output/log_send.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *put(const char *name, const char *text, size_t n)
{
    char *path = file_join(scratch, "%s", name);

    ck_assert_int_eq(file_write_atomic(path, text, n, 0600, NULL), 0);
    return path;
}

static void want(struct log_send *s, char *head, char *tail, int64_t offset)
{
    const struct log_request w = { .rank = 3,
                                   .order = 9,
                                   .generation = 2,
                                   .offset = offset,
                                   .paths = { head, tail },
                                   .remove = true };

    ck_assert_int_eq(log_send_add_take(s, &w, NULL), 0);
}

/* Take all pieces; each must follow the one before. */
static int64_t take_all(struct log_send *s, struct strbuf *b)
{
    struct log_chunk p;
    int64_t first = -1;

    while (log_send_next(s, &p)) {
        first = first < 0 ? p.offset : first;
        ck_assert_int_eq(p.offset, first + (int64_t)b->len);
        ck_assert_uint_le(strlen(p.text), LOG_SEND_PIECE);
        ck_assert_int_eq(p.order, 9);
        strbuf_add(b, p.text);
        free(p.text);
        log_send_arrived(s, false);
    }
    return first;
}

START_TEST(whole)
{
    struct log_send *s = log_send_new();
    struct strbuf b = { 0 };
    struct log_sent sent;
    char *head = put("head", "one\n\0two\n", 9), *tail = put("tail", "three\n", 6);
    cleanup_free char *h = strdup(head), *t = strdup(tail);

    ck_assert(!log_send_busy(s));
    want(s, head, tail, 0);
    ck_assert(log_send_busy(s));
    ck_assert(!log_send_done(s, &sent));
    ck_assert_int_eq(take_all(s, &b), 0);
    ck_assert_str_eq(b.text, "one\n?two\nthree\n");
    ck_assert(!log_send_busy(s));
    ck_assert(log_send_done(s, &sent));
    ck_assert(sent.end == 15 && sent.rank == 3 && sent.order == 9 && sent.generation == 2 &&
              !*sent.text);
    ck_assert(!log_send_done(s, &sent));
    log_send_arrived(s, false); /* the report that told so */
    log_send_close(s);
    ck_assert(access(h, F_OK) < 0 && access(t, F_OK) < 0);
    strbuf_fini(&b);
    log_send_close(NULL);
}
END_TEST

/* What did not arrive is kept. */
START_TEST(refused)
{
    struct log_send *s = log_send_new();
    struct log_chunk p;
    struct log_sent sent;
    char *head = put("head", "one\n", 4);
    cleanup_free char *h = strdup(head);

    want(s, head, NULL, 0);
    want(s, file_join(scratch, "none"), NULL, 0);
    ck_assert(log_send_next(s, &p));
    free(p.text);
    log_send_arrived(s, true);
    ck_assert(!log_send_next(s, &p));
    ck_assert(log_send_done(s, &sent) && *sent.text);
    ck_assert(log_send_done(s, &sent) && sent.end == -1);
    log_send_close(s);
    ck_assert_int_eq(access(h, F_OK), 0);
}
END_TEST

START_TEST(ends)
{
    static const struct {
        int64_t offset, first;
        const char *text;
    } rows[] = {
        { -4, 11, "ree\n" },   { -100, 0, "one\ntwo\n\nthree\n" },
        { 8, 8, "\nthree\n" }, { 15, -1, "" },
        { 999, -1, "" },       { -7, 8, "\nthree\n" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct log_send *s = log_send_new();
        struct strbuf b = { 0 };
        struct log_sent sent;

        want(s, put("head", "one\ntwo\n\n", 9), put("tail", "three\n", 6), rows[i].offset);
        ck_assert_int_eq(take_all(s, &b), rows[i].first);
        ck_assert_str_eq(strbuf_text(&b), rows[i].text);
        ck_assert(log_send_done(s, &sent));
        ck_assert_int_eq(sent.end, 15);
        log_send_close(s);
        strbuf_fini(&b);
    }
}
END_TEST

/* A rank that has pushed out bytes of its log: all is sent, with the last line of eddis in the
 * head; but to a reader this line does not count, so that its positions stay.
 */
START_TEST(pushed_out)
{
#define FULL_HEAD "one" LOG_FILES_FULL "see]\n"
#define LAST_LINE "[eddis: 4 bytes were dropped]\n"
    enum { FULL = sizeof FULL_HEAD - 1 };
    static const struct {
        int64_t offset, first;
        const char *text;
    } rows[] = {
        { 0, 0, FULL_HEAD LAST_LINE "444\n555\n" },
        { -5, FULL + 3, "\n555\n" },
        { FULL + 1, FULL + 1, "44\n555\n" },
        { FULL + 10, FULL + 6, "5\n" }, /* from before older bytes were pushed out */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct log_request w = {
            .order = 9,
            .offset = rows[i].offset,
            .paths = { put("head", FULL_HEAD LAST_LINE, strlen(FULL_HEAD LAST_LINE)),
                       put("older", "444\n", 4), put("tail", "555\n", 4) },
        };
        struct log_send *s = log_send_new();
        struct strbuf b = { 0 };

        ck_assert_int_eq(log_send_add_take(s, &w, NULL), 0);
        ck_assert_int_eq(take_all(s, &b), rows[i].first);
        ck_assert_str_eq(strbuf_text(&b), rows[i].text);
        log_send_close(s);
        strbuf_fini(&b);
    }
}
END_TEST

/* Beginning and end of a long one, cut between characters of UTF-8; it is kept. */
START_TEST(too_long)
{
    enum { LONG = LOG_SEND_MOST + (3 << 20) };
    struct log_send *s = log_send_new();
    struct strbuf b = { 0 };
    struct log_sent sent;
    char *text = malloc(LONG), *mark;
    char *path, *copy;

    for (size_t i = 0; i + 3 <= LONG; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    text[0] = text[1] = text[2] = 'a';
    text[LONG - 1] = text[LONG - 2] = text[LONG - 3] = 'z';
    path = put("head", text, LONG);
    copy = strdup(path);
    want(s, path, NULL, 0);
    take_all(s, &b);
    ck_assert_uint_lt(b.len, LOG_SEND_MOST + 2000);
    ck_assert_uint_gt(b.len, LOG_SEND_MOST - 10);
    ck_assert(b.text[0] == 'a' && b.text[b.len - 1] == 'z');
    mark = strstr(b.text, "[eddis: 3145728 bytes are left out here; they are in ");
    ck_assert_ptr_nonnull(mark);
    ck_assert_ptr_nonnull(strstr(mark, copy));
    ck_assert(log_send_done(s, &sent) && *sent.text && sent.end == (int64_t)b.len);
    log_send_arrived(s, false);
    log_send_close(s);
    ck_assert_int_eq(access(copy, F_OK), 0);
    free(copy);
    free(text);
    strbuf_fini(&b);
}
END_TEST

/* ---- the place ---- */

START_TEST(place)
{
    cleanup_free char *shared = file_join(scratch, "x/logs"),
                      *blocked = file_join(scratch, "file/logs");
    cleanup_free char *file = put("file", "", 0), *state = file_join(scratch, "state");
    cleanup_free char *marker = file_join(scratch, "x/logs/.0123"), *g = NULL, *own = NULL;
    struct agent_config b = { .job_id = "job-1", .log_dir = shared, .log_marker = "0123" };
    struct log_place p;

    /* Not there: made, and taken away again. */
    ck_assert_int_eq(log_place_open(&b, NULL, NULL, &p, NULL), 0);
    ck_assert(!p.shared);
    ck_assert_str_eq(p.dir, shared);
    g = log_place_generation(&p, 2);
    ck_assert_str_eq(g + strlen(shared), "/g2");
    log_place_close(&p);
    ck_assert(access(shared, F_OK) < 0);
    ck_assert_int_eq(access(scratch, F_OK), 0);
    /* The driver's. */
    ck_assert_int_eq(file_mkdirs(shared, 0700, NULL), 0);
    ck_assert_int_eq(file_write_atomic(marker, "", 0, 0600, NULL), 0);
    ck_assert_int_eq(log_place_open(&b, NULL, NULL, &p, NULL), 0);
    ck_assert(p.shared);
    log_place_close(&p);
    ck_assert_int_eq(access(marker, F_OK), 0);
    /* It cannot be made. */
    b.log_dir = blocked;
    ck_assert_int_lt(log_place_open(&b, NULL, NULL, &p, NULL), 0);
    ck_assert_int_eq(log_place_open(&b, state, NULL, &p, NULL), 0);
    own = file_join(state, "eddis/jobs/job-1/logs");
    ck_assert_str_eq(p.dir, own);
    log_place_close(&p);
    ck_assert(access(state, F_OK) < 0);
    log_place_close(&(struct log_place){ .shared = false });
    ck_assert_int_eq(access(file, F_OK), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, whole);
    tcase_add_test(tc, refused);
    tcase_add_test(tc, ends);
    tcase_add_test(tc, pushed_out);
    tcase_add_test(tc, too_long);
    tcase_add_test(tc, place);
}

SUITE_MAIN("log_send", add_tests)
