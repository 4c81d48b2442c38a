/* SPDX-License-Identifier: Apache-2.0 */
/* job_cache.c - small JSON files that outlive a job, found by the hash of a key */
#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/trust.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 8 << 20 }; /* largest file that is read */

#define PATIENCE_NS (CLOCK_S / 2) /* longest wait for the cache's file system */

/* Return the path of a cache entry, named by the key's FNV-1a hash, for the caller to free; NULL:
 * dir is NULL or no memory.  A collision only costs a measurement, since the file holds the whole
 * key.
 */
static char *path_of(const char *dir, const char *kind, const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(1099511628211);
    return dir ? file_join(dir, "%s-%016" PRIx64 ".json", kind, hash) : NULL;
}

/* Check whether a file is regular and only this user could have written it. */
static bool is_own(const char *path)
{
    struct eddis_error shared;
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           trust_stat(&st, path, &shared, NULL) == 0;
}

/* Return an entry's value as JSON text, for the caller to free.  NULL: it has another key or is
 * more than age_ns old, or no memory.
 */
static char *take_entry(json_t *o, const char *key, int64_t age_ns)
{
    int64_t measured_s, now_s = clock_wall_ns() / CLOCK_S;
    const char *found;
    json_t *value;

    if (json_want_string(o, "key", &found, NULL) < 0 || strcmp(found, key) != 0 ||
        json_want_int(o, "measured_s", 0, INT64_MAX / CLOCK_S, &measured_s, NULL) < 0 ||
        measured_s > now_s || now_s - measured_s > age_ns / CLOCK_S ||
        json_want_object(o, "value", &value, NULL) < 0)
        return NULL;
    return json_text(value, false);
}

/* ---- the file operations, on the file thread ---- */

/* Operations on a cache entry: read it, write it, delete it. */
enum job_cache_call { CALL_LOAD, CALL_STORE, CALL_DROP };

/* A cache operation, a task of the file thread. */
struct call {
    struct file_task task;
    enum job_cache_call what;
    char *dir, *path, *key;
    char *text; /* the entry's text: to store, or loaded */
    int64_t age_ns;
    int rc;
    struct eddis_error err;
};

/* Read a cache entry's file and put its value into c->text.  Return 0, or a negative error with
 * c->err.
 */
static int load(struct call *c)
{
    cleanup_free char *text = NULL;
    cleanup_json json_t *o = NULL;
    size_t n = 0;

    if (is_own(c->path) && file_read(c->path, MAX_BYTES, &text, &n, NULL) == 0 &&
        json_parse(text, n, c->path, &o, NULL) == 0)
        c->text = take_entry(o, c->key, c->age_ns);
    return c->text ? 0 : -ENOENT;
}

/* Write c->text into a cache entry's file, with the key and the present time.  Return 0, or a
 * negative error with c->err.
 */
static int store(struct call *c)
{
    cleanup_free char *all = NULL;
    cleanup_json json_t *value = NULL, *o = NULL;
    int rc = json_parse(c->text, strlen(c->text), "the value for the cache", &value, &c->err);

    if (rc < 0)
        return rc;
    o = json_pack("{s:s, s:I, s:O}", "key", c->key, "measured_s",
                  (json_int_t)(clock_wall_ns() / CLOCK_S), "value", value);
    all = o ? json_text(o, true) : NULL;
    if (!all)
        return eddis_fail(&c->err, -ENOMEM, "no memory for a cached value");
    rc = file_mkdirs(c->dir, 0700, &c->err);
    return rc < 0 ? rc : file_write_atomic(c->path, all, strlen(all), 0600, &c->err);
}

/* Carry out a cache operation (file_task.run, on the file thread). */
static void run(struct file_task *k)
{
    struct call *c = (struct call *)k;

    if (c->what == CALL_LOAD)
        c->rc = load(c);
    else if (c->what == CALL_STORE)
        c->rc = store(c);
    else
        (void)unlink(c->path);
}

/* Free a cache operation (file_task.free). */
static void free_call(struct file_task *k)
{
    struct call *c = (struct call *)k;

    free(c->dir);
    free(c->path);
    free(c->key);
    free(c->text);
    free(c);
}

/* Allocate a cache operation with copies of its arguments; call() or free_call frees it.  Return
 * NULL, with err set to -ENOENT, if there is no cache folder or no memory.
 */
static struct call *make_call(enum job_cache_call what, const struct job_cache_entry *e,
                              const char *text, struct eddis_error *err)
{
    struct call *c = calloc(1, sizeof *c);

    if (c) {
        *c = (struct call){ .task = { .run = run, .free = free_call }, .what = what };
        c->dir = file_cache_dir();
        c->path = path_of(c->dir, e->kind, e->key);
        c->key = strdup(e->key);
        c->text = text ? strdup(text) : NULL;
    }
    if (c && c->path && c->key && (!text || c->text))
        return c;
    if (c)
        free_call(&c->task);
    eddis_fail(err, -ENOENT, "there is no folder for the cache");
    return NULL;
}

/* ---- calls with a time limit ---- */

/* Queue a cache operation, wait up to PATIENCE_NS for it, and store the text of a load in *ret, for
 * the caller to free.  Return its result, or -ETIMEDOUT if it continues without us.  If an earlier
 * operation has been blocked for that long, do not wait.  The operation is freed here or, after
 * -ETIMEDOUT, by the thread.
 */
static int call(struct file_thread *reader, struct call *c, char **ret, struct eddis_error *err)
{
    int64_t now_ns = clock_now_ns();
    bool held = file_thread_held_ns(reader, now_ns) > PATIENCE_NS;
    int rc;

    file_thread_add(reader, &c->task);
    if (held || !file_thread_await(reader, &c->task, now_ns + PATIENCE_NS))
        return eddis_fail(err, -ETIMEDOUT, "the cache did not answer within %g s",
                          (double)PATIENCE_NS / CLOCK_S);
    rc = c->rc;
    if (rc < 0 && err)
        *err = c->err;
    if (rc == 0 && ret)
        *ret = cleanup_keep(c->text);
    free_call(&c->task);
    return rc;
}

int job_cache_load(struct file_thread *reader, const struct job_cache_entry *e, int64_t age_ns,
                   char **ret)
{
    struct call *c = make_call(CALL_LOAD, e, NULL, NULL);

    if (!c)
        return -ENOENT;
    c->age_ns = age_ns;
    return call(reader, c, ret, NULL);
}

int job_cache_store(struct file_thread *reader, const struct job_cache_entry *e, const char *text,
                    struct eddis_error *err)
{
    struct call *c = make_call(CALL_STORE, e, text, err);

    return c ? call(reader, c, NULL, err) : -ENOENT;
}

void job_cache_drop(struct file_thread *reader, const struct job_cache_entry *e)
{
    struct call *c = make_call(CALL_DROP, e, NULL, NULL);

    if (c)
        file_thread_add(reader, &c->task);
}
