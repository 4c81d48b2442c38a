/* SPDX-License-Identifier: Apache-2.0 */
/* past.c - store a program's model, times and memory limits in the cache */
#include "past.h"

#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/model/network.h"
#include "lib/model/program_facts_json.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define N(table) (sizeof table / sizeof *table)

struct past_model past_model(struct file_thread *reader, const struct job *job)
{
    cleanup_free char *key = past_key(job), *text = NULL;
    cleanup_json json_t *o = NULL;
    struct past_model m = { 0 };

    if (!key || job->profile.cache_ns == 0 ||
        job_cache_load(reader, &(struct job_cache_entry){ "model", key }, job->profile.cache_ns,
                       &text) < 0 ||
        json_parse(text, strlen(text), "the model's size", &o, NULL) < 0)
        return m;
    if (json_want_int(o, "bytes", 0, INT64_MAX, &m.bytes, NULL) == 0) {
        (void)fields_read(program_fields, N(program_fields), o, &m.program, NULL);
        (void)json_want_int(o, "n_gradients", 0, INT64_MAX, &m.n_gradients, NULL);
        (void)json_want_int(o, "samples", 0, INT64_MAX, &m.samples, NULL);
        (void)json_want_int(o, "samples_in_epoch", 0, INT64_MAX, &m.samples_in_epoch, NULL);
    }
    return m;
}

int past_model_keep(struct file_thread *reader, const struct job *job,
                    const struct past_model *model, struct eddis_error *err)
{
    cleanup_free char *key = past_key(job), *text = NULL;
    cleanup_json json_t *o = json_object();

    if (!key || !o || json_object_set_new(o, "bytes", json_integer(model->bytes)) < 0 ||
        json_object_set_new(o, "n_gradients", json_integer(model->n_gradients)) < 0 ||
        json_object_set_new(o, "samples", json_integer(model->samples)) < 0 ||
        json_object_set_new(o, "samples_in_epoch", json_integer(model->samples_in_epoch)) < 0 ||
        fields_write(program_fields, N(program_fields), &model->program, o) < 0 ||
        !(text = json_text(o, false)))
        return 0; /* no memory: the next job measures it again */
    return job_cache_store(reader, &(struct job_cache_entry){ "model", key }, text, err);
}

/* ---- workers' times ---- */

#define TIMES_MAX_S    1e12 /* the same limit as in a plan */
#define LINE_MAX_BYTES 1e18

/* Members of a row of times in JSON. */
static const struct field time_fields[] = {
    FIELD(struct planner_time, key, LINE, 0, 0),
    FIELD_REAL(struct planner_time, fixed_s, DOUBLE, 0, TIMES_MAX_S),
    FIELD_REAL(struct planner_time, sample_s, DOUBLE, 1e-15, TIMES_MAX_S),
    FIELD(struct planner_time, largest, INT64, 1, INT64_C(1) << 53),
    FIELD(struct planner_time, learnt_s, INT64, 0, INT64_MAX),
};

static const struct fields time_table = FIELDS(struct planner_time, time_fields);
static const struct field times_row =
    FIELD_OWNED("times", struct past_rows, row, n, PAST_ROWS_MOST, time_table);

static const struct past_kind times_kind = { "times", &times_row,
                                             offsetof(struct planner_time, learnt_s) };

void past_times_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                     struct past_times *ret)
{
    struct planner_time *row;

    (void)past_load(reader, job, model_bytes, &times_kind, &ret->list, NULL);
    row = ret->list.row;
    for (int i = 0; i < ret->list.n; i++)
        row[i].source = TIME_LEARNT;
}

int past_times_set(struct past_times *l, const struct planner_time *row)
{
    return past_put(&times_kind, &l->list, row);
}

int past_times_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                    const struct past_times *l, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();

    return past_keep(reader, job, model_bytes, &times_kind, o, &l->list, err);
}

void past_times_fini(struct past_times *l)
{
    past_rows_fini(&l->list);
}

/* ---- efficiencies ---- */

/* Members of a row of efficiencies in JSON. */
static const struct field efficiency_fields[] = {
    FIELD(struct efficiency_row, key, LINE, 0, 0),
    FIELD(struct efficiency_row, algorithm, LINE, 0, 0),
    FIELD(struct efficiency_row, writers, INT64, 2, INT64_C(1) << 20),
    FIELD(struct efficiency_row, period, INT64, 1, INT64_C(1) << 53),
    FIELD(struct efficiency_row, batch, INT64, 1, INT64_C(1) << 53),
    FIELD_REAL(struct efficiency_row, value, DOUBLE, 1e-6, 1e3),
    FIELD(struct efficiency_row, learnt_s, INT64, 0, INT64_MAX),
};
static const struct fields efficiency_table = FIELDS(struct efficiency_row, efficiency_fields);
static const struct field efficiencies_row =
    FIELD_OWNED("efficiencies", struct past_rows, row, n, PAST_ROWS_MOST, efficiency_table);
static const struct past_kind efficiencies_kind = { "efficiencies", &efficiencies_row,
                                                    offsetof(struct efficiency_row, learnt_s) };

int past_efficiencies_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                           struct past_efficiencies *ret)
{
    return past_load(reader, job, model_bytes, &efficiencies_kind, &ret->list, NULL);
}

int past_efficiencies_set(struct past_efficiencies *l, const struct efficiency_row *row)
{
    struct efficiency_row keyed = *row;

    efficiency_key(&keyed);
    return past_put(&efficiencies_kind, &l->list, &keyed);
}

double past_efficiency(const struct past_efficiencies *l, const struct efficiency_row *row)
{
    const struct efficiency_row *rows = l->list.row;
    struct efficiency_row keyed = *row;
    int i;

    efficiency_key(&keyed);
    i = key_index_find(&l->list.index, rows, keyed.key);
    return i < 0 ? 0 : rows[i].value;
}

int past_efficiencies_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                           const struct past_efficiencies *l, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();

    return past_keep(reader, job, model_bytes, &efficiencies_kind, o, &l->list, err);
}

void past_efficiencies_fini(struct past_efficiencies *l)
{
    past_rows_fini(&l->list);
}

/* ---- workers' memory ---- */

/* Members of a row of memory limits in JSON. */
static const struct field bound_fields[] = {
    FIELD(struct planner_bound, key, LINE, 0, 0),
    FIELD(struct planner_bound, samples, INT64, 1, INT64_C(1) << 53),
    FIELD(struct planner_bound, fitted, INT64, 0, INT64_C(1) << 53),
    FIELD(struct planner_bound, failed, INT64, 0, INT64_C(1) << 53),
    FIELD(struct planner_bound, measured, BOOL, 0, 0),
    FIELD(struct planner_bound, learnt_s, INT64, 0, INT64_MAX),
};

static const struct fields bound_table = FIELDS(struct planner_bound, bound_fields);
static const struct field bounds_row =
    FIELD_OWNED("bounds", struct past_rows, row, n, PAST_ROWS_MOST, bound_table);

static const struct past_kind bounds_kind = { "memory", &bounds_row,
                                              offsetof(struct planner_bound, learnt_s) };

/* Members of a row of a card's memory in JSON. */
static const struct field line_fields[] = {
    FIELD(struct planner_line, key, LINE, 0, 0),
    FIELD_REAL(struct planner_line, fixed_bytes, DOUBLE, 0, LINE_MAX_BYTES),
    FIELD_REAL(struct planner_line, sample_bytes, DOUBLE, 0, LINE_MAX_BYTES),
    FIELD(struct planner_line, learnt_s, INT64, 0, INT64_MAX),
};

static const struct fields line_table = FIELDS(struct planner_line, line_fields);
static const struct field lines_row =
    FIELD_OWNED("lines", struct past_rows, row, n, PAST_ROWS_MOST, line_table);

static const struct past_kind lines_kind = { "cards", &lines_row,
                                             offsetof(struct planner_line, learnt_s) };

void past_memory_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                      struct past_memory *ret)
{
    cleanup_json json_t *o = NULL;

    (void)past_load(reader, job, model_bytes, &bounds_kind, &ret->list, &o);
    (void)past_load(reader, job, model_bytes, &lines_kind, &ret->lines, NULL);
    if (o && json_want_bool(o, "takes_pieces", &ret->takes_pieces, NULL) < 0)
        past_rows_fini(&ret->list);
}

void past_memory_line(struct past_memory *l, const struct planner_line *row)
{
    (void)past_put(&lines_kind, &l->lines, row);
}

/* Return the index of the memory limit with this key; -1: none. */
static int bound_at(const struct past_memory *l, const char *key)
{
    return key_index_find(&l->list.index, l->list.row, key);
}

const struct planner_bound *past_memory_find(const struct past_memory *l, const char *key)
{
    const struct planner_bound *row = l->list.row;
    int i = bound_at(l, key);

    return i < 0 ? NULL : &row[i];
}

int past_memory_set(struct past_memory *l, const struct planner_bound *row, struct eddis_error *err)
{
    const struct planner_bound *history = past_memory_find(l, row->key);
    struct planner_bound both = *row;

    if (history && !history->measured) {
        both.samples = history->samples < row->samples ? history->samples : row->samples;
        both.fitted = history->fitted > row->fitted ? history->fitted : row->fitted;
        if (history->failed > 0 && (row->failed == 0 || history->failed < row->failed))
            both.failed = history->failed;
    }
    if (both.failed > 0 && both.fitted >= both.failed)
        both.fitted = 0; /* it fitted once, but not always */
    if (past_put(&bounds_kind, &l->list, &both) < 0)
        return eddis_fail(err, -ENOMEM, "no memory to keep the workers' memory limits");
    return 0;
}

void past_memory_renew(struct past_memory *l, const char *key, int64_t fitted)
{
    struct planner_bound *row = l->list.row;
    int i = bound_at(l, key);

    if (i < 0)
        return;
    past_renew(&bounds_kind, &l->list, i);
    if (fitted <= row[i].fitted || (row[i].failed > 0 && fitted >= row[i].failed))
        return;
    row[i].fitted = fitted;
    if (row[i].failed > 0 && fitted > row[i].samples)
        row[i].samples = fitted;
}

void past_memory_measured(struct past_memory *l, const struct planner_bound *row, bool binds)
{
    const struct planner_bound *history = past_memory_find(l, row->key);

    if (history && !history->measured)
        return;
    if (binds)
        (void)past_put(&bounds_kind, &l->list, row); /* a lost limit is measured again */
    else if (history) {
        key_index_remove(&l->list.index, l->list.row, bound_at(l, row->key));
        l->list.n--;
    }
}

int past_memory_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                     const struct past_memory *l, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object(), *lines = json_object();
    int rc = past_keep(reader, job, model_bytes, &lines_kind, lines, &l->lines, err);

    if (rc < 0)
        return rc;
    if (o && json_object_set_new(o, "takes_pieces", json_boolean(l->takes_pieces)) < 0)
        return eddis_fail(err, -ENOMEM, "no memory to keep what earlier jobs measured");
    return past_keep(reader, job, model_bytes, &bounds_kind, o, &l->list, err);
}

void past_memory_fini(struct past_memory *l)
{
    past_rows_fini(&l->lines);
    past_rows_fini(&l->list);
}

/* ---- for the planner ---- */

void past_fill(const struct past_model *model, const struct past_times *times,
               const struct past_memory *memory, const struct past_efficiencies *efficiencies,
               struct planner_history *ret)
{
    *ret = (struct planner_history){
        .model_bytes = model->bytes,
        .program = model->program,
        .n_gradients = model->n_gradients,
        .samples = model->samples,
        .samples_in_epoch = model->samples_in_epoch,
        .time = times->list.row,
        .n_times = times->list.n,
        .bound = memory->list.row,
        .n_bounds = memory->list.n,
        .line = memory->lines.row,
        .n_lines = memory->lines.n,
        .takes_pieces = memory->takes_pieces,
        .efficiency = efficiencies->list.row,
        .n_efficiencies = efficiencies->list.n,
    };
}

/* ---- the wire ---- */

void past_wire(const char *measured, struct planner_history *history)
{
    struct network *n = past_network(measured);

    if (n)
        (void)network_wire(n, &history->latency_s, &history->bytes_per_s); /* else unknown */
    network_free(n);
}

struct network *past_network(const char *measured)
{
    struct network *n = NULL;

    if (measured)
        (void)network_parse(measured, strlen(measured), "the network", &n, NULL);
    return n;
}
