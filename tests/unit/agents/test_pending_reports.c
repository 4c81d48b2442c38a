/* SPDX-License-Identifier: Apache-2.0 */
/* test_pending_reports.c - tests of agents/driver/logs/pending_reports.h: reports that wait for a
 * folder that does not answer
 */
#include "agents/driver/logs/pending_reports.h"

#include "held_thread.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- answers, which the linker sends here ---- */

static struct http_exchange *refused[8];
static int n_refused;

void __wrap_http_reply_error(struct http_exchange *x, int status, const char *text);

void __wrap_http_reply_error(struct http_exchange *x, int status, const char *text)
{
    (void)text;
    ck_assert_int_eq(status, 503);
    refused[n_refused++] = x;
}

static struct http_exchange *exchange(int number)
{
    static char some[8];

    return (struct http_exchange *)(void *)&some[number];
}

/* ---- a file that does not let anyone append to it until the pipe is closed ---- */

static int append_from = -1;

int __real_file_append(const char *path, const void *data, size_t n, mode_t mode,
                       struct eddis_error *err);
int __wrap_file_append(const char *path, const void *data, size_t n, mode_t mode,
                       struct eddis_error *err);

int __wrap_file_append(const char *path, const void *data, size_t n, mode_t mode,
                       struct eddis_error *err)
{
    char byte;

    if (append_from >= 0)
        (void)!read(append_from, &byte, 1);
    return __real_file_append(path, data, n, mode, err);
}

/* Returns what is to be closed. */
static int hold_append(void)
{
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    append_from = ends[0];
    return ends[1];
}

/* ---- a thread that is held up ---- */

static struct held held;
static struct file_thread *files;
static struct log_fetch *log_fetch;
static struct pending_reports pending_reports;

static void begin(void)
{
    struct log_fetch_log l = { 0, 3, 1 };

    ck_assert_int_eq(file_thread_start(&files, NULL), 0);
    hold(files, &held);
    log_fetch = log_fetch_new(scratch);
    ck_assert_int_eq(log_fetch_add(log_fetch, &l, NULL), 0);
    ck_assert(log_fetch_next(log_fetch, 0, &l));
    pending_reports = (struct pending_reports){ .log_fetch = &log_fetch };
    n_refused = 0;
}

static void go_on(void)
{
    let_go(&held);
    settle(files);
}

static void end(void)
{
    file_thread_stop(files);
    pending_reports_fini(&pending_reports);
    log_fetch_free(log_fetch);
}

static struct request_item *item(int number, int64_t offset)
{
    struct request_item *i = calloc(1, sizeof *i);
    struct report *r = calloc(1, sizeof *r);
    struct log_chunk *p = calloc(1, sizeof *p);

    *p = (struct log_chunk){ .rank = 3, .offset = offset, .text = strdup("words\n") };
    *r = (struct report){ .sequence = 7, .piece = p, .n_pieces = 1 };
    *i = (struct request_item){ .type = REQUEST_REPORT, .report = r, .x = exchange(number) };
    return i;
}

/* It comes again, the newest request is answered when the piece is written, and that is once. */
START_TEST(again)
{
    struct eddis_error err = { 0 };
    struct request_item *i;
    int rc = -1;

    i = item(1, 0);
    ck_assert(!pending_reports_again(&pending_reports, i));
    ck_assert_int_eq(pending_reports_add(&pending_reports, files, i, &err), 0);
    ck_assert(pending_reports_again(&pending_reports, item(2, 0)));
    ck_assert(pending_reports_again(&pending_reports, item(3, 0)));
    ck_assert(n_refused == 2 && refused[0] == exchange(1) && refused[1] == exchange(2));
    ck_assert_ptr_null(pending_reports_take(&pending_reports, &rc, &err));
    go_on();
    i = pending_reports_take(&pending_reports, &rc, &err);
    ck_assert_ptr_nonnull(i);
    ck_assert_int_eq(rc, 0);
    ck_assert_ptr_eq(i->x, exchange(3));
    ck_assert_int_eq(i->report->sequence, 7);
    request_item_free(i);
    ck_assert_ptr_null(pending_reports_take(&pending_reports, &rc, &err));
    scratch_expect(".fetched-0", "words\n");
    end();
}
END_TEST

/* A piece that cannot be written, or that nobody has asked for, is told of as such. */
START_TEST(refused_piece)
{
    struct eddis_error err = { 0 };
    struct request_item *i;
    int rc = 0;

    i = item(1, 40);
    ck_assert_int_eq(pending_reports_add(&pending_reports, files, i, &err), -EINVAL);
    request_item_free(i);
    ck_assert_int_eq(pending_reports_add(&pending_reports, files, item(1, 0), &err), 0);
    ck_assert_int_eq(file_remove_tree(scratch, NULL), 0);
    go_on();
    i = pending_reports_take(&pending_reports, &rc, &err);
    ck_assert_ptr_nonnull(i);
    ck_assert_int_lt(rc, 0);
    ck_assert(log_fetch_is_done(log_fetch)); /* it is given up */
    request_item_free(i);
    ck_assert_int_eq(mkdir(scratch, 0700), 0);
    end();
}
END_TEST

/* At the end of the job nobody is left without an answer. */
START_TEST(over)
{
    struct eddis_error err = { 0 };

    ck_assert_int_eq(pending_reports_add(&pending_reports, files, item(1, 0), &err), 0);
    pending_reports_refuse(&pending_reports);
    ck_assert(n_refused == 1 && refused[0] == exchange(1));
    go_on();
    end();
}
END_TEST

/* Two more pieces of the log, the second of which is written when the job is forgotten. */
static struct request_item *two_pieces(int number)
{
    struct request_item *i = item(number, 6);
    struct log_chunk *p = realloc(i->report->piece, 2 * sizeof *p);

    p[1] = (struct log_chunk){ .rank = 3, .offset = 12, .text = strdup("more\n") };
    i->report->piece = p;
    i->report->n_pieces = 2;
    return i;
}

/* A write that is held up at the job's end goes on alone: where it leads stays with it. */
START_TEST(held_up_at_the_end)
{
    cleanup_free char *path = file_join(scratch, ".fetched-0");
    struct eddis_error err = { 0 };
    int64_t until_ns = clock_after_ns(clock_now_ns(), 120 * CLOCK_S);
    bool written = false;
    int rc, let_append;

    ck_assert_int_eq(pending_reports_add(&pending_reports, files, item(1, 0), &err), 0);
    go_on();
    request_item_free(pending_reports_take(&pending_reports, &rc, &err));
    ck_assert_int_eq(unlink(path), 0);
    let_append = hold_append();
    ck_assert_int_eq(pending_reports_add(&pending_reports, files, two_pieces(2), &err), 0);
    while (!file_thread_held_ns(files, clock_now_ns()))
        ;
    pending_reports_refuse(&pending_reports);
    end();
    (void)close(let_append);
    while (!written) {
        cleanup_free char *text = NULL;

        ck_assert(clock_now_ns() < until_ns);
        written =
            file_read(path, 100, &text, NULL, NULL) == 0 && strcmp(text, "words\nmore\n") == 0;
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, begin, NULL);
    tcase_add_test(tc, held_up_at_the_end);
    tcase_add_test(tc, again);
    tcase_add_test(tc, refused_piece);
    tcase_add_test(tc, over);
}

SUITE_MAIN("held", add_tests)
