/* SPDX-License-Identifier: Apache-2.0 */
/* past_table.c - tables of what earlier jobs of a program measured, in the cache */
#include "past_table.h"

#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

char *past_key(const struct job *job)
{
    struct strbuf b = { 0 };

    strbuf_add(&b, job->workdir);
    for (char **word = job->command; *word; word++)
        strbuf_addf(&b, "\n%s", *word);
    return strbuf_steal(&b);
}

/* Return the key of a program's tables in the cache, for the caller to free.  It contains the
 * version of eddis, since another version may train or wait differently.  NULL: no memory.
 */
static char *rows_key(const struct job *job)
{
    cleanup_free char *program = past_key(job);
    struct strbuf b = { 0 };

    if (!program)
        return NULL;
    strbuf_addf(&b, "%s\n%s", EDDIS_VERSION, program);
    return strbuf_steal(&b);
}

/* Return the Unix time in seconds. */
static int64_t now_s(void)
{
    return clock_wall_ns() / CLOCK_S;
}

/* Return a pointer to row i of `rows`, a table of workers' times or memory limits, never NULL; i is
 * not checked.
 */
static void *row_at(const struct past_kind *kind, void *rows, int i)
{
    return (char *)rows + (size_t)i * kind->row->of->size;
}

/* Return a pointer to the time of measurement in row i of `rows`, through which the caller may
 * change the time; never NULL.
 */
static int64_t *learnt_at(const struct past_kind *kind, void *rows, int i)
{
    return (int64_t *)((char *)row_at(kind, rows, i) + kind->learnt_at);
}

/* Make room for one more row in a table.  Return 0, or -ENOMEM without memory or at PAST_ROWS_MOST
 * rows.
 */
static int make_room(const struct past_kind *kind, struct past_rows *l)
{
    int room = l->n ? 2 * l->n : 1;
    void *more;

    if (l->n >= PAST_ROWS_MOST)
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

void past_renew(const struct past_kind *kind, struct past_rows *l, int i)
{
    *learnt_at(kind, l->row, i) = now_s();
}

int past_put(const struct past_kind *kind, struct past_rows *l, const void *row)
{
    int i = key_index_find(&l->index, l->row, row);

    if (i < 0 && make_room(kind, l) < 0)
        return -ENOMEM;
    l->index.row_bytes = kind->row->of->size;
    memcpy(row_at(kind, l->row, i < 0 ? l->n : i), row, kind->row->of->size);
    past_renew(kind, l, i < 0 ? l->n : i);
    if (i >= 0)
        return 0;
    if (key_index_add(&l->index, l->row) < 0)
        return -ENOMEM;
    l->n++;
    return 0;
}

void past_rows_fini(struct past_rows *l)
{
    key_index_fini(&l->index);
    free(l->row);
    *l = (struct past_rows){ 0 };
}

/* Delete the rows of a table that are too old or dated in the future. */
static void drop_old(const struct past_kind *kind, int64_t age_ns, struct past_rows *l)
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
static int read_rows(json_t *o, int64_t model_bytes, const struct past_kind *kind,
                     struct past_rows *l)
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

int past_load(struct file_thread *reader, const struct job *job, int64_t model_bytes,
              const struct past_kind *kind, struct past_rows *l, json_t **ret)
{
    cleanup_free char *key = rows_key(job), *text = NULL;
    cleanup_json json_t *o = NULL;
    int64_t age_ns = job->profile.cache_ns;
    int rc = key ? 0 : -ENOMEM;

    if (ret)
        *ret = NULL;
    if (rc == 0 && (age_ns == 0 || model_bytes == 0))
        rc = -ENOTSUP;
    if (rc == 0)
        rc = job_cache_load(reader, &(struct job_cache_entry){ kind->name, key }, age_ns, &text);
    if (rc < 0)
        return rc;
    if (json_parse(text, strlen(text), "what was learnt", &o, NULL) < 0 ||
        read_rows(o, model_bytes, kind, l) < 0) {
        past_rows_fini(l);
        return -ENOENT;
    }
    drop_old(kind, age_ns, l);
    if (key_index_add_all(&l->index, l->row, l->n) < 0) {
        past_rows_fini(l);
        return -ENOMEM;
    }
    if (ret)
        *ret = cleanup_keep(o);
    return 0;
}

int past_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
              const struct past_kind *kind, json_t *o, const struct past_rows *l,
              struct eddis_error *err)
{
    cleanup_free char *key = rows_key(job), *text = NULL;

    if (!key || !o || json_object_set_new(o, "model_bytes", json_integer(model_bytes)) < 0 ||
        fields_write(kind->row, 1, l, o) < 0 || !(text = json_text(o, false)))
        return eddis_fail(err, -ENOMEM, "no memory to keep what earlier jobs measured");
    return job_cache_store(reader, &(struct job_cache_entry){ kind->name, key }, text, err);
}
