/* SPDX-License-Identifier: Apache-2.0 */
/* learned.c - a program's model and its workers' times, remembered, and a network's figures for the
 * planner
 */
#include "learned.h"

#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/fields.h"
#include "lib/base/strbuf.h"
#include "lib/model/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "/home/ann/mnist\npython3\ntrain.py"; NULL without memory. */
static char *key_of(const struct job *job)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, job->workdir);
    for (char **word = job->command; *word; word++)
        strbuf_addf(&b, "\n%s", *word);
    return strbuf_steal(&b);
}

struct learned_model learned_model(struct file_thread *looks, const struct job *job)
{
    cleanup_free char *key = key_of(job), *text = NULL;
    cleanup_json json_t *o = NULL;
    struct learned_model m = { 0 };

    if (!key || job->profile.cache_ns == 0 ||
        job_cache_load(looks, &(struct job_cache_entry){ "model", key }, job->profile.cache_ns,
                       &text, NULL) < 0 ||
        json_parse(text, strlen(text), "the model's size", &o, NULL) < 0)
        return m;
    if (json_want_int(o, "bytes", 0, INT64_MAX, &m.bytes, NULL) == 0) {
        (void)json_want_int(o, "gradients", 0, INT64_MAX, &m.n_gradients, NULL);
        (void)json_want_int(o, "samples", 0, INT64_MAX, &m.samples, NULL);
    }
    return m;
}

int learned_keep_model(struct file_thread *looks, const struct job *job,
                       const struct learned_model *model, struct eddis_error *err)
{
    cleanup_free char *key = key_of(job);
    char text[128];

    if (!key)
        return 0; /* the next run measures it again */
    (void)snprintf(text, sizeof text, "{\"bytes\": %lld, \"gradients\": %lld, \"samples\": %lld}",
                   (long long)model->bytes, (long long)model->n_gradients,
                   (long long)model->samples);
    return job_cache_store(looks, &(struct job_cache_entry){ "model", key }, text, err);
}

/* ---- workers' times ---- */

enum { TIMES_MOST = 16384 };

#define TIMES_MAX_S 1e12 /* as a plan's */

static const struct field time_fields[] = {
    FIELD(struct planner_time, key, LINE, 0, 0),
    FIELD_REAL(struct planner_time, fixed_s, DOUBLE, 0, TIMES_MAX_S),
    FIELD_REAL(struct planner_time, sample_s, DOUBLE, 1e-15, TIMES_MAX_S),
    FIELD(struct planner_time, largest, INT64, 1, INT64_C(1) << 53),
};

static const struct field_rows time_rows = FIELD_ROWS(time_fields, struct planner_time, TIMES_MOST);

/* Another version of eddis may train, or wait, in another way. */
static char *times_key(const struct job *job)
{
    cleanup_free char *program = key_of(job);
    struct strbuf b = { 0 };

    if (!program)
        return NULL;
    strbuf_addf(&b, "%s\n%s", EDDIS_VERSION, program);
    return strbuf_steal(&b);
}

/* Rows of the workers that are learnt of a program. */
struct kind {
    const char *name, *list; /* of the entry, and of the rows in it */
    const struct field_rows *rows;
};

/* Those of a program whose model has so many bytes.  -ESTALE: it had others. */
static int read_rows(json_t *o, int64_t model_bytes, const struct kind *kind, void **ret,
                     int *ret_n)
{
    int64_t bytes;
    int rc = json_want_int(o, "model_bytes", 0, INT64_MAX, &bytes, NULL);

    if (rc == 0 && bytes != model_bytes)
        rc = -ESTALE;
    return rc < 0 ? rc : fields_read_rows(o, kind->list, kind->rows, ret, ret_n, NULL);
}

/* Fill rows, and the object in which they are, or return why there are none. */
static int load_rows(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                     const struct kind *kind, json_t **ret, void **ret_row, int *ret_n)
{
    cleanup_free char *key = times_key(job), *text = NULL;
    int rc;

    if (!key || model_bytes == 0 || job->profile.cache_ns == 0)
        return -ENOENT;
    rc = job_cache_load(looks, &(struct job_cache_entry){ kind->name, key }, job->profile.cache_ns,
                        &text, NULL);
    if (rc < 0 || (rc = json_parse(text, strlen(text), "what was learnt", ret, NULL)) < 0)
        return rc;
    rc = read_rows(*ret, model_bytes, kind, ret_row, ret_n);
    if (rc < 0)
        free(*ret_row);
    return rc;
}

/* Keep rows [n] in object o, which may hold more; NULL: there was no memory for it. */
static int keep_rows(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                     const struct kind *kind, json_t *o, const void *row, int n,
                     struct eddis_error *err)
{
    cleanup_free char *key = times_key(job), *text = NULL;

    if (!key || !o || json_object_set_new(o, "model_bytes", json_integer(model_bytes)) < 0 ||
        fields_write_rows(o, kind->list, kind->rows, row, (size_t)n) < 0 ||
        !(text = json_text(o, false)))
        return eddis_fail(err, -ENOMEM, "no memory to keep what was learnt");
    return job_cache_store(looks, &(struct job_cache_entry){ kind->name, key }, text, err);
}

static const struct kind times_kind = { "times", "times", &time_rows };

void learned_times_load(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                        struct learned_times *ret)
{
    cleanup_json json_t *o = NULL;
    void *row = NULL;
    int n;

    if (load_rows(looks, job, model_bytes, &times_kind, &o, &row, &n) < 0)
        return;
    ret->row = row;
    ret->n = n;
    for (int i = 0; i < n; i++)
        ret->row[i].source = TIME_LEARNT;
}

int learned_times_set(struct learned_times *l, const struct planner_time *row)
{
    struct planner_time *more;
    int i = 0;

    while (i < l->n && strcmp(l->row[i].key, row->key) != 0)
        i++;
    if (i == l->n) {
        more = i < TIMES_MOST ? realloc(l->row, (size_t)(i + 1) * sizeof *more) : NULL;
        if (!more)
            return -ENOMEM;
        l->row = more;
        l->n++;
    }
    l->row[i] = *row;
    return 0;
}

int learned_times_keep(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                       const struct learned_times *l, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();

    return keep_rows(looks, job, model_bytes, &times_kind, o, l->row, l->n, err);
}

void learned_times_fini(struct learned_times *l)
{
    free(l->row);
    *l = (struct learned_times){ 0 };
}

/* ---- workers' memory ---- */

static const struct field bound_fields[] = {
    FIELD(struct planner_bound, key, LINE, 0, 0),
    FIELD(struct planner_bound, samples, INT64, 1, INT64_C(1) << 53),
    FIELD_LATE(struct planner_bound, measured, BOOL, 0, 0),
};

static const struct field_rows bound_rows =
    FIELD_ROWS(bound_fields, struct planner_bound, TIMES_MOST);

static const struct kind bounds_kind = { "memory", "bounds", &bound_rows };

void learned_memory_load(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                         struct learned_memory *ret)
{
    cleanup_json json_t *o = NULL;
    void *row = NULL;
    int n;

    if (load_rows(looks, job, model_bytes, &bounds_kind, &o, &row, &n) < 0)
        return;
    if (json_want_bool(o, "takes_pieces", &ret->takes_pieces, NULL) < 0) {
        free(row);
        return;
    }
    ret->row = row;
    ret->n = n;
}

/* Its place, or behind all of them. */
static int bound_at(const struct learned_memory *l, const char *key)
{
    int i = 0;

    while (i < l->n && strcmp(l->row[i].key, key) != 0)
        i++;
    return i;
}

static int put_bound(struct learned_memory *l, int i, const struct planner_bound *row)
{
    struct planner_bound *more;

    if (i == l->n) {
        more = i < TIMES_MOST ? realloc(l->row, (size_t)(i + 1) * sizeof *more) : NULL;
        if (!more)
            return -ENOMEM;
        l->row = more;
        l->n++;
    }
    l->row[i] = *row;
    return 0;
}

int learned_memory_set(struct learned_memory *l, const struct planner_bound *row,
                       struct eddis_error *err)
{
    int i = bound_at(l, row->key);

    if (i < l->n && !l->row[i].measured && l->row[i].samples <= row->samples)
        return 0;
    if (put_bound(l, i, row) < 0)
        return eddis_fail(err, -ENOMEM, "no memory to keep what a worker's memory holds");
    return 0;
}

void learned_memory_measured(struct learned_memory *l, const struct planner_bound *row, bool binds)
{
    int i = bound_at(l, row->key);

    if (i < l->n && !l->row[i].measured)
        return;
    if (binds)
        (void)put_bound(l, i, row); /* without memory it is measured again */
    else if (i < l->n)
        l->row[i] = l->row[--l->n];
}

int learned_memory_keep(struct file_thread *looks, const struct job *job, int64_t model_bytes,
                        const struct learned_memory *l, struct eddis_error *err)
{
    cleanup_json json_t *o = json_object();

    if (o && json_object_set_new(o, "takes_pieces", json_boolean(l->takes_pieces)) < 0)
        return eddis_fail(err, -ENOMEM, "no memory to keep what was learnt");
    return keep_rows(looks, job, model_bytes, &bounds_kind, o, l->row, l->n, err);
}

void learned_memory_fini(struct learned_memory *l)
{
    free(l->row);
    *l = (struct learned_memory){ .takes_pieces = l->takes_pieces };
}

/* ---- the wire ---- */

void learned_wire(const char *measured, struct planner_known *known)
{
    struct network *n = NULL;

    if (measured && network_parse(measured, strlen(measured), "the network", &n, NULL) == 0)
        (void)network_wire(n, &known->latency_s, &known->bytes_per_s); /* else unknown */
    network_free(n);
}
