/* SPDX-License-Identifier: Apache-2.0 */
/* fence.c - the file that prevents older generations from completing checkpoints in a folder */
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

/* Prefix of the name that a part gets before it is removed; the owner's word and a number follow.
 */
#define FENCE_DEAD ".dead-part-"

/* Write the text of a fence file to ret [size]. */
static void fence_text(const struct fence *f, char *ret, size_t size)
{
    snprintf(ret, size, "eddis generation 1\njob %s\ngeneration %d\nowner %s\n", f->job,
             f->generation, f->owner);
}

/* Read the fence of folder dir to *ret.  -ENOENT: there is none.  A file that is not a valid fence
 * counts as a fence of generation 0.
 */
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

/* Write f as the fence of folder dir, atomically.  Return 0 or a negative errno, and then the old
 * fence is unchanged.
 */
static int fence_write(const char *dir, const struct fence *f, struct eddis_error *err)
{
    cleanup_free char *path = file_join(dir, ".generation");
    char text[FENCE_JOB + 128];

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    fence_text(f, text, sizeof text);
    return file_write_atomic(path, text, strlen(text), TRUST_FILE_MODE, err);
}

/* ---- parts of dead generations ---- */

/* Rename a part or a leftover file, so that nobody can complete it any more, then remove it.
 * number: makes the new name unique.  Return 0, also if there is no such file, or a negative errno
 * value.
 */
static int take_away(const char *dir, const char *name, const struct fence *f, int number)
{
    cleanup_free char *path = file_join(dir, "%s", name);
    cleanup_free char *dead = file_join(dir, FENCE_DEAD "%s-%d", f->owner, number);

    if (!path || !dead)
        return -ENOMEM;
    if (rename(path, dead) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (unlink(dead) < 0)
        (void)file_remove_tree(dead, NULL); /* otherwise the next fence_open removes it */
    return 0;
}

/* Check whether a file of this name was left by a process that was killed while it removed a part
 * or wrote the fence.
 */
static bool is_left_over(const char *name)
{
    return strncmp(name, FENCE_DEAD, strlen(FENCE_DEAD)) == 0 ||
           strncmp(name, ".generation.", strlen(".generation.")) == 0;
}

/* Remove the parts of other generations than f's, and what killed processes have left.  Go on after
 * a failure; return the last one.
 */
static int take_away_all(const char *dir, const struct fence *f, struct eddis_error *err)
{
    cleanup_dir DIR *d = opendir(dir);
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
    return rc;
}

/* ---- opening and checking ---- */

/* Set err: another generation, or the job of fence `other`, writes to the folder now.  Return
 * -ESTALE.
 */
static int fence_stale(const char *dir, const struct fence *f, const struct fence *other,
                       struct eddis_error *err)
{
    if (strcmp(f->job, other->job) == 0 && f->generation != other->generation)
        return eddis_fail(err, -ESTALE,
                          "start %d of the job has taken over checkpoint folder '%s'; this process "
                          "belongs to start %d, and its checkpoints are not kept",
                          other->generation, dir, f->generation);
    return eddis_fail(err, -ESTALE,
                      "%s%s now writes checkpoints to '%s'; checkpoints of this run are not kept "
                      "there, so give each job its own folder",
                      strcmp(other->job, "-") == 0 ? "another run" : "job ",
                      strcmp(other->job, "-") == 0 ? "" : other->job, dir);
}

/* Check whether the fence `other` is invalid or of an older generation of f's job. */
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
    if (rc == 0) /* do not write where other users could change it */
        rc = trust_holder(dir, NULL, err);
    if (rc < 0)
        return rc;
    if (fence_read(dir, &other, NULL) == 0 && strcmp(other.job, f.job) == 0 &&
        other.generation > generation)
        return fence_stale(dir, &f, &other, err);
    /* Also before writing: old parts may fill the disk. */
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
    /* A process of an older generation, frozen while it opened the folder, has overwritten our
     * fence.
     */
    if (is_older(&now, f))
        return fence_write(dir, f, err);
    return fence_stale(dir, f, &now, err);
}
