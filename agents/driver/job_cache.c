/* SPDX-License-Identifier: Apache-2.0 */
/* job_cache.c - small JSON files that outlive a job, found by the hash of a key */
#include "job_cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 8 << 20 };

/* Names that collide cost a measurement, since the whole key is in the file: FNV-1a will do. */
static char *path_of(const char *dir, const char *kind, const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * UINT64_C(1099511628211);
    return dir ? file_join(dir, "%s-%016" PRIx64 ".json", kind, hash) : NULL;
}

static int check_owner(const char *path, struct eddis_error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot look at '%s'", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return eddis_fail(err, -EPERM, "'%s' is not ours alone to write", path);
    return 0;
}

/* The entry's value when it is of this key and not too old. */
static int take_entry(json_t *o, const char *key, int64_t age_ns, char **ret,
                      struct eddis_error *err)
{
    int64_t measured_s, now_s = clock_wall_ns() / CLOCK_S;
    const char *found;
    json_t *value;
    int rc = json_want_string(o, "key", &found, err);

    if (rc == 0)
        rc = json_want_int(o, "measured_s", 0, INT64_MAX / CLOCK_S, &measured_s, err);
    if (rc == 0)
        rc = json_want_object(o, "value", &value, err);
    if (rc < 0)
        return rc;
    if (strcmp(found, key) != 0 || measured_s > now_s || now_s - measured_s > age_ns / CLOCK_S)
        return eddis_fail(err, -ESTALE, "it is too old, or of another key");
    *ret = json_text(value, false);
    return *ret ? 0 : eddis_fail(err, -ENOMEM, "no memory for a cached figure");
}

int job_cache_load(const char *kind, const char *key, int64_t age_ns, char **ret,
                   struct eddis_error *err)
{
    cleanup_free char *dir = file_cache_dir(), *path = path_of(dir, kind, key), *text = NULL;
    cleanup_json json_t *o = NULL;
    size_t n = 0;
    int rc;

    if (!path)
        return eddis_fail(err, -ENOENT, "there is no place for a cache");
    if ((rc = check_owner(path, err)) < 0 || (rc = file_read(path, MAX_BYTES, &text, &n, err)) < 0)
        return rc;
    rc = json_parse(text, n, path, &o, err);
    return rc < 0 ? rc : take_entry(o, key, age_ns, ret, err);
}

int job_cache_store(const char *kind, const char *key, const char *text, struct eddis_error *err)
{
    cleanup_free char *dir = file_cache_dir(), *path = path_of(dir, kind, key), *all = NULL;
    cleanup_json json_t *value = NULL, *o = NULL;
    int rc;

    if (!path)
        return eddis_fail(err, -ENOENT, "there is no place for a cache");
    if ((rc = json_parse(text, strlen(text), "what is to be kept", &value, err)) < 0)
        return rc;
    o = json_pack("{s:s, s:I, s:O}", "key", key, "measured_s",
                  (json_int_t)(clock_wall_ns() / CLOCK_S), "value", value);
    all = o ? json_text(o, true) : NULL;
    if (!all)
        return eddis_fail(err, -ENOMEM, "no memory for a cached figure");
    rc = file_mkdirs(dir, 0700, err);
    return rc < 0 ? rc : file_write_atomic(path, all, strlen(all), 0600, err);
}

void job_cache_drop(const char *kind, const char *key)
{
    cleanup_free char *dir = file_cache_dir(), *path = path_of(dir, kind, key);

    if (path)
        (void)unlink(path);
}
