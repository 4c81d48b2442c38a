/* SPDX-License-Identifier: Apache-2.0 */
/* fence.c - the file by which a folder refuses what an older generation writes */
#include "fence.h"

#include "checkpoint_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FENCE_MAX_BYTES = 4096 };

/* What a part is renamed to before it is removed, behind it the owner's word and a number. */
#define FENCE_DEAD ".dead-part-"

static void fence_text(const struct fence *f, char *ret, size_t size)
{
    snprintf(ret, size, "eddis generation 1\njob %s\ngeneration %d\nowner %s\n", f->job,
             f->generation, f->owner);
}

/* -ENOENT: there is none; what is no fence of ours counts as one of generation 0. */
static int fence_read(const char *dir, struct fence *ret, struct eddis_error *err)
{
    cleanup_free char *path = file_join(dir, ".generation");
    cleanup_free char *text = NULL;
    struct fence f = { .generation = 0 };
    int rc = path ? file_read(path, FENCE_MAX_BYTES, &text, NULL, err)
                  : eddis_fail(err, -ENOMEM, "no memory for a path");

    if (rc == 0 &&
        (sscanf(text, "eddis generation 1\njob %127[^\n]\ngeneration %9d\nowner %16[0-9a-f]\n",
                f.job, &f.generation, f.owner) != 3 ||
         f.generation < 1))
        f = (struct fence){ .generation = 0 };
    if (rc < 0 && rc != -EFBIG && rc != -EINVAL)
        return rc;
    *ret = f;
    return 0;
}

static int fence_write(const char *dir, const struct fence *f, struct eddis_error *err)
{
    cleanup_free char *path = file_join(dir, ".generation");
    char text[FENCE_JOB + 128];

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    fence_text(f, text, sizeof text);
    return file_write_atomic(path, text, strlen(text), TRUST_FILE_MODE, err);
}

/* ---- what dead generations left ---- */

/* Rename it, so that nobody can rename it to a whole one any more, then remove it at leisure. */
static int take_away(const char *dir, const char *name, const struct fence *f, int number)
{
    cleanup_free char *path = file_join(dir, "%s", name);
    cleanup_free char *dead = file_join(dir, FENCE_DEAD "%s-%d", f->owner, number);

    if (!path || !dead)
        return -ENOMEM;
    if (rename(path, dead) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (unlink(dead) < 0)
        (void)file_remove_tree(dead, NULL); /* else the next who opens does */
    return 0;
}

/* Of a process that was killed while it took something away, or wrote .generation. */
static bool is_left_over(const char *name)
{
    return strncmp(name, FENCE_DEAD, strlen(FENCE_DEAD)) == 0 ||
           strncmp(name, ".generation.", strlen(".generation.")) == 0;
}

static int take_away_all(const char *dir, const struct fence *f, struct eddis_error *err)
{
    DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0, rc = 0;

    if (!d)
        return eddis_fail_errno(err, -errno, "cannot read folder '%s'", dir);
    while ((e = readdir(d))) {
        struct checkpoint_name name;
        bool part = checkpoint_name_parse(e->d_name, &name) && name.generation;
        int one = 0;

        if (part ? name.generation != f->generation : is_left_over(e->d_name))
            one = take_away(dir, e->d_name, f, n++);
        if (one < 0)
            rc = eddis_fail_errno(err, one, "cannot remove '%s' from '%s'", e->d_name, dir);
    }
    (void)closedir(d);
    return rc;
}

/* ---- opening and checking ---- */

static int fence_stale(const char *dir, const struct fence *f, const struct fence *other,
                       struct eddis_error *err)
{
    if (strcmp(f->job, other->job) == 0 && f->generation != other->generation)
        return eddis_fail(err, -ESTALE,
                          "generation %d of the job has taken over checkpoint folder '%s'; this "
                          "process belongs to generation %d, nothing of it is kept",
                          other->generation, dir, f->generation);
    return eddis_fail(err, -ESTALE,
                      "%s%s writes checkpoints to '%s' since; nothing of this run is kept there, "
                      "give each its own folder",
                      strcmp(other->job, "-") == 0 ? "another run" : "job ",
                      strcmp(other->job, "-") == 0 ? "" : other->job, dir);
}

static bool is_older(const struct fence *other, const struct fence *f)
{
    return other->generation == 0 ||
           (strcmp(f->job, other->job) == 0 && other->generation < f->generation);
}

int fence_open(const char *dir, const char *job, int generation, struct fence *ret,
               struct eddis_error *err)
{
    struct fence f = { .generation = generation }, other;
    int rc = random_hex(f.owner, FENCE_OWNER, err), rc2;

    snprintf(f.job, sizeof f.job, "%s", text_is_name(job, FENCE_JOB) ? job : "-");
    if (rc == 0)
        rc = file_mkdirs(dir, TRUST_DIR_MODE, err);
    if (rc == 0) /* nothing is written where it could not be believed afterwards */
        rc = trust_holder(dir, NULL, err);
    if (rc < 0)
        return rc;
    if (fence_read(dir, &other, NULL) == 0 && strcmp(other.job, f.job) == 0 &&
        other.generation > generation)
        return fence_stale(dir, &f, &other, err);
    /* Before too: they may be what fills the disk. */
    (void)take_away_all(dir, &f, NULL);
    rc = fence_write(dir, &f, err);
    rc2 = take_away_all(dir, &f, rc < 0 ? NULL : err);
    if (rc < 0 || rc2 < 0)
        return rc < 0 ? rc : rc2;
    *ret = f;
    return 0;
}

int fence_check(const char *dir, const struct fence *f, struct eddis_error *err)
{
    struct fence now;
    int rc = fence_read(dir, &now, err);

    if (rc < 0)
        return rc == -ENOENT
                   ? eddis_fail(err, rc, "checkpoint folder '%s' was removed or emptied", dir)
                   : rc;
    if (strcmp(now.owner, f->owner) == 0)
        return 0;
    /* An older one that was frozen while it opened has written over ours. */
    if (is_older(&now, f))
        return fence_write(dir, f, err);
    return fence_stale(dir, f, &now, err);
}
