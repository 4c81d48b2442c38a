/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - store profiles in the user's cache folder, and check whether one is still valid */
#include "cache.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/crc32.h"
#include "lib/base/file.h"
#include "lib/base/json.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 1 << 20 };

/* Members of the key, with the words for messages about a change */
static const struct {
    const char *name, *words;
    size_t offset;
} members[] = {
    { "host", "host", offsetof(struct machine, host) },
    { "machine_id", "machine", offsetof(struct machine, machine_id) },
    { "cpu_model", "processor", offsetof(struct machine, cpu_model) },
    { "cpus", "set of cores", offsetof(struct machine, cpus) },
    { "gpus", "set of GPUs", offsetof(struct machine, gpus) },
    { "driver", "GPU driver", offsetof(struct machine, driver) },
    { "visible", "CUDA_VISIBLE_DEVICES", offsetof(struct machine, visible) },
    { "amd_gpus", "set of AMD GPUs", offsetof(struct machine, amd_gpus) },
    { "amd_visible", "set of visible AMD GPUs", offsetof(struct machine, amd_visible) },
    { "eddis_version", "version of eddis", (size_t)-1 },
};

enum { MEMBERS = sizeof members / sizeof *members };

/* Borrow the value of key member i for machine m. */
static const char *member_value(const struct machine *m, size_t i)
{
    return members[i].offset == (size_t)-1 ? EDDIS_VERSION : (const char *)m + members[i].offset;
}

/* Return a new JSON string of s with '?' for bytes that are not ASCII, so that keys compare equal
 * after they were written and read. NULL without memory.
 */
static json_t *ascii(const char *s)
{
    cleanup_free char *plain = strdup(s);

    for (char *c = plain; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return plain ? json_string(plain) : NULL;
}

/* Return the cache key of machine m as a new object; NULL without memory. */
static json_t *key_of(const struct machine *m)
{
    cleanup_json json_t *o = json_object();

    for (size_t i = 0; o && i < MEMBERS; i++)
        if (json_object_set_new(o, members[i].name, ascii(member_value(m, i))) < 0)
            return NULL;
    if (!o || json_object_set_new(o, "probe_version", json_integer(PROFILE_PROBE_VERSION)) < 0)
        return NULL;
    return cleanup_keep(o);
}

/* Check that a stored key is that of machine m. Return 0; -ESTALE: err names the member that
 * differs; -ENOMEM.
 */
static int key_check(const json_t *key, const struct machine *m, struct eddis_error *err)
{
    cleanup_json json_t *now = key_of(m);

    if (!now)
        return eddis_fail(err, -ENOMEM, "no memory for the cached profile");
    for (size_t i = 0; i < MEMBERS; i++)
        if (!json_equal(json_object_get(key, members[i].name),
                        json_object_get(now, members[i].name)))
            return eddis_fail(err, -ESTALE, "the cached profile is for another %s",
                              members[i].words);
    if (!json_equal(json_object_get(key, "probe_version"), json_object_get(now, "probe_version")))
        return eddis_fail(err, -ESTALE, "the cached profile is for another version of the probe");
    return 0;
}

/* Return the path of the machine's entry, for the caller to free; NULL without memory.  An unusual
 * host name is replaced by its checksum.
 */
static char *path_of(const char *dir, const struct machine *m)
{
    if (text_is_name(m->host, 128))
        return file_join(dir, "profile-%s.json", m->host);
    return file_join(dir, "profile-%08x.json", crc32_update(0, m->host, strlen(m->host)));
}

/* Check that only this user or root can write the file or folder of this status. Return 0, or
 * -EPERM: another user can, or a group of several users.
 */
static int check_owner(const struct stat *st, const char *path, struct eddis_error *err)
{
    struct eddis_error shared;
    int rc = trust_stat(st, path, &shared, err);

    if (rc > 0)
        rc = eddis_fail(err, -EPERM, "%s", shared.text);
    return rc < 0 ? eddis_fail_prefix(err, rc, "the cached profile is not trusted") : 0;
}

/* Open the entry's file into *ret; the caller closes it. Return 0; -EPERM: it is a link or no
 * regular file, or another user can have written it or its folder; another negative errno: it
 * cannot be opened, -ENOENT if there is none.
 */
static int open_entry(const char *dir, const char *path, int *ret, struct eddis_error *err)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    int rc;

    if (fd < 0 && errno == ELOOP)
        return eddis_fail(err, -EPERM, "the cached profile is not trusted: '%s' is a link", path);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open the cached profile '%s'", path);
    if (stat(dir, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot look at '%s'", dir);
    rc = check_owner(&st, dir, err);
    if (rc == 0 && fstat(fd, &st) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot look at '%s'", path);
    if (rc == 0)
        rc = check_owner(&st, path, err);
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = eddis_fail(err, -EPERM,
                        "the cached profile is not trusted: '%s' is not a regular file", path);
    if (rc == 0)
        *ret = cleanup_keep_fd(fd);
    return rc;
}

/* Read and parse the entry's file into *ret, a new reference. Return 0; -ENOENT, -EPERM and others
 * as open_entry; -EINVAL, -EFBIG: it is corrupt.
 */
static int read_entry(const char *dir, const char *path, json_t **ret, struct eddis_error *err)
{
    cleanup_fd int fd = -1;
    cleanup_free char *text = NULL;
    size_t n;
    int rc = open_entry(dir, path, &fd, err);

    if (rc < 0)
        return rc;
    rc = file_read_fd(fd, path, MOST_BYTES, &text, &n, err);
    if (rc < 0)
        return eddis_fail_prefix(err, -EINVAL, "the cached profile is corrupt");
    rc = json_parse(text, n, path, ret, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "the cached profile is corrupt") : 0;
}

/* Check that an entry's key is that of machine m, and parse its profile into *p and its flag into
 * *complete. Return 0; -ESTALE: another key; -EINVAL: it is corrupt; -ENOMEM. On failure *complete
 * may have been written.
 */
static int entry_check(const json_t *entry, const struct machine *m, bool *complete,
                       struct node_profile *p, struct eddis_error *err)
{
    cleanup_free char *text = NULL;
    json_t *key, *profile;
    int rc = json_want_object(entry, "key", &key, err);

    if (rc == 0)
        rc = json_want_object(entry, "profile", &profile, err);
    if (rc == 0)
        rc = json_want_bool(entry, "complete", complete, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "the cached profile is corrupt");
    rc = key_check(key, m, err);
    if (rc < 0)
        return rc;
    text = json_text(profile, false);
    if (!text)
        return eddis_fail(err, -ENOMEM, "no memory for the cached profile");
    rc = profile_parse(text, strlen(text), "profile", p, err);
    return rc < 0 ? eddis_fail_prefix(err, rc, "the cached profile is corrupt") : 0;
}

/* Check that a profile is at most age_ns old, or CACHE_PROVISIONAL_NS if incomplete. Return 0, or
 * -ESTALE: it is older, or dated in the future.
 */
static int age_check(const struct node_profile *p, int64_t age_ns, int64_t now_ns, bool complete,
                     struct eddis_error *err)
{
    int64_t age_s = now_ns / CLOCK_S - p->measured_s;

    if (age_s < -60)
        return eddis_fail(err, -ESTALE, "the cached profile is dated in the future");
    if (age_s > age_ns / CLOCK_S)
        return eddis_fail(err, -ESTALE, "the cached profile is %lld h old",
                          (long long)(age_s / 3600));
    if (!complete && age_s > CACHE_PROVISIONAL_NS / CLOCK_S)
        return eddis_fail(err, -ESTALE, "the cached profile was incomplete");
    return 0;
}

int cache_load(const char *dir, const struct machine *m, int64_t age_ns, int64_t now_ns,
               struct node_profile *ret, struct eddis_error *err)
{
    cleanup_free char *path = path_of(dir, m);
    cleanup_free struct node_profile *p = malloc(sizeof *p);
    cleanup_json json_t *entry = NULL;
    bool complete = false;
    int rc;

    if (!path || !p)
        return eddis_fail(err, -ENOMEM, "no memory for the cached profile");
    rc = read_entry(dir, path, &entry, err);
    if (rc == 0)
        rc = entry_check(entry, m, &complete, p, err);
    if (rc == 0)
        rc = age_check(p, age_ns, now_ns, complete, err);
    if (rc < 0)
        return rc;
    p->cached = true;
    *ret = *p;
    return 0;
}

/* Return a new object with the entry to store; NULL if it cannot be made. */
static json_t *entry_of(const struct machine *m, const struct node_profile *p, bool complete)
{
    cleanup_free char *text = profile_text(p);
    cleanup_json json_t *entry = json_object();
    json_t *profile;

    if (!entry || !text || json_parse(text, strlen(text), "profile", &profile, NULL) < 0)
        return NULL;
    if (json_object_set_new(entry, "profile", profile) < 0 ||
        json_object_set_new(entry, "key", key_of(m)) < 0 ||
        json_object_set_new(entry, "complete", json_boolean(complete)) < 0)
        return NULL;
    return cleanup_keep(entry);
}

int cache_store(const char *dir, const struct machine *m, const struct node_profile *p,
                bool complete, struct eddis_error *err)
{
    cleanup_free char *path = path_of(dir, m);
    cleanup_json json_t *entry = entry_of(m, p, complete);
    int rc;

    if (!path || !entry)
        return eddis_fail(err, -ENOMEM, "no memory to keep the profile");
    rc = file_mkdirs(dir, 0700, err);
    return rc < 0 ? rc : json_write_file(path, entry, err);
}
