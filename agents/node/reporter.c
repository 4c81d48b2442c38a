/* SPDX-License-Identifier: Apache-2.0 */
/* reporter.c - sends one report after the other, and repeats a report that was not answered */
#include "reporter.h"

#include "agents/protocol/timing.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limits of one report: bytes of the events' texts, number of events, bytes of output.  They are
 * well below the server's limit of a body, even if all characters are escaped.
 */
enum { REPORT_TEXT = 128 << 10, REPORT_EVENTS = 1024, REPORT_OUTPUT = 64 << 10 };

/* HTTP status with which the driver rejects a body that is too long. */
enum { STATUS_TOO_LONG = 413 };

/* Minimum interval between reports with output alone, and between chunks of logs. */
#define OUTPUT_NS (100 * CLOCK_MS)
#define PIECE_NS  (8 * CLOCK_MS) /* limits logs to 8 MB a second */

/* A queued event, with copies of its texts, and the time at which it happened. */
struct waiting {
    struct event e;
    int64_t at_ns;
};

struct reporter {
    struct http_client *http;
    char path[64];
    int agent;
    int64_t lease_ns;
    uint64_t chance; /* random state of pauses */
    reporter_heard_fn heard;
    void *ctx;
    struct waiting *queue;
    int n, cap;
    int64_t sequence; /* sequence number of the report under way, or of the next report */
    bool in_flight, failed, beat; /* sent, unanswered; to be repeated; see reporter_beat */
    int n_sent;                   /* number of queued events in the report */
    struct progress *worker;      /* [n_workers] progress in the report */
    int n_workers;
    struct outputs *source; /* queue from which output is taken */
    struct output *output;  /* [n_outputs] output in the report */
    int n_outputs;
    bool unlimited; /* as in reporter_take_output */
    struct log_send *logs;
    struct log_chunk piece; /* chunk of a log in the report; text NULL: none */
    int64_t piece_ns;       /* earliest time of the next chunk of a log */
    int64_t output_ns;      /* earliest time of a report with output alone */
    int64_t retry_ns;       /* earliest time of a repetition */
};

int reporter_open(struct http_client *http, int agent, int64_t lease_ns, reporter_heard_fn heard,
                  void *ctx, struct reporter **ret, struct eddis_error *err)
{
    struct reporter *r = calloc(1, sizeof *r);

    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for reports");
    r->http = http;
    r->agent = agent;
    r->lease_ns = lease_ns;
    r->chance = random_mix((uint64_t)clock_now_ns(), (uint64_t)agent);
    r->heard = heard;
    r->ctx = ctx;
    r->sequence = 1;
    snprintf(r->path, sizeof r->path, "/v1/agents/%d/reports", agent);
    *ret = r;
    return 0;
}

/* Return a copy of a text, or of "" for NULL, which the caller frees; NULL: no memory. */
static char *copy_text(const char *text)
{
    return strdup(text ? text : "");
}

/* Free the texts of a queued event. */
static void free_event(struct event *e)
{
    free(e->text);
    free(e->last_lines);
    free(e->relay.uri);
    free(e->relay.nodes);
}

int reporter_add(struct reporter *r, const struct event *e, int64_t at_ns, struct eddis_error *err)
{
    struct event copy = *e;

    if (r->n == r->cap) {
        int cap = r->cap ? 2 * r->cap : 16;
        struct waiting *more = realloc(r->queue, (size_t)cap * sizeof *more);

        if (!more)
            return eddis_fail(err, -ENOMEM, "no memory for an event");
        r->queue = more;
        r->cap = cap;
    }
    copy.text = copy_text(e->text);
    copy.last_lines = copy_text(e->last_lines);
    copy.relay.uri = copy_text(e->relay.uri);
    copy.relay.nodes = copy_text(e->relay.nodes);
    if (!copy.text || !copy.last_lines || !copy.relay.uri || !copy.relay.nodes) {
        free_event(&copy);
        return eddis_fail(err, -ENOMEM, "no memory for an event");
    }
    r->queue[r->n++] = (struct waiting){ copy, at_ns };
    return 0;
}

/* Free and remove the ranks' output in the report. */
static void drop_output(struct reporter *r)
{
    outputs_free_rows(r->output, r->n_outputs);
    r->output = NULL;
    r->n_outputs = 0;
}

/* Free and remove the chunk of a log in the report, if any, and tell the log's sender that its
 * chunks have arrived or, if refused, that the driver rejected them.
 */
static void drop_piece(struct reporter *r, bool refused)
{
    free(r->piece.text);
    r->piece.text = NULL;
    if (r->logs)
        log_send_arrived(r->logs, refused);
}

/* Free what an answered report held, remove its events from the queue, and increment the sequence
 * number.
 */
static void drop_sent(struct reporter *r)
{
    for (int i = 0; i < r->n_sent; i++)
        free_event(&r->queue[i].e);
    r->n -= r->n_sent;
    if (r->n_sent)
        memmove(r->queue, r->queue + r->n_sent, (size_t)r->n * sizeof *r->queue);
    r->n_sent = 0;
    free(r->worker);
    r->worker = NULL;
    r->n_workers = 0;
    drop_output(r);
    drop_piece(r, false);
    r->sequence++;
}

/* Keep what the report holds, to send it again after a pause from now_ns on. */
static void repeat_later(struct reporter *r, int64_t now_ns)
{
    r->failed = true;
    r->retry_ns = now_ns + timing_retry_ns(r->lease_ns, random_next(&r->chance));
}

/* Handle the answer to a report, or its failure (callback of the HTTP client on the agent's thread;
 * ctx is the reporter).  Status 200: drop what was sent and renew the lease.  Otherwise arrange a
 * repetition; if the driver rejects the report as invalid or too long, drop its progress, output
 * and log chunk before, because its events matter more.
 */
static void on_answer(void *ctx, int status, const char *body, size_t body_n,
                      const struct eddis_error *err)
{
    struct reporter *r = ctx;

    (void)body;
    (void)body_n;
    (void)err;
    r->in_flight = false;
    if (status != 200) {
        if (status == 400 || status == STATUS_TOO_LONG) {
            r->n_workers = 0;
            drop_output(r);
            if (r->piece.text)
                drop_piece(r, true);
        }
        repeat_later(r, clock_now_ns());
        return;
    }
    r->failed = false;
    drop_sent(r);
    r->heard(r->ctx);
}

/* Return how many of the oldest queued events fit into one report; at least one if any is queued.
 */
static int choose(const struct reporter *r)
{
    size_t text = 0;
    int n = 0;

    while (n < r->n && n < REPORT_EVENTS) {
        text += strlen(r->queue[n].e.text) + strlen(r->queue[n].e.last_lines) + 256;
        if (n > 0 && text > REPORT_TEXT)
            break;
        n++;
    }
    return n;
}

/* Start to send the report that r holds, with the events' present ages; on_answer gets the result.
 * Return 0 or a negative errno.
 */
static int post(struct reporter *r, int64_t now_ns, struct eddis_error *err)
{
    cleanup_free struct event *event = calloc((size_t)r->n_sent + 1, sizeof *event);
    cleanup_free char *text = NULL;
    struct report report = { .agent = r->agent,
                             .sequence = r->sequence,
                             .event = event,
                             .n_events = r->n_sent,
                             .worker = r->worker,
                             .n_workers = r->n_workers,
                             .output = r->output,
                             .n_outputs = r->n_outputs,
                             .piece = &r->piece,
                             .n_pieces = r->piece.text != NULL };
    int rc;

    if (!event)
        return eddis_fail(err, -ENOMEM, "no memory for a report");
    for (int i = 0; i < r->n_sent; i++) {
        event[i] = r->queue[i].e;
        event[i].age_ns = now_ns > r->queue[i].at_ns ? now_ns - r->queue[i].at_ns : 0;
    }
    text = report_text(&report);
    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory for a report");
    r->in_flight = true;
    rc = http_client_start(r->http, r->path, text, timing_request_ns(r->lease_ns), on_answer, r,
                           err);
    if (rc < 0)
        r->in_flight = false;
    return rc;
}

void reporter_take_output(struct reporter *r, struct outputs *o, bool unlimited)
{
    r->source = o;
    r->unlimited = unlimited;
}

/* Check whether ranks have printed something that is not yet in a report. */
static bool has_output(const struct reporter *r)
{
    return r->source && !outputs_empty(r->source);
}

/* Move output of ranks into the report, unless the report holds a chunk of a log, and set the time
 * of the next report with output alone.
 */
static void take_output(struct reporter *r, int64_t now_ns)
{
    if (!has_output(r) || r->piece.text)
        return;
    r->n_outputs = outputs_take(r->source, REPORT_OUTPUT, &r->output);
    r->output_ns = r->unlimited ? now_ns : now_ns + OUTPUT_NS;
}

void reporter_take_logs(struct reporter *r, struct log_send *s)
{
    r->logs = s;
}

/* Check whether a log has chunks to send. */
static bool has_piece(const struct reporter *r)
{
    return r->logs && log_send_busy(r->logs);
}

/* Check whether output alone may cause a report now. */
static bool is_output_due(const struct reporter *r, int64_t now_ns)
{
    return has_output(r) && now_ns >= r->output_ns;
}

/* Move a chunk of a log into the report if one is due and no output is.  Output and a chunk are
 * never in the same report: control characters make either up to six times as long in JSON, and
 * both together could exceed the limit of a body.
 */
static void take_piece(struct reporter *r, int64_t now_ns)
{
    if (!has_piece(r) || is_output_due(r, now_ns) || now_ns < r->piece_ns ||
        !log_send_next(r->logs, &r->piece))
        return;
    r->piece_ns = now_ns + PIECE_NS;
}

int reporter_send(struct reporter *r, const struct progress *worker, int n, int64_t now_ns,
                  struct eddis_error *err)
{
    int rc;

    if (r->in_flight || (r->failed && now_ns < r->retry_ns))
        return 0;
    if (!r->failed) {
        take_piece(r, now_ns);
        if (r->n == 0 && n == 0 && !r->piece.text && !is_output_due(r, now_ns) && !r->beat)
            return 0;
        r->beat = false;
        r->n_sent = choose(r);
        r->worker = n ? malloc((size_t)n * sizeof *worker) : NULL;
        r->n_workers = r->worker ? n : 0;
        if (r->worker)
            memcpy(r->worker, worker, (size_t)n * sizeof *worker);
        take_output(r, now_ns);
    }
    rc = post(r, now_ns, err);
    if (rc < 0)
        repeat_later(r, now_ns);
    return rc;
}

void reporter_beat(struct reporter *r)
{
    r->beat = true;
}

bool reporter_idle(const struct reporter *r)
{
    return !r->in_flight && !r->failed;
}

int64_t reporter_next_ns(const struct reporter *r, int64_t now_ns)
{
    int64_t next_ns;

    if (r->in_flight)
        return CLOCK_NEVER;
    if (r->failed)
        return r->retry_ns;
    if (r->n)
        return now_ns;
    next_ns = has_output(r) ? r->output_ns : CLOCK_NEVER;
    return has_piece(r) && r->piece_ns < next_ns ? r->piece_ns : next_ns;
}

bool reporter_failed(const struct reporter *r)
{
    return r->failed && !r->in_flight;
}

bool reporter_empty(const struct reporter *r)
{
    return r->n == 0 && !r->in_flight && !r->failed && !has_output(r);
}

void reporter_close(struct reporter *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n; i++)
        free_event(&r->queue[i].e);
    free(r->queue);
    free(r->worker);
    free(r->piece.text);
    drop_output(r);
    free(r);
}
