/* SPDX-License-Identifier: Apache-2.0 */
/* test_reporter.c - tests of agents/node/reporter.h: reports that cannot be sent at first */
#include "agents/node/reporter.h"

#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LEASE_S = 60 };

/* ---- the HTTP client, for which the linker takes this ---- */

static int start_rc; /* result of the next starts */
static int n_starts; /* number of started requests */
static struct report *sent;
static http_done_fn done;
static void *done_ctx;

int __wrap_http_client_start(struct http_client *c, const char *path, const char *json,
                             int64_t timeout_ns, http_done_fn fn, void *ctx,
                             struct eddis_error *err);

int __wrap_http_client_start(struct http_client *c, const char *path, const char *json,
                             int64_t timeout_ns, http_done_fn fn, void *ctx,
                             struct eddis_error *err)
{
    (void)c;
    (void)path;
    ck_assert_int_gt(timeout_ns, 0);
    if (start_rc < 0)
        return eddis_fail(err, start_rc, "no memory for a request");
    report_free(sent);
    ck_assert_int_eq(report_parse(json, strlen(json), &sent, NULL), 0);
    done = fn;
    done_ctx = ctx;
    n_starts++;
    return 0;
}

/* Let the driver answer the report under way. */
static void answer(int status)
{
    done(done_ctx, status, "{}", 2, NULL);
}

static void forget(void)
{
    report_free(sent);
    sent = NULL;
    n_starts = start_rc = 0;
}

static void heard(void *ctx)
{
    ++*(int *)ctx;
}

/* Check that the report under way has this sequence number, one note, the progress of rank 4, and
 * this chunk of a log.
 */
static void has(int64_t sequence, int64_t offset, size_t bytes)
{
    ck_assert_int_eq(sent->sequence, sequence);
    ck_assert_int_eq(sent->n_events, 1);
    ck_assert_str_eq(sent->event[0].text, "a note");
    ck_assert_int_eq(sent->n_workers, 1);
    ck_assert_int_eq(sent->worker[0].rank, 4);
    ck_assert_int_eq(sent->n_pieces, 1);
    ck_assert_int_eq(sent->piece[0].offset, offset);
    ck_assert_uint_eq(strlen(sent->piece[0].text), bytes);
}

/* Return a request for a log of LOG_SEND_PIECE + 5 bytes. */
static struct log_send *long_log(void)
{
    const struct log_request w = { .rank = 4, .order = 2, .paths = { file_join(scratch, "log") } };
    struct log_send *s = log_send_new();
    char *text = malloc(LOG_SEND_PIECE + 5);

    memset(text, 'x', LOG_SEND_PIECE + 5);
    ck_assert_int_eq(file_write_atomic(w.paths[0], text, LOG_SEND_PIECE + 5, 0600, NULL), 0);
    free(text);
    ck_assert_int_eq(log_send_add_take(s, &w, NULL), 0);
    return s;
}

/* A report that could not be sent, for lack of memory, is sent later, with all that it held. */
START_TEST(not_sent)
{
    const struct progress worker = { .rank = 4, .page_age_ns = -1 };
    const struct event note = { .type = EVENT_NOTE, .rank = -1, .text = (char[]){ "a note" } };
    struct log_send *logs = long_log();
    struct eddis_error err = { 0 };
    struct reporter *r;
    int64_t now_ns = clock_now_ns();
    int answers = 0;

    ck_assert_int_eq(reporter_open(NULL, 1, LEASE_S * CLOCK_S, heard, &answers, &r, NULL), 0);
    reporter_take_logs(r, logs);
    ck_assert_int_eq(reporter_add(r, &note, now_ns, NULL), 0);
    start_rc = -ENOMEM;
    ck_assert_int_eq(reporter_send(r, &worker, 1, now_ns, &err), -ENOMEM);
    ck_assert_str_eq(err.text, "no memory for a request");
    ck_assert(reporter_failed(r) && !reporter_idle(r));
    start_rc = 0;
    ck_assert_int_eq(reporter_send(r, &worker, 1, now_ns, NULL), 0);
    ck_assert_int_eq(n_starts, 0); /* after a pause only */
    ck_assert_int_gt(reporter_next_ns(r, now_ns), now_ns);
    now_ns = reporter_next_ns(r, now_ns);
    ck_assert_int_eq(reporter_send(r, NULL, 0, now_ns, NULL), 0);
    ck_assert_int_eq(n_starts, 1);
    has(1, 0, LOG_SEND_PIECE);
    answer(200);
    ck_assert(answers == 1 && reporter_empty(r) && !reporter_failed(r));
    /* The log goes on where it was. */
    ck_assert_int_eq(reporter_add(r, &note, now_ns, NULL), 0);
    ck_assert_int_eq(reporter_send(r, &worker, 1, now_ns + CLOCK_S, NULL), 0);
    has(2, LOG_SEND_PIECE, 5);
    answer(200);
    reporter_close(r);
    log_send_close(logs);
}
END_TEST

/* Output of ranks in a report that could not be sent is not lost, either. */
START_TEST(not_sent_output)
{
    const struct output x = { .rank = 4, .text = (char[]){ "words\n" } };
    struct outputs *o = outputs_new();
    struct reporter *r;
    int64_t now_ns = clock_now_ns();
    int answers = 0;

    ck_assert_int_eq(reporter_open(NULL, 1, LEASE_S * CLOCK_S, heard, &answers, &r, NULL), 0);
    reporter_take_output(r, o, true);
    outputs_add(o, &x);
    start_rc = -ENOMEM;
    ck_assert_int_eq(reporter_send(r, NULL, 0, now_ns, NULL), -ENOMEM);
    start_rc = 0;
    ck_assert(!reporter_empty(r));
    ck_assert_int_eq(reporter_send(r, NULL, 0, reporter_next_ns(r, now_ns), NULL), 0);
    ck_assert_int_eq(sent->n_outputs, 1);
    ck_assert_str_eq(sent->output[0].text, "words\n");
    /* The same holds if the driver does not answer. */
    answer(0);
    ck_assert(reporter_failed(r) && answers == 0);
    ck_assert_int_eq(reporter_send(r, NULL, 0, reporter_next_ns(r, now_ns), NULL), 0);
    ck_assert_int_eq(sent->sequence, 1);
    ck_assert_int_eq(sent->n_outputs, 1);
    answer(200);
    ck_assert(reporter_empty(r) && answers == 1);
    reporter_close(r);
    outputs_free(o);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, NULL, forget);
    tcase_add_test(tc, not_sent);
    tcase_add_test(tc, not_sent_output);
}

SUITE_MAIN("reporter", add_tests)
