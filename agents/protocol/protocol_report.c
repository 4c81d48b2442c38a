/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_report.c - converts the messages hello and report to and from JSON */
#include "protocol.h"

#include "lib/base/fields.h"
#include "lib/model/gpu_state_json.h"
#include "lib/model/program_facts_json.h"
#include "protocol_metrics.h"
#include "protocol_relay.h"

#include <errno.h>

enum { MAX_EVENTS = 4096, MAX_OUTPUTS = 4096, MAX_PHASE = 63 };

static const struct field address_fields[] = {
    FIELD(struct node_address, interface, TEXT, 0, 0),
    FIELD(struct node_address, address, TEXT, 0, 0),
    FIELD(struct node_address, prefix, INT, 0, 128),
    FIELD(struct node_address, speed_mbit, INT64, 0, INT32_MAX),
    FIELD(struct node_address, is_virtual, BOOL, 0, 0),
};
static const struct fields address_table = FIELDS(struct node_address, address_fields);

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
    FIELD_ARRAY("address", struct hello, address, n_addresses, address_table),
};
static const struct fields hello_table = FIELDS(struct hello, hello_fields);

static const char *const event_names[] = { "profile", "unmeasured",   "gpus",      "prepared",
                                           "checked", "rank_started", "rank_exit", "mpirun_exit",
                                           "relay",   "network",      "choice",    "committed",
                                           "stopped", "logs",         "failed",    "unsettled",
                                           "note",    "quiet",        "place",     "signal",
                                           "refused", "left" };

static const struct field relay_row[] = { FIELD_STRUCT("relay", struct event, relay, relay_table) };
static const struct field logs_row[] = { FIELD(struct event, order, INT64, 0, INT64_MAX) };
static const struct fields event_own[] = { [EVENT_RELAY] = FIELDS(struct event, relay_row),
                                           [EVENT_LOGS] = FIELDS(struct event, logs_row),
                                           [EVENT_LEFT] = { .n = 0 } };

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
    PROGRAM_ROW(struct event),
    FIELD(struct event, peak_bytes, INT64, 0, INT64_MAX),
    FIELD(struct event, limit_bytes, INT64, 0, INT64_MAX),
    FIELD(struct event, refused, INT64, 0, INT32_MAX),
    FIELD(struct event, text, SENTENCE, 0, 0),
    FIELD(struct event, last_lines, SENTENCE, 0, 0),
    FIELD_UNION(struct event, type, event_own),
};

/* Check that a model's size in an event "committed", which shares the member "step", is not
 * negative (fields.check).  Return 0 or -EINVAL.
 */
static int check_event(const void *event, struct eddis_error *err)
{
    const struct event *e = event;

    if (e->type == EVENT_COMMITTED && e->model_bytes < 0)
        return eddis_fail(err, -EINVAL, "\"step\" is not a number of bytes of a model");
    return 0;
}

static const struct fields event_table = FIELDS(struct event, event_fields, .check = check_event);

static const struct field times_fields[] = {
    FIELD(struct board_times, input_ns, INT64, 0, INT64_MAX),
    FIELD(struct board_times, compute_ns, INT64, 0, INT64_MAX),
    FIELD(struct board_times, exposed_ns, INT64, 0, INT64_MAX),
    FIELD(struct board_times, wait_ns, INT64, 0, INT64_MAX),
    FIELD(struct board_times, total_ns, INT64, 0, INT64_MAX),
};
static const struct fields times_table = FIELDS(struct board_times, times_fields);

#define LOST(key, kind_)                                                                           \
    FIELD_AS(key, struct core_loss, part[CORE_LOSS_##kind_], MEASURE, .low = 0, .high = 1)

static const struct field core_loss_fields[] = {
    LOST("stolen", STOLEN),  LOST("throttled", THROTTLED),
    LOST("others", OTHERS),  LOST("clock_lost", CLOCK),
    LOST("heat_lost", HEAT), FIELD_REAL(struct core_loss, celsius, MEASURE, 0, 1000),
};
static const struct fields core_loss_table = FIELDS(struct core_loss, core_loss_fields);

static const struct field link_fields[] = {
    FIELD_REAL(struct link_load, busy, MEASURE, 0, 1),
    FIELD_REAL(struct link_load, bytes_per_s, MEASURE, 0, 1e15),
    FIELD(struct link_load, peer, LINE, 0, 0),
};
static const struct fields link_table = FIELDS(struct link_load, link_fields);

static const struct field model_fields[] = {
    FIELD(struct model_check, compared, INT64, 0, INT64_MAX),
    FIELD(struct model_check, unlike, INT64, 0, INT64_MAX),
    FIELD(struct model_check, found, INT64, MODEL_CHECK_ALIKE, MODEL_CHECK_NOT_FINITE),
    FIELD(struct model_check, rank, INT64, -1, BOARD_MAX_RANKS - 1),
    FIELD(struct model_check, other, INT64, -1, BOARD_MAX_RANKS - 1),
    FIELD(struct model_check, step, INT64, 0, INT64_MAX),
    FIELD(struct model_check, alike, INT64, 0, INT64_MAX),
    FIELD_REAL(struct model_check, largest, MEASURE, 0, 1e300),
};
static const struct fields model_table = FIELDS(struct model_check, model_fields);

static const struct field metric_fields[] = {
    FIELD(struct board_metric, name, TEXT, 0, 0),
    FIELD(struct board_metric, value, MEASURE, 0, 0),
};

/* Check that a metric has a name (fields.check).  Return 0 or -EINVAL. */
static int check_metric(const void *metric, struct eddis_error *err)
{
    return *((const struct board_metric *)metric)->name
               ? 0
               : eddis_fail(err, -EINVAL, "a metric has no name");
}

static const struct fields metric_table =
    FIELDS(struct board_metric, metric_fields, .check = check_metric);

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
    PROGRAM_ROW(struct progress),
    FIELD(struct progress, staleness, INT, 0, INT32_MAX),
    FIELD(struct progress, exchanges, INT64, 0, INT64_MAX),
    FIELD(struct progress, exchange_ns, INT64, 0, INT64_MAX),
    FIELD(struct progress, page_age_ns, INT64, -1, INT64_MAX),
    FIELD(struct progress, phase_age_ns, INT64, -1, INT64_MAX),
    FIELD(struct progress, waits_for, INT, -1, BOARD_MAX_RANKS - 1),
    FIELD(struct progress, loss, MEASURE, 0, 0),
    FIELD_INLINE("sum_", struct progress, sum, times_table),
    FIELD(struct progress, step_plan, INT64, 0, INT64_MAX),
    FIELD(struct progress, steps_before, INT64, 0, INT64_MAX),
    FIELD(struct progress, samples_before, INT64, 0, INT64_MAX),
    FIELD_INLINE("sum_before_", struct progress, sum_before, times_table),
    FIELD(struct progress, recent_steps, INT64, 0, INT64_MAX),
    FIELD(struct progress, recent_samples, INT64, 0, INT64_MAX),
    FIELD_INLINE("recent_", struct progress, recent, times_table),
    FIELD_REAL(struct progress, queued_s, MEASURE, 0, STEP_FIGURES_MAX_S),
    FIELD_INLINE("", struct progress, core_loss, core_loss_table),
    FIELD_STRUCT_IF("gpu", struct progress, gpu, gpu.reading, gpu_state_table),
    FIELD_ARRAY_IF("gpus", struct progress, gpus, n_gpus, gpu_state_table),
    FIELD_INLINE("link_", struct progress, link, link_table),
    FIELD(struct progress, memory_bytes, INT64, 0, INT64_MAX),
    FIELD(struct progress, memory_told, BOOL, 0, 0),
    FIELD(struct progress, memory_limit_bytes, INT64, 0, INT64_MAX),
    FIELD(struct progress, memory_pool, INT, 0, BOARD_MAX_RANKS - 1),
    FIELD(struct progress, at_once, INT64, 0, INT64_MAX),
    FIELD(struct progress, takes_pieces, BOOL, 0, 0),
    FIELD(struct progress, stops, BOOL, 0, 0),
    FIELD(struct progress, trained, BOOL, 0, 0),
    FIELD(struct progress, ended, BOOL, 0, 0),
    FIELD_AS("told", struct progress, steps_only, BOOL),
    FIELD(struct progress, own_times, BOOL, 0, 0),
    FIELD_INLINE("models_", struct progress, models, model_table),
    FIELD(struct progress, loss_step, INT64, 0, INT64_MAX),
    FIELD_STRUCT_IF("figures", struct progress, metrics, metrics.plan, step_metrics_table),
    FIELD_STRUCT_IF("reported", struct progress, reported, reported.plan, step_metrics_table),
    FIELD_SLOTS("metric", struct progress, metric, metric_table),
};
static const struct fields progress_table = FIELDS(struct progress, progress_fields);

static const struct field output_fields[] = {
    FIELD(struct output, rank, INT, 0, BOARD_MAX_RANKS - 1),
    FIELD(struct output, dropped, INT64, 0, INT64_MAX),
    FIELD(struct output, text, SENTENCE, 0, 0),
    FIELD(struct output, early, BOOL, 0, 0),
};
static const struct fields output_table = FIELDS(struct output, output_fields);

static const struct field piece_fields[] = {
    FIELD(struct log_chunk, rank, INT, PROTOCOL_LOG_MPIRUN, BOARD_MAX_RANKS - 1),
    FIELD(struct log_chunk, order, INT64, 0, INT64_MAX),
    FIELD(struct log_chunk, offset, INT64, 0, INT64_MAX),
    FIELD(struct log_chunk, text, BYTES, 0, 0),
};
static const struct fields piece_table = FIELDS(struct log_chunk, piece_fields);

static const struct field report_fields[] = {
    FIELD(struct report, agent, INT, 0, PROTOCOL_MAX_AGENTS - 1),
    FIELD(struct report, sequence, INT64, 1, INT64_MAX),
    FIELD_OWNED("event", struct report, event, n_events, MAX_EVENTS, event_table),
    FIELD_OWNED("worker", struct report, worker, n_workers, BOARD_MAX_LOCAL, progress_table),
    FIELD_OWNED("output", struct report, output, n_outputs, MAX_OUTPUTS, output_table),
    FIELD_OWNED("piece", struct report, piece, n_pieces, MAX_OUTPUTS, piece_table),
};
static const struct fields report_table = FIELDS(struct report, report_fields);

char *hello_text(const struct hello *h)
{
    return fields_text(&hello_table, h);
}

int hello_parse(const char *text, size_t n, struct hello *ret, struct eddis_error *err)
{
    return fields_parse(&hello_table, text, n, "hello", ret, err);
}

char *report_text(const struct report *r)
{
    return fields_text(&report_table, r);
}

int report_parse(const char *text, size_t n, struct report **ret, struct eddis_error *err)
{
    return fields_parse_new(&report_table, text, n, "report", ret, err);
}

void report_free(struct report *r)
{
    fields_delete(&report_table, r);
}
