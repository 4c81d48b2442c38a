/* SPDX-License-Identifier: Apache-2.0 */
/* past.c - store a program's model, times and memory limits in the cache */
#include "past.h"

#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/fields.h"
#include "lib/base/strbuf.h"
#include "lib/model/network.h"
#include "lib/model/program_facts_json.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Return the key of a program in the cache, for the caller to free:
 * "/home/ann/mnist\npython3\ntrain.py".  NULL: no memory.
 */
static char *key_of(const struct job *job)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, job->workdir);
    for (char **word = job->command; *word; word++)
        strbuf_addf(&b, "\n%s", *word);
    return strbuf_steal(&b);
}

#define N(table) (sizeof table / sizeof *table)

struct past_model past_model(struct file_thread *reader, const struct job *job)
{
    cleanup_free char *key = key_of(job), *text = NULL;
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
    cleanup_free char *key = key_of(job), *text = NULL;
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

enum { TIMES_MOST = 16384 }; /* most rows of a table, of times or of limits */

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
    FIELD_OWNED("times", struct past_rows, row, n, TIMES_MOST, time_table);

/* Return the key of a program's tables in the cache, for the caller to free.  It contains the
 * version of eddis, since another version may train or wait differently.  NULL: no memory.
 */
static char *times_key(const struct job *job)
{
    cleanup_free char *program = key_of(job);
    struct strbuf b = { 0 };

    if (!program)
        return NULL;
    strbuf_addf(&b, "%s\n%s", EDDIS_VERSION, program);
    return strbuf_steal(&b);
}

/* One kind of table: the workers' times, their memory limits, or efficiencies. */
struct kind {
    const char *name;        /* kind of the cache entry */
    const struct field *row; /* description of the array of rows in struct past_rows */
    size_t learnt_at;        /* offset of the row's member for its time of measurement (Unix time in
                              * seconds) */
};

/* Return the Unix time in seconds. */
static int64_t now_s(void)
{
    return clock_wall_ns() / CLOCK_S;
}

/* Return a pointer to row i of `rows`, a table of workers' times or memory limits, never NULL; i is
 * not checked.
 */
static void *row_at(const struct kind *kind, void *rows, int i)
{
    return (char *)rows + (size_t)i * kind->row->of->size;
}

/* Return a pointer to the time of measurement in row i of `rows`, through which the caller may
 * change the time; never NULL.
 */
static int64_t *learnt_at(const struct kind *kind, void *rows, int i)
{
    return (int64_t *)((char *)row_at(kind, rows, i) + kind->learnt_at);
}

/* Make room for one more row in a table.  Return 0, or -ENOMEM without memory or at TIMES_MOST
 * rows.
 */
static int make_room(const struct kind *kind, struct past_rows *l)
{
    int room = l->n ? 2 * l->n : 1;
    void *more;

    if (l->n >= TIMES_MOST)
        return -ENOMEM;
    if (l->n < l->room)
        return 0;
    more = realloc(l->row, (size_t)room * kind->row->of->size);
    if (!more)
        return -ENOMEM;
    l->row = more;
    l->room = room;
    return 0;
}

/* Add a row to a table, or replace the row with the same key.  The row's time of measurement
 * becomes the present time.  Return 0, or -ENOMEM without memory or room.
 */
static int put_row(const struct kind *kind, struct past_rows *l, const void *row)
{
    int i = key_index_find(&l->index, l->row, row);

    if (i < 0 && make_room(kind, l) < 0)
        return -ENOMEM;
    l->index.row_bytes = kind->row->of->size;
    memcpy(row_at(kind, l->row, i < 0 ? l->n : i), row, kind->row->of->size);
    *learnt_at(kind, l->row, i < 0 ? l->n : i) = now_s();
    if (i >= 0)
        return 0;
    if (key_index_add(&l->index, l->row) < 0)
        return -ENOMEM;
    l->n++;
    return 0;
}

/* Free a table's rows and clear it. */
static void rows_fini(struct past_rows *l)
{
    key_index_fini(&l->index);
    free(l->row);
    *l = (struct past_rows){ 0 };
}

/* Delete the rows of a table that are too old or dated in the future. */
static void drop_old(const struct kind *kind, int64_t age_ns, struct past_rows *l)
{
    int64_t now = now_s(), learnt;
    int n = 0;

    for (int i = 0; i < l->n; i++) {
        learnt = *learnt_at(kind, l->row, i);
        if (learnt <= now && now - learnt <= age_ns / CLOCK_S)
            memmove(row_at(kind, l->row, n++), row_at(kind, l->row, i), kind->row->of->size);
    }
    l->n = n;
}

/* Read the rows of an empty table from JSON.  Return 0, -ESTALE if they belong to a model of
 * another size than model_bytes, or another negative error.
 */
static int read_rows(json_t *o, int64_t model_bytes, const struct kind *kind, struct past_rows *l)
{
    int64_t bytes;
    int rc = json_want_int(o, "model_bytes", 0, INT64_MAX, &bytes, NULL);

    if (rc == 0 && bytes != model_bytes)
        rc = -ESTALE;
    if (rc == 0)
        rc = fields_read(kind->row, 1, o, l, NULL);
    rc = rc < 0 ? rc : 0;
    l->room = l->n;
    l->index.row_bytes = kind->row->of->size;
    return rc;
}

/* Load the table *l, which is empty, from the cache.  Return the entry's JSON object, for the
 * caller to release; NULL: no usable entry, *l stays empty.
 */
static json_t *load_rows(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                         const struct kind *kind, struct past_rows *l)
{
    cleanup_free char *key = times_key(job), *text = NULL;
    cleanup_json json_t *o = NULL;
    int64_t age_ns = job->profile.cache_ns;

    if (!key || model_bytes == 0 || age_ns == 0 ||
        job_cache_load(reader, &(struct job_cache_entry){ kind->name, key }, age_ns, &text) < 0 ||
        json_parse(text, strlen(text), "what was learnt", &o, NULL) < 0)
        return NULL;
    if (read_rows(o, model_bytes, kind, l) == 0) {
        drop_old(kind, age_ns, l);
        if (key_index_add_all(&l->index, l->row, l->n) == 0)
            return cleanup_keep(o);
    }
    rows_fini(l);
    return NULL;
}

/* Store a table in the cache, as a part of object o, which may have other members.  A NULL o counts
 * as no memory.  Return 0 or a negative error.
 */
static int keep_rows(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                     const struct kind *kind, json_t *o, const struct past_rows *l,
                     struct eddis_error *err)
{
    cleanup_free char *key = times_key(job), *text = NULL;

    if (!key || !o || json_object_set_new(o, "model_bytes", json_integer(model_bytes)) < 0 ||
        fields_write(kind->row, 1, l, o) < 0 || !(text = json_text(o, false)))
        return eddis_fail(err, -ENOMEM, "no memory to keep what earlier jobs measured");
    return job_cache_store(reader, &(struct job_cache_entry){ kind->name, key }, text, err);
}

static const struct kind times_kind = { "times", &times_row,
                                        offsetof(struct planner_time, learnt_s) };

void past_times_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                     struct past_times *ret)
{
    cleanup_json json_t *o = load_rows(reader, job, model_bytes, &times_kind, &ret->list);
    struct planner_time *row = ret->list.row;

    for (int i = 0; o && i < ret->list.n; i++)
        row[i].source = TIME_LEARNT;
}

int past_times_set(struct past_times *l, const struct planner_time *row)
{
    return put_row(&times_kind, &l->list, row);
}

int past_times_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                    const struct past_times *l, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();

    return keep_rows(reader, job, model_bytes, &times_kind, o, &l->list, err);
}

void past_times_fini(struct past_times *l)
{
    rows_fini(&l->list);
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
    FIELD_OWNED("efficiencies", struct past_rows, row, n, TIMES_MOST, efficiency_table);
static const struct kind efficiencies_kind = { "efficiencies", &efficiencies_row,
                                               offsetof(struct efficiency_row, learnt_s) };

void past_efficiencies_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                            struct past_efficiencies *ret)
{
    json_decref(load_rows(reader, job, model_bytes, &efficiencies_kind, &ret->list));
}

int past_efficiencies_set(struct past_efficiencies *l, const struct efficiency_row *row)
{
    struct efficiency_row keyed = *row;

    efficiency_key(&keyed);
    return put_row(&efficiencies_kind, &l->list, &keyed);
}

int past_efficiencies_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                           const struct past_efficiencies *l, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();

    return keep_rows(reader, job, model_bytes, &efficiencies_kind, o, &l->list, err);
}

void past_efficiencies_fini(struct past_efficiencies *l)
{
    rows_fini(&l->list);
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
    FIELD_OWNED("bounds", struct past_rows, row, n, TIMES_MOST, bound_table);

static const struct kind bounds_kind = { "memory", &bounds_row,
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
    FIELD_OWNED("lines", struct past_rows, row, n, TIMES_MOST, line_table);

static const struct kind lines_kind = { "cards", &lines_row,
                                        offsetof(struct planner_line, learnt_s) };

void past_memory_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                      struct past_memory *ret)
{
    cleanup_json json_t *o = load_rows(reader, job, model_bytes, &bounds_kind, &ret->list);

    json_decref(load_rows(reader, job, model_bytes, &lines_kind, &ret->lines));
    if (o && json_want_bool(o, "takes_pieces", &ret->takes_pieces, NULL) < 0)
        rows_fini(&ret->list);
}

void past_memory_line(struct past_memory *l, const struct planner_line *row)
{
    (void)put_row(&lines_kind, &l->lines, row);
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
    if (put_row(&bounds_kind, &l->list, &both) < 0)
        return eddis_fail(err, -ENOMEM, "no memory to keep the workers' memory limits");
    return 0;
}

void past_memory_renew(struct past_memory *l, const char *key, int64_t fitted)
{
    struct planner_bound *row = l->list.row;
    int i = bound_at(l, key);

    if (i < 0)
        return;
    *learnt_at(&bounds_kind, l->list.row, i) = now_s();
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
        (void)put_row(&bounds_kind, &l->list, row); /* a lost limit is measured again */
    else if (history) {
        key_index_remove(&l->list.index, l->list.row, bound_at(l, row->key));
        l->list.n--;
    }
}

int past_memory_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                     const struct past_memory *l, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object(), *lines = json_object();
    int rc = keep_rows(reader, job, model_bytes, &lines_kind, lines, &l->lines, err);

    if (rc < 0)
        return rc;
    if (o && json_object_set_new(o, "takes_pieces", json_boolean(l->takes_pieces)) < 0)
        return eddis_fail(err, -ENOMEM, "no memory to keep what earlier jobs measured");
    return keep_rows(reader, job, model_bytes, &bounds_kind, o, &l->list, err);
}

void past_memory_fini(struct past_memory *l)
{
    rows_fini(&l->lines);
    rows_fini(&l->list);
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
