/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_report.c - converts the messages hello and report to and from JSON */
#include "protocol.h"

#include "lib/base/fields.h"
#include "lib/model/program_facts_json.h"
#include "protocol_metrics.h"
#include "protocol_relay.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N(table) (sizeof(table) / sizeof *(table))

enum { MAX_EVENTS = 4096, MAX_OUTPUTS = 4096, MAX_PHASE = 63 };

static const struct field hello_fields[] = {
    FIELD(struct hello, protocol, INT, 0, INT32_MAX),
    FIELD(struct hello, agent, INT, 0, PROTOCOL_MAX_AGENTS - 1),
    FIELD(struct hello, pid, INT, 1, INT32_MAX),
    FIELD(struct hello, host, TEXT, 0, 0),
    FIELD(struct hello, eddis_version, TEXT, 0, 0),
    FIELD(struct hello, mpi_version, TEXT, 0, 0),
    FIELD(struct hello, machine, NAME, 0, 0),
    FIELD(struct hello, mpi_guarded, BOOL, 0, 0),
    FIELD(struct hello, mpi_v4_only, BOOL, 0, 0),
    FIELD(struct hello, shared_logs, BOOL, 0, 0),
    FIELD(struct hello, log_dir, TEXT, 0, 0),
};

static const struct field address_fields[] = {
    FIELD(struct node_address, interface, TEXT, 0, 0),
    FIELD(struct node_address, address, TEXT, 0, 0),
    FIELD(struct node_address, prefix, INT, 0, 128),
    FIELD(struct node_address, speed_mbit, INT64, 0, INT32_MAX),
    FIELD(struct node_address, is_virtual, BOOL, 0, 0),
};

static const char *const event_names[] = {
    "profile",   "unmeasured", "prepared", "checked",   "rank_started", "rank_exit", "mpirun_exit",
    "relay",     "network",    "choice",   "committed", "stopped",      "logs",      "failed",
    "unsettled", "note",       "quiet",    "place",     "signal",       "refused",   "left"
};

static const struct field event_fields[] = {
    FIELD_WORD(struct event, type, event_names),
    FIELD(struct event, age_ns, INT64, 0, INT64_MAX),
    FIELD(struct event, generation, INT64, 0, INT32_MAX),
    FIELD(struct event, rank, INT, PROTOCOL_LOG_MPIRUN, BOARD_MAX_RANKS - 1),
    FIELD(struct event, pid, INT, 0, INT32_MAX),
    FIELD(struct event, code, INT, -1, 255),
    FIELD(struct event, signal, INT, 0, 64),
    FIELD(struct event, by_us, BOOL, 0, 0),
    FIELD(struct event, oom, BOOL, 0, 0),
    FIELD(struct event, lingers, BOOL, 0, 0),
    FIELD(struct event, first, BOOL, 0, 0),
    FIELD(struct event, echo, BOOL, 0, 0),
    FIELD(struct event, alone, BOOL, 0, 0),
    FIELD(struct event, step, INT64, PROTOCOL_STEP_UNKNOWN, INT64_MAX),
    PROGRAM_ROWS(struct event),
    FIELD(struct event, peak_bytes, INT64, 0, INT64_MAX),
    FIELD(struct event, limit_bytes, INT64, 0, INT64_MAX),
    FIELD(struct event, refused, INT64, 0, INT32_MAX),
    FIELD(struct event, text, SENTENCE, 0, 0),
    FIELD(struct event, last_lines, SENTENCE, 0, 0),
};

#define TIMES(name)                                                                                  \
    { #name "_input_ns", FIELD_INT64, offsetof(struct progress, name.input_ns), 0, 0, INT64_MAX },   \
        { #name "_compute_ns",                                                                       \
          FIELD_INT64,                                                                               \
          offsetof(struct progress, name.compute_ns),                                                \
          0,                                                                                         \
          0,                                                                                         \
          INT64_MAX },                                                                               \
        { #name "_exposed_ns",                                                                       \
          FIELD_INT64,                                                                               \
          offsetof(struct progress, name.exposed_ns),                                                \
          0,                                                                                         \
          0,                                                                                         \
          INT64_MAX },                                                                               \
        { #name "_wait_ns", FIELD_INT64, offsetof(struct progress, name.wait_ns), 0, 0, INT64_MAX }, \
    {                                                                                                \
#name "_total_ns", FIELD_INT64, offsetof(struct progress, name.total_ns), 0, 0, INT64_MAX    \
    }

#define LINK(name, member, kind_, high_)                                                           \
    {                                                                                              \
        .key = #name, .kind = FIELD_##kind_, .offset = offsetof(struct progress, link.member),     \
        .size = sizeof(((struct progress *)0)->link.member), .low = 0, .high = (high_)             \
    }

#define MODELS(name, kind_, min_, max_)                                                            \
    {                                                                                              \
        .key = "models_" #name, .kind = FIELD_##kind_,                                             \
        .offset = offsetof(struct progress, models.name), .min = (min_), .max = (max_)             \
    }

#define LOST(name, kind_)                                                                          \
    {                                                                                              \
        .key = #name, .kind = FIELD_MEASURE,                                                       \
        .offset = offsetof(struct progress, core_loss.part[CORE_LOSS_##kind_]), .low = 0,          \
        .high = 1                                                                                  \
    }

static const struct field progress_fields[] = {
    FIELD(struct progress, rank, INT, 0, BOARD_MAX_RANKS - 1),
    FIELD(struct progress, pid, INT, 0, INT32_MAX),
    FIELD(struct progress, phase, INT, 0, MAX_PHASE),
    FIELD(struct progress, steps_done, INT64, 0, INT64_MAX),
    FIELD(struct progress, steps_total, INT64, 0, INT64_MAX),
    FIELD(struct progress, steps_in_epoch, INT64, 0, INT64_MAX),
    FIELD(struct progress, samples_in_epoch, INT64, 0, INT64_MAX),
    FIELD(struct progress, epochs, INT64, 0, INT64_MAX),
    FIELD(struct progress, steps_here, INT64, 0, INT64_MAX),
    FIELD(struct progress, checkpoints_written, INT64, 0, INT64_MAX),
    FIELD(struct progress, checkpoints_failed, INT64, 0, INT64_MAX),
    FIELD(struct progress, checkpoint_step, INT64, 0, INT64_MAX),
    FIELD(struct progress, checkpoint_why, LINE, 0, 0),
    FIELD(struct progress, samples_done, INT64, 0, INT64_MAX),
    FIELD(struct progress, restored_samples, INT64, 0, INT64_MAX),
    FIELD(struct progress, restored_at, INT64, 0, INT64_MAX),
    FIELD(struct progress, plan_version, INT64, 0, INT64_MAX),
    FIELD(struct progress, plan_since, INT64, -1, INT64_MAX),
    FIELD(struct progress, bytes_sent, INT64, 0, INT64_MAX),
    FIELD(struct progress, overrun_ns, INT64, 0, INT64_MAX),
    FIELD(struct progress, model_bytes, INT64, 0, INT64_MAX),
    PROGRAM_ROWS(struct progress),
    FIELD(struct progress, staleness, INT, 0, INT32_MAX),
    FIELD(struct progress, exchanges, INT64, 0, INT64_MAX),
    FIELD(struct progress, exchange_ns, INT64, 0, INT64_MAX),
    FIELD(struct progress, page_age_ns, INT64, -1, INT64_MAX),
    FIELD(struct progress, phase_age_ns, INT64, -1, INT64_MAX),
    FIELD(struct progress, waits_for, INT, -1, BOARD_MAX_RANKS - 1),
    FIELD(struct progress, loss, MEASURE, 0, 0),
    TIMES(sum),
    FIELD(struct progress, step_plan, INT64, 0, INT64_MAX),
    FIELD(struct progress, steps_before, INT64, 0, INT64_MAX),
    FIELD(struct progress, samples_before, INT64, 0, INT64_MAX),
    TIMES(sum_before),
    FIELD(struct progress, recent_steps, INT64, 0, INT64_MAX),
    FIELD(struct progress, recent_samples, INT64, 0, INT64_MAX),
    TIMES(recent),
    FIELD_REAL(struct progress, queued_s, MEASURE, 0, STEP_FIGURES_MAX_S),
    LOST(stolen, STOLEN),
    LOST(throttled, THROTTLED),
    LOST(others, OTHERS),
    LOST(clock_lost, CLOCK),
    LOST(heat_lost, HEAT),
    { .key = "celsius",
      .kind = FIELD_MEASURE,
      .offset = offsetof(struct progress, core_loss.celsius),
      .low = 0,
      .high = 1000 },
    LINK(link_busy, busy, MEASURE, 1),
    LINK(link_bytes_per_s, bytes_per_s, MEASURE, 1e15),
    LINK(link_peer, peer, LINE, 0),
    FIELD(struct progress, memory_bytes, INT64, 0, INT64_MAX),
    FIELD(struct progress, memory_told, BOOL, 0, 0),
    FIELD(struct progress, memory_limit_bytes, INT64, 0, INT64_MAX),
    FIELD(struct progress, memory_pool, INT, 0, BOARD_MAX_RANKS - 1),
    FIELD(struct progress, at_once, INT64, 0, INT64_MAX),
    FIELD(struct progress, takes_pieces, BOOL, 0, 0),
    FIELD(struct progress, stops, BOOL, 0, 0),
    FIELD(struct progress, trained, BOOL, 0, 0),
    FIELD(struct progress, ended, BOOL, 0, 0),
    FIELD(struct progress, told, BOOL, 0, 0),
    MODELS(compared, INT64, 0, INT64_MAX),
    MODELS(unlike, INT64, 0, INT64_MAX),
    MODELS(found, INT64, MODEL_CHECK_ALIKE, MODEL_CHECK_NOT_FINITE),
    MODELS(rank, INT64, -1, BOARD_MAX_RANKS - 1),
    MODELS(other, INT64, -1, BOARD_MAX_RANKS - 1),
    MODELS(step, INT64, 0, INT64_MAX),
    MODELS(alike, INT64, 0, INT64_MAX),
    { .key = "models_largest",
      .kind = FIELD_MEASURE,
      .offset = offsetof(struct progress, models.largest),
      .low = 0,
      .high = 1e300 },
    FIELD(struct progress, loss_step, INT64, 0, INT64_MAX),
};

static const struct field metric_fields[] = {
    FIELD(struct board_metric, name, TEXT, 0, 0),
    FIELD(struct board_metric, value, MEASURE, 0, 0),
};

static const struct field report_fields[] = {
    FIELD(struct report, agent, INT, 0, PROTOCOL_MAX_AGENTS - 1),
    FIELD(struct report, sequence, INT64, 1, INT64_MAX),
};

static const struct field output_fields[] = {
    FIELD(struct output, rank, INT, 0, BOARD_MAX_RANKS - 1),
    FIELD(struct output, dropped, INT64, 0, INT64_MAX),
    FIELD(struct output, text, SENTENCE, 0, 0),
    FIELD(struct output, early, BOOL, 0, 0),
};

static const struct field piece_fields[] = {
    FIELD(struct log_chunk, rank, INT, PROTOCOL_LOG_MPIRUN, BOARD_MAX_RANKS - 1),
    FIELD(struct log_chunk, offset, INT64, 0, INT64_MAX),
    FIELD(struct log_chunk, text, BYTES, 0, 0),
};

static const struct field_rows address_rows =
    FIELD_ROWS(address_fields, struct node_address, PROTOCOL_MAX_ADDRESSES);
static const struct field_rows output_rows = FIELD_ROWS(output_fields, struct output, MAX_OUTPUTS);
static const struct field_rows piece_rows = FIELD_ROWS(piece_fields, struct log_chunk, MAX_OUTPUTS);

/* ---- hello ---- */

char *hello_text(const struct hello *h)
{
    cleanup_json json_t *o = json_object();

    if (!o || fields_write(hello_fields, N(hello_fields), h, o) < 0 ||
        fields_write_rows(o, "address", &address_rows, h->address, (size_t)h->n_addresses) < 0)
        return NULL;
    return json_text(o, false);
}

/* Read the list "address" of o into h->address.  Return a negative errno on failure. */
static int read_addresses(struct hello *h, const json_t *o, struct eddis_error *err)
{
    cleanup_free struct node_address *a = NULL;
    int rc = fields_read_rows(o, "address", &address_rows, (void **)&a, &h->n_addresses, err);

    if (rc >= 0 && h->n_addresses)
        memcpy(h->address, a, (size_t)h->n_addresses * sizeof *a);
    return rc;
}

int hello_parse(const char *text, size_t n, struct hello *ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct hello h = { 0 };
    int rc = json_parse(text, n, "hello", &o, err), members;

    if (rc < 0)
        return rc;
    rc = members = fields_read(hello_fields, N(hello_fields), o, &h, err);
    if (rc >= 0)
        rc = read_addresses(&h, o, err);
    if (rc >= 0)
        rc = fields_end(o, (size_t)members + 1, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "hello");
    *ret = h;
    return 0;
}

/* ---- writing a report ---- */

/* Add the metrics of p that have a name to o as the list "metric".  Return 0 or -ENOMEM. */
static int write_metrics(const struct progress *p, json_t *o)
{
    json_t *list = json_array();

    if (json_object_set_new(o, "metric", list) < 0)
        return -ENOMEM;
    for (int i = 0; i < BOARD_METRICS; i++) {
        json_t *one;

        if (!p->metric[i].name[0])
            continue;
        one = json_object();
        if (json_array_append_new(list, one) < 0 ||
            fields_write(metric_fields, N(metric_fields), &p->metric[i], one) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Add the report's events to o as the list "event".  Return 0 or -ENOMEM. */
static int write_events(const struct report *r, json_t *o)
{
    json_t *list = json_array();

    if (json_object_set_new(o, "event", list) < 0)
        return -ENOMEM;
    for (int i = 0; i < r->n_events; i++) {
        json_t *one = json_object();

        if (json_array_append_new(list, one) < 0 ||
            fields_write(event_fields, N(event_fields), &r->event[i], one) < 0 ||
            (r->event[i].type == EVENT_RELAY && relay_write(&r->event[i].relay, one) < 0))
            return -ENOMEM;
    }
    return 0;
}

/* Add the workers' progress to o as the list "worker".  Return 0 or -ENOMEM. */
static int write_workers(const struct report *r, json_t *o)
{
    json_t *list = json_array();

    if (json_object_set_new(o, "worker", list) < 0)
        return -ENOMEM;
    for (int i = 0; i < r->n_workers; i++) {
        json_t *one = json_object();

        if (json_array_append_new(list, one) < 0 ||
            fields_write(progress_fields, N(progress_fields), &r->worker[i], one) < 0 ||
            metrics_write(&r->worker[i].metrics, one) < 0 || write_metrics(&r->worker[i], one) < 0)
            return -ENOMEM;
    }
    return 0;
}

char *report_text(const struct report *r)
{
    cleanup_json json_t *o = json_object();

    if (!o || fields_write(report_fields, N(report_fields), r, o) < 0 || write_events(r, o) < 0 ||
        write_workers(r, o) < 0 ||
        fields_write_rows(o, "output", &output_rows, r->output, (size_t)r->n_outputs) < 0 ||
        fields_write_rows(o, "piece", &piece_rows, r->piece, (size_t)r->n_pieces) < 0)
        return NULL;
    return json_text(o, false);
}

/* ---- reading a report ---- */

/* Read the list "metric" of o into p->metric; each must have a name.  Return a negative errno on
 * failure.
 */
static int read_metrics(struct progress *p, const json_t *o, struct eddis_error *err)
{
    json_t *list;
    int rc = json_want_array(o, "metric", BOARD_METRICS, &list, err);

    for (size_t i = 0; rc >= 0 && i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        rc = fields_read(metric_fields, N(metric_fields), one, &p->metric[i], err);
        if (rc >= 0)
            rc = fields_end(one, N(metric_fields), err);
        if (rc >= 0 && !p->metric[i].name[0])
            rc = eddis_fail(err, -EINVAL, "a metric has no name");
    }
    return rc;
}

/* Read one event from o; reject unknown members.  Return 0 or a negative errno; strings read so far
 * stay in e.
 */
static int read_event(struct event *e, const json_t *o, struct eddis_error *err)
{
    int rc = fields_read(event_fields, N(event_fields), o, e, err), own = 0;

    if (rc >= 0 && e->type == EVENT_COMMITTED && e->model_bytes < 0)
        rc = eddis_fail(err, -EINVAL, "\"step\" is not a number of bytes of a model");
    if (rc >= 0 && e->type == EVENT_RELAY)
        rc = own = relay_read(&e->relay, o, err);
    return rc < 0 ? rc : fields_end(o, N(event_fields) + (size_t)own, err);
}

/* Read the list "event" of o into a new r->event.  Return a negative errno on failure. */
static int read_events(struct report *r, const json_t *o, struct eddis_error *err)
{
    json_t *list;
    int rc = json_want_array(o, "event", MAX_EVENTS, &list, err);

    if (rc < 0 || json_array_size(list) == 0)
        return rc;
    r->event = calloc(json_array_size(list), sizeof *r->event);
    if (!r->event)
        return eddis_fail(err, -ENOMEM, "no memory for events");
    r->n_events = (int)json_array_size(list);
    for (int i = 0; rc >= 0 && i < r->n_events; i++) {
        const json_t *one = json_array_get(list, (size_t)i);

        rc = read_event(&r->event[i], one, err);
    }
    return rc;
}

/* Read the progress of one worker from o; reject unknown members.  Return a negative errno on
 * failure.
 */
static int read_worker(struct progress *p, const json_t *o, struct eddis_error *err)
{
    int rc = fields_read(progress_fields, N(progress_fields), o, p, err), own = 0;

    if (rc >= 0)
        rc = own = metrics_read(&p->metrics, o, err);
    if (rc >= 0)
        rc = fields_end(o, N(progress_fields) + 1 + (size_t)own, err);
    return rc < 0 ? rc : read_metrics(p, o, err);
}

/* Read the list "worker" of o into a new r->worker.  Return a negative errno on failure. */
static int read_workers(struct report *r, const json_t *o, struct eddis_error *err)
{
    json_t *list;
    int rc = json_want_array(o, "worker", BOARD_MAX_LOCAL, &list, err);

    if (rc < 0 || json_array_size(list) == 0)
        return rc;
    r->worker = calloc(json_array_size(list), sizeof *r->worker);
    if (!r->worker)
        return eddis_fail(err, -ENOMEM, "no memory for progress");
    r->n_workers = (int)json_array_size(list);
    for (int i = 0; rc >= 0 && i < r->n_workers; i++)
        rc = read_worker(&r->worker[i], json_array_get(list, (size_t)i), err);
    return rc;
}

int report_parse(const char *text, size_t n, struct report **ret, struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct report *r;
    int rc = json_parse(text, n, "report", &o, err);

    if (rc < 0)
        return rc;
    r = calloc(1, sizeof *r);
    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for a report");
    rc = fields_read(report_fields, N(report_fields), o, r, err);
    if (rc >= 0)
        rc = read_events(r, o, err);
    if (rc >= 0)
        rc = read_workers(r, o, err);
    if (rc >= 0)
        rc = fields_read_rows(o, "output", &output_rows, (void **)&r->output, &r->n_outputs, err);
    if (rc >= 0)
        rc = fields_read_rows(o, "piece", &piece_rows, (void **)&r->piece, &r->n_pieces, err);
    if (rc >= 0)
        rc = fields_end(o, N(report_fields) + 4, err);
    if (rc < 0) {
        report_free(r);
        return eddis_fail_prefix(err, rc, "report");
    }
    *ret = r;
    return 0;
}

void report_free(struct report *r)
{
    if (!r)
        return;
    for (int i = 0; i < r->n_events; i++) {
        free(r->event[i].text);
        free(r->event[i].last_lines);
        relay_free(&r->event[i].relay);
    }
    for (int i = 0; i < r->n_outputs; i++)
        free(r->output[i].text);
    for (int i = 0; i < r->n_pieces; i++)
        free(r->piece[i].text);
    free(r->event);
    free(r->worker);
    free(r->output);
    free(r->piece);
    free(r);
}
