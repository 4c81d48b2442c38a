/* SPDX-License-Identifier: Apache-2.0 */
/* status_json.c - converts a job's status to and from JSON, by tables of its members */
#include "status_json.h"

#include "agents/protocol/protocol_metrics.h"
#include "lib/base/fields.h"
#include "lib/model/gpu_state_json.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N(table) (sizeof(table) / sizeof *(table))

static const char *const state_names[JOB_STATES] = { "starting",  "profiling", "planning",
                                                     "launching", "running",   "stopping",
                                                     "ended",     "lost" };

/* Members of "equal_split_samples_per_s". */
static const struct field equal_fields[] = {
    FIELD_AS("predicted", struct job_status, equal_predicted_samples_per_s, MEASURE, 0),
    FIELD_AS("measured", struct job_status, equal_measured_samples_per_s, MEASURE, 0),
};
static const struct fields equal_table = FIELDS(struct job_status, equal_fields, .open = true);

/* Members of "first_failure". */
static const struct field failure_fields[] = {
    FIELD(struct first_failure, rank, INT, -1, INT32_MAX),
    FIELD(struct first_failure, pid, INT, 0, INT32_MAX),
    FIELD(struct first_failure, node, TEXT, 0, 0),
    FIELD(struct first_failure, what, TEXT, 0, 0),
    FIELD(struct first_failure, code, INT, -1, 255),
    FIELD(struct first_failure, signal, INT, 0, 64),
    FIELD(struct first_failure, step, INT64, -1, INT64_MAX),
};
static const struct fields failure_table =
    FIELDS(struct first_failure, failure_fields, .open = true);

/* Members of "checkpoints". */
static const struct field checkpoint_fields[] = {
    FIELD(struct checkpoint_status, written, INT64, 0, INT64_MAX),
    FIELD(struct checkpoint_status, failed, INT64, 0, INT64_MAX),
    FIELD(struct checkpoint_status, newest, INT64, -1, INT64_MAX),
    FIELD(struct checkpoint_status, reason, TEXT, 0, 0),
};
static const struct fields checkpoint_table =
    FIELDS(struct checkpoint_status, checkpoint_fields, .open = true);

/* Members of each item of "plans". */
static const struct field plan_fields[] = {
    FIELD(struct plan_status, generation, INT64, 0, INT32_MAX),
    FIELD(struct plan_status, version, INT64, 0, INT64_MAX),
    FIELD(struct plan_status, since, INT64, -1, INT64_MAX),
    FIELD(struct plan_status, steps, INT64, 0, INT64_MAX),
    FIELD(struct plan_status, samples_per_s, MEASURE, 0, 0),
    FIELD(struct plan_status, predicted_samples_per_s, MEASURE, 0, 0),
    FIELD(struct plan_status, ideal_samples_per_s, MEASURE, 0, 0),
    FIELD(struct plan_status, reason, TEXT, 0, 0),
};
static const struct fields plan_table =
    FIELDS(struct plan_status, plan_fields, .open = true, .name = "plan");

/* Members of each item of "workers". */
static const struct field worker_fields[] = {
    FIELD(struct worker_status, rank, INT, 0, STATUS_MAX_WORKERS - 1),
    FIELD(struct worker_status, pid, INT, 0, INT32_MAX),
    FIELD(struct worker_status, node, TEXT, 0, 0),
    FIELD(struct worker_status, device, TEXT, 0, 0),
    FIELD(struct worker_status, state, TEXT, 0, 0),
    FIELD(struct worker_status, steps_done, INT64, 0, INT64_MAX),
    FIELD(struct worker_status, batch, INT64, 0, INT64_MAX),
    FIELD(struct worker_status, samples_per_s, MEASURE, 0, 0),
    FIELD(struct worker_status, step_ms, MEASURE, 0, 0),
    FIELD(struct worker_status, compute_ms, MEASURE, 0, 0),
    FIELD(struct worker_status, input_ms, MEASURE, 0, 0),
    FIELD(struct worker_status, exposed_ms, MEASURE, 0, 0),
    FIELD(struct worker_status, wait_ms, MEASURE, 0, 0),
    FIELD(struct worker_status, expected_ms, MEASURE, 0, 0),
    FIELD(struct worker_status, relative_speed, MEASURE, 0, 0),
    FIELD(struct worker_status, overrun_ms, MEASURE, 0, 0),
    FIELD(struct worker_status, last_step_age_s, MEASURE, 0, 0),
    FIELD(struct worker_status, queued_ms, MEASURE, 0, 0),
    FIELD(struct worker_status, memory_bytes, INT64, 0, INT64_MAX),
    FIELD(struct worker_status, straggler, TEXT, 0, 0),
    FIELD(struct worker_status, straggler_times, MEASURE, 0, 0),
    FIELD(struct worker_status, straggler_since, INT64, 0, INT64_MAX),
    FIELD(struct worker_status, straggler_confidence, MEASURE, 0, 0),
    FIELD(struct worker_status, straggler_says, TEXT, 0, 0),
    FIELD(struct worker_status, memory_told, BOOL, 0, 0),
    FIELD(struct worker_status, piece, INT64, 0, INT64_MAX),
    FIELD(struct worker_status, group, INT, 0, STATUS_MAX_WORKERS - 1),
    FIELD(struct worker_status, staleness, INT, 0, INT32_MAX),
    FIELD_STRUCT_IF("gpu", struct worker_status, gpu, gpu.reading, gpu_state_table),
    FIELD_ARRAY_IF("gpus", struct worker_status, gpus, n_gpus, gpu_state_table),
    FIELD_STRUCT_IF("figures", struct worker_status, metrics, metrics.plan, step_metrics_table),
};
static const struct fields worker_table = FIELDS(struct worker_status, worker_fields, .open = true);

static const struct field plans_row[] = {
    FIELD_ARRAY("plans", struct job_status, plan, n_plans, plan_table),
};

/* Members of the status itself. */
static const struct field job_fields[] = {
    FIELD(struct job_status, job, TEXT, 0, 0),
    FIELD(struct job_status, name, TEXT, 0, 0),
    FIELD_WORD(struct job_status, state, state_names),
    FIELD(struct job_status, reason, TEXT, 0, 0),
    FIELD(struct job_status, message, TEXT, 0, 0),
    FIELD(struct job_status, mode, TEXT, 0, 0),
    FIELD(struct job_status, algorithm, TEXT, 0, 0),
    FIELD(struct job_status, generation, INT64, 0, INT32_MAX),
    FIELD(struct job_status, plan_version, INT64, 0, INT64_MAX),
    FIELD(struct job_status, generations, INT64, 0, INT32_MAX),
    FIELD(struct job_status, replans, INT64, 0, INT64_MAX),
    FIELD(struct job_status, restarts, INT64, 0, INT32_MAX),
    FIELD(struct job_status, n_nodes, INT, 0, INT32_MAX),
    FIELD(struct job_status, steps_done, INT64, 0, INT64_MAX),
    FIELD(struct job_status, steps_total, INT64, 0, INT64_MAX),
    FIELD(struct job_status, epoch, INT64, 0, INT64_MAX),
    FIELD(struct job_status, epochs, INT64, 0, INT64_MAX),
    FIELD(struct job_status, samples, INT64, 0, INT64_MAX),
    FIELD(struct job_status, global_batch, INT64, 0, INT64_MAX),
    FIELD(struct job_status, loss, MEASURE, 0, 0),
    FIELD(struct job_status, accuracy, MEASURE, 0, 0),
    FIELD(struct job_status, test_loss, MEASURE, 0, 0),
    FIELD(struct job_status, samples_per_s, MEASURE, 0, 0),
    FIELD(struct job_status, recent_samples_per_s, MEASURE, 0, 0),
    FIELD(struct job_status, ideal_samples_per_s, MEASURE, 0, 0),
    FIELD(struct job_status, predicted_samples_per_s, MEASURE, 0, 0),
    FIELD(struct job_status, start_s, MEASURE, 0, 0),
    FIELD(struct job_status, wall_s, MEASURE, 0, 0),
    FIELD(struct job_status, eta_s, MEASURE, 0, 0),
    FIELD(struct job_status, recovery_s, MEASURE, 0, 0),
    FIELD(struct job_status, emulated, BOOL, 0, 0),
    FIELD(struct job_status, waiting, TEXT, 0, 0),
    FIELD(struct job_status, refused, TEXT, 0, 0),
    FIELD(struct job_status, stragglers, INT64, 0, INT64_MAX),
    FIELD(struct job_status, recent_ideal_samples_per_s, MEASURE, 0, 0),
    FIELD(struct job_status, all_slow_times, MEASURE, 0, 0),
    FIELD(struct job_status, node_losses, INT64, 0, INT32_MAX),
    FIELD(struct job_status, stopped_by_program, BOOL, 0, 0),
    FIELD(struct job_status, models_compared, INT64, 0, INT64_MAX),
    FIELD(struct job_status, models_unlike, INT64, 0, INT64_MAX),
    FIELD(struct job_status, models_largest, MEASURE, 0, 0),
    FIELD(struct job_status, models_say, TEXT, 0, 0),
    FIELD(struct job_status, loss_says, TEXT, 0, 0),
    FIELD_GROUP("equal_split_samples_per_s", equal_table),
    FIELD_STRUCT("checkpoints", struct job_status, checkpoints, checkpoint_table),
    FIELD_ARRAY_IF("left_out", struct job_status, left, n_left, plan_left_table),
};

/* Set every member of struct s that the table f [n] lists as FIELD_MEASURE to NAN, unknown. */
static void forget_measures(const struct field *f, size_t n, void *s)
{
    for (size_t i = 0; i < n; i++)
        if (f[i].kind == FIELD_MEASURE)
            *(double *)((char *)s + f[i].offset) = NAN;
}

void job_status_init(struct job_status *s)
{
    memset(s, 0, sizeof *s);
    s->exit_code = -1;
    s->failure.rank = s->failure.code = -1;
    s->failure.step = s->checkpoints.newest = -1;
    forget_measures(job_fields, N(job_fields), s);
    forget_measures(equal_fields, N(equal_fields), s);
}

int job_status_resize(struct job_status *s, int n, struct eddis_error *err)
{
    struct worker_status *worker = NULL;

    if (n < 0 || n > STATUS_MAX_WORKERS)
        return eddis_fail(err, -EINVAL, "a job cannot have %d workers", n);
    if (n) {
        worker = calloc((size_t)n, sizeof *worker);
        if (!worker)
            return eddis_fail(err, -ENOMEM, "no memory for %d workers", n);
    }
    for (int i = 0; i < n; i++) {
        forget_measures(worker_fields, N(worker_fields), &worker[i]);
        worker[i].rank = i;
        strcpy(worker[i].state, "waiting");
    }
    free(s->worker);
    s->worker = worker;
    s->n_workers = n;
    return 0;
}

void job_status_fini(struct job_status *s)
{
    free(s->worker);
    job_status_init(s);
}

const char *job_state_name(enum job_state state)
{
    return state < JOB_STATES ? state_names[state] : "unknown";
}

/* ---- writing ---- */

/* Add to o the list "workers" with n workers of s: those with the indices rank[n], or the first n
 * if rank is NULL.  Return 0 or -ENOMEM.
 */
static int write_workers(json_t *o, const struct job_status *s, const int *rank, int n)
{
    json_t *list = json_array();

    if (json_object_set_new(o, "workers", list) < 0)
        return -ENOMEM;
    for (int i = 0; i < n; i++)
        if (json_array_append_new(list,
                                  fields_json(&worker_table, &s->worker[rank ? rank[i] : i])) < 0)
            return -ENOMEM;
    return 0;
}

/* Add all members of the status except plans and workers to o.  Return 0 or -ENOMEM. */
static int write_job(json_t *o, const struct job_status *s)
{
    json_t *code = s->exit_code < 0 ? json_null() : json_integer(s->exit_code);
    json_t *failure;

    if (json_object_set_new(o, "exit_code", code) < 0 ||
        fields_write(job_fields, N(job_fields), s, o) < 0)
        return -ENOMEM;
    failure = s->failure.set ? fields_json(&failure_table, &s->failure) : json_null();
    return json_object_set_new(o, "first_failure", failure) < 0 ? -ENOMEM : 0;
}

char *job_status_text(const struct job_status *s)
{
    cleanup_json json_t *o = json_pack("{s:i}", "schema_version", STATUS_SCHEMA_VERSION);

    if (!o || write_job(o, s) < 0 || fields_write(plans_row, N(plans_row), s, o) < 0 ||
        write_workers(o, s, NULL, s->n_workers) < 0)
        return NULL;
    return json_text(o, true);
}

char *job_status_line(const struct job_status *s, const int *rank, int n)
{
    cleanup_json json_t *o = json_pack("{s:i}", "schema_version", STATUS_SCHEMA_VERSION);

    if (!o || write_job(o, s) < 0 || write_workers(o, s, rank, n) < 0)
        return NULL;
    return json_text(o, false);
}

char *job_status_workers_text(const struct job_status *s)
{
    cleanup_json json_t *o = json_pack("{s:i}", "schema_version", STATUS_SCHEMA_VERSION);

    if (!o || json_object_set_new(o, "job", json_string(s->job)) < 0 ||
        write_workers(o, s, NULL, s->n_workers) < 0)
        return NULL;
    return json_text(o, true);
}

/* ---- reading: unknown members are ignored, since a newer driver may write more ---- */

/* Replace the workers of s by the list "workers" of o, if there is one.  Return 0 or a negative
 * errno.
 */
static int read_workers(const json_t *o, struct job_status *s, struct eddis_error *err)
{
    json_t *list = json_object_get(o, "workers");
    int rc;

    if (!list)
        return 0;
    rc = json_want_array(o, "workers", STATUS_MAX_WORKERS, &list, err);
    if (rc == 0)
        rc = job_status_resize(s, (int)json_array_size(list), err);
    for (int i = 0; i < s->n_workers && rc >= 0; i++) {
        rc = fields_fill(&worker_table, json_array_get(list, (size_t)i), &s->worker[i], err);
        if (rc < 0)
            eddis_fail_prefix(err, rc, "worker %d", i);
    }
    return rc < 0 ? rc : 0;
}

/* Read the object "first_failure" of o into s->failure and set failure.set; if it is null or
 * missing, leave failure unset.  Return 0 or a negative errno.
 */
static int read_failure(const json_t *o, struct job_status *s, struct eddis_error *err)
{
    json_t *group;
    int rc;

    if (!json_has(o, "first_failure"))
        return 0;
    rc = json_want_object(o, "first_failure", &group, err);
    if (rc == 0)
        rc = fields_fill(&failure_table, group, &s->failure, err);
    s->failure.set = rc >= 0;
    return rc;
}

/* Read the whole status from o into s, which job_status_init has prepared.  Return 0 or a negative
 * errno.
 */
static int read_job(const json_t *o, struct job_status *s, struct eddis_error *err)
{
    int64_t schema, code = -1;
    int rc = json_want_int(o, "schema_version", 1, INT32_MAX, &schema, err);

    if (rc == 0 && schema != STATUS_SCHEMA_VERSION)
        rc = eddis_fail(err, -EINVAL, "schema %lld is of another version of eddis",
                        (long long)schema);
    if (rc == 0 && json_has(o, "exit_code"))
        rc = json_want_int(o, "exit_code", 0, 255, &code, err);
    if (rc == 0)
        rc = fields_read(job_fields, N(job_fields), o, s, err);
    if (rc >= 0)
        rc = read_failure(o, s, err);
    if (rc >= 0 && json_has(o, "plans")) /* a line of metrics.jsonl has none */
        rc = fields_read(plans_row, N(plans_row), o, s, err);
    s->exit_code = (int)code;
    return rc < 0 ? rc : read_workers(o, s, err);
}

int job_status_parse(const char *text, size_t n, const char *what, struct job_status *ret,
                     struct eddis_error *err)
{
    cleanup_json json_t *o = NULL;
    struct job_status s;
    int rc = json_parse(text, n, what, &o, err);

    if (rc < 0)
        return rc;
    job_status_init(&s);
    rc = read_job(o, &s, err);
    if (rc < 0) {
        job_status_fini(&s);
        return eddis_fail_prefix(err, rc, "%s", what);
    }
    *ret = s;
    return 0;
}
