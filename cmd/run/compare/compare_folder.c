/* SPDX-License-Identifier: Apache-2.0 */
/* compare_folder.c - the folder of a comparison */
#include "compare_folder.h"

#include "agents/job/job_folder.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/crc32.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/job/job_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const int64_t patience_ns =
    90 * CLOCK_S; /* longest wait for the job of a killed eddis-run */

/* ---- what is compared ---- */

/* Return the checksum of a text and its end. */
static uint32_t add_text(uint32_t crc, const char *text)
{
    return crc32_update(crc, text, strlen(text) + 1);
}

/* Return the checksum of the job: its values without the places where they were set. */
static uint32_t add_job(uint32_t crc, char *text)
{
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        char *origin = strstr(line, "  # ");

        if (origin)
            *origin = '\0';
        crc = add_text(crc, line);
    }
    return crc;
}

/* Write the checksum of what the user compares to ret [9]. Return 0 or -ENOMEM. */
static int write_key(const struct run_request *q, char *ret, struct eddis_error *err)
{
    cleanup_free char *job = job_text(q->job);
    char until[64];
    uint32_t crc = 0;

    if (!job)
        return eddis_fail(err, -ENOMEM, "no memory for the job");
    crc = add_job(crc, job);
    for (size_t i = q->n_passed; i < q->env.n; i++)
        crc = add_text(crc, q->env.item[i]);
    for (int i = 0; i < q->ask.n_modes; i++)
        crc = add_text(crc, sync_mode_name(q->ask.mode[i]));
    compare_target_text(&q->ask.target, until, sizeof until);
    crc = add_text(crc, until);
    (void)snprintf(until, sizeof until, "%.17g %d", q->ask.target.value, q->ask.rounds);
    crc = add_text(crc, until);
    (void)snprintf(ret, 9, "%08x", (unsigned)crc);
    return 0;
}

/* Begin a comparison: all its runs are open. */
static void begin(const struct run_request *q, const char *key, struct compare *c)
{
    c->schema_version = COMPARE_SCHEMA_VERSION;
    (void)snprintf(c->key, sizeof c->key, "%s", key);
    (void)snprintf(c->name, sizeof c->name, "%s", q->job->name);
    c->seed = q->job->seed;
    c->rounds = q->ask.rounds;
    c->target = q->ask.target;
    for (int round = 0; round < c->rounds; round++)
        for (int i = 0; i < q->ask.n_modes; i++) {
            struct compare_run *r = &c->run[c->n_runs++];
            const char *mode = sync_mode_name(q->ask.mode[i]);

            *r = (struct compare_run){ .round = round,
                                       .seed = c->seed + (uint64_t)round,
                                       .samples_per_s = NAN,
                                       .seconds = NAN,
                                       .took_s = NAN,
                                       .accuracy = NAN,
                                       .test_loss = NAN,
                                       .loss = NAN };
            (void)snprintf(r->mode, sizeof r->mode, "%s", mode);
            compare_run_folder(mode, round, r->job, sizeof r->job);
        }
}

/* ---- the folder ---- */

/* Check whether the folder `root` contains a folder whose name begins with `start`. */
static bool has_like(const char *root, const char *start)
{
    cleanup_dir DIR *d = opendir(root);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (strncmp(e->d_name, start, strlen(start)) == 0)
            return true;
    return false;
}

/* Write the path of the folder to f->path, and set f->anew. Return 0 or a negative errno. */
static int find_path(const struct run_request *q, const char *key, struct compare_folder *f,
                     struct eddis_error *err)
{
    char root[JOB_FOLDER_MAX_PATH], name[160];
    size_t size = sizeof f->path;
    int rc;

    if (q->job_dir && q->job_dir[0] == '/')
        return snprintf(f->path, size, "%s", q->job_dir) < (int)size ? 0 : -ENAMETOOLONG;
    if (q->job_dir) {
        if (!getcwd(root, sizeof root))
            return eddis_fail_errno(err, -errno, "cannot determine the current folder");
        return snprintf(f->path, size, "%s/%s", root, q->job_dir) < (int)size ? 0 : -ENAMETOOLONG;
    }
    rc = job_folder_root(root, sizeof root, err);
    if (rc < 0)
        return rc;
    (void)snprintf(name, sizeof name, "%.100s-compare-", q->job->name);
    for (char *s = name; *s; s++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", *s))
            *s = '_';
    (void)snprintf(f->path, size, "%s/%s%s", root, name, key);
    f->anew = access(f->path, F_OK) < 0 && has_like(root, name);
    return 0;
}

/* Check whether the folder has anything in it. */
static bool is_used(const char *path)
{
    cleanup_dir DIR *d = opendir(path);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            return true;
    return false;
}

/* Read the comparison in the folder into *ret, or begin a new one. Return 0 or a negative errno. */
static int read_or_begin(const struct run_request *q, const char *key,
                         const struct compare_folder *f, struct compare **ret,
                         struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, "compare.json");
    cleanup_free struct compare *c = NULL;
    int rc = path ? compare_read(path, &c, err) : -ENOMEM;

    if (rc == 0 && strcmp(c->key, key) != 0)
        return eddis_fail(err, -EEXIST,
                          "the folder '%s' has another comparison: the job, the modes, the target "
                          "or the rounds differ; name another folder",
                          f->path);
    if (rc < 0 && rc != -ENOENT)
        return rc;
    if (rc == -ENOENT && is_used(f->path))
        return eddis_fail(err, -EEXIST,
                          "the folder '%s' contains files that are not of a comparison; name "
                          "another folder",
                          f->path);
    if (rc == -ENOENT) {
        c = calloc(1, sizeof *c);
        if (!c)
            return eddis_fail(err, -ENOMEM, "no memory for the comparison");
        begin(q, key, c);
        if (err)
            *err = (struct eddis_error){ 0 };
    }
    *ret = cleanup_keep(c);
    return 0;
}

int compare_folder_open(const struct run_request *q, struct compare_folder *f, struct compare **ret,
                        struct eddis_error *err)
{
    char key[9];
    int rc;

    *f = (struct compare_folder){ .lock = -1 };
    rc = write_key(q, key, err);
    if (rc == 0 && (rc = find_path(q, key, f, err)) == -ENAMETOOLONG)
        (void)eddis_fail(err, rc, "the path of --job-dir is too long");
    if (rc == 0)
        rc = file_mkdirs(f->path, 0700, err);
    if (rc < 0)
        return rc;
    f->lock = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->lock < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", f->path);
    if (flock(f->lock, LOCK_EX | LOCK_NB) < 0)
        rc = eddis_fail(err, -EBUSY, "another eddis-run compares in '%s'; wait for its end",
                        f->path);
    if (rc == 0)
        rc = read_or_begin(q, key, f, ret, err);
    if (rc < 0)
        compare_folder_close(f);
    return rc;
}

int compare_folder_write(const struct compare_folder *f, const struct compare *c,
                         struct eddis_error *err)
{
    cleanup_free char *path = file_join(f->path, "compare.json");

    return path ? compare_write(c, path, err)
                : eddis_fail(err, -ENOMEM, "no memory for the comparison");
}

void compare_folder_close(struct compare_folder *f)
{
    if (f->lock >= 0)
        (void)close(f->lock);
    f->lock = -1;
}

/* Check whether the job's driver runs, here or, as far as this machine can see, on another. */
static bool is_running(const struct job_folder *f)
{
    int rc = job_driver_check(f, NULL);

    return rc == 1 || rc == -EREMOTE;
}

int compare_folder_clear(const char *dir, struct eddis_error *err)
{
    int64_t deadline_ns = clock_after_ns(clock_now_ns(), patience_ns);
    struct job_folder f;

    while (job_folder_find(dir, &f, NULL) == 0 && is_running(&f)) {
        if (clock_now_ns() >= deadline_ns)
            return eddis_fail(err, -EBUSY,
                              "the job in '%s', of an earlier start, still runs; end it by "
                              "eddis-run --stop %s/",
                              dir, dir);
        clock_sleep_until_ns(clock_now_ns() + CLOCK_S / 10);
    }
    return file_remove_tree(dir, err);
}
