/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - write the checkpoint of all ranks, and keep the newest ones */
#include "checkpoint.h"

#include "checkpoint_impl.h"
#include "manifest.h"

#include "lib/base/cleanup.h"
#include "lib/base/crc32.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Free c, which may be NULL; the files stay. */
static void checkpoint_free(struct checkpoint *c)
{
    if (!c)
        return;
    manifest_fini(&c->m);
    free(c->dir);
    free(c->folder);
    free(c);
}

/* Return the path of a checkpoint's folder, which the caller frees; generation 0: of a whole
 * checkpoint, otherwise of the part that this generation writes.  NULL without memory.
 */
static char *path_of(const char *dir, int64_t step, int generation)
{
    char name[48];

    checkpoint_name_text(&(struct checkpoint_name){ step, generation }, name);
    return file_join(dir, "%s", name);
}

/* Return a new struct for the part that this generation writes, not yet created; NULL without
 * memory.
 */
static struct checkpoint *new_part(const char *dir, int64_t step, int generation)
{
    struct checkpoint *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->step = step;
    c->dir = strdup(dir);
    c->folder = path_of(dir, step, generation);
    if (c->dir && c->folder)
        return c;
    checkpoint_free(c);
    return NULL;
}

/* Remove a folder, or a file that somebody put there instead.  Return 0 also if there is nothing at
 * this path.
 */
static int remove_any(const char *path, struct eddis_error *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return 0;
    return file_remove_tree(path, err);
}

int checkpoint_begin(const char *dir, int64_t step, const struct fence *f, struct checkpoint **ret,
                     struct eddis_error *err)
{
    struct checkpoint *c = new_part(dir, step, f->generation);
    struct stat st;
    int rc;

    if (!c)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    rc = fence_check(dir, f, err);
    if (rc == 0)
        rc = remove_any(c->folder, err);
    if (rc == 0 && mkdir(c->folder, TRUST_DIR_MODE) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot create folder '%s'", c->folder);
    else if (rc == 0 && stat(c->folder, &st) == 0 && trust_stat(&st, c->folder, NULL, err) < 0) {
        /* A file system that gives the folder to another user, who could change files in it. */
        rc = -EPERM;
        (void)rmdir(c->folder);
    }
    if (rc < 0) {
        checkpoint_free(c);
        return rc;
    }
    c->owner = true;
    c->fence = *f;
    *ret = c;
    return 0;
}

int checkpoint_join(const char *dir, int64_t step, int generation, struct checkpoint **ret,
                    struct eddis_error *err)
{
    struct checkpoint *c = new_part(dir, step, generation);
    struct stat st;

    if (!c)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    if (stat(c->folder, &st) < 0 || !S_ISDIR(st.st_mode)) {
        int rc = eddis_fail(
            err, -ENOENT,
            "rank 0 created '%s', but it does not exist here; checkpoints need a folder that "
            "all nodes share",
            c->folder);

        checkpoint_free(c);
        return rc;
    }
    *ret = c;
    return 0;
}

const char *checkpoint_folder(const struct checkpoint *c)
{
    return c->folder;
}

/* Create a file in the folder with these bytes and sync it to disk.  Return 0 or a negative errno;
 * the file is then removed.  -EEXIST: there is a file of this name, which stays.
 */
static int write_file(const char *folder, const char *name, const void *data, size_t n,
                      struct eddis_error *err)
{
    cleanup_free char *path = file_join(folder, "%s", name);
    int fd, rc;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, TRUST_FILE_MODE);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot make '%s'", path);
    rc = file_write_all(fd, data, n, err);
    if (rc < 0)
        eddis_fail_prefix(err, rc, "'%s'", path);
    else if (fsync(fd) < 0)
        rc = eddis_fail_errno(err, -errno, "cannot sync '%s'", path);
    /* Network file systems may report a full disk only here. */
    if (close(fd) < 0 && rc == 0)
        rc = eddis_fail_errno(err, -errno, "cannot close '%s'", path);
    if (rc < 0)
        (void)unlink(path);
    return rc;
}

int checkpoint_put(struct checkpoint *c, int rank, const char *name, const void *data, size_t n,
                   struct eddis_error *err)
{
    char file[MANIFEST_MAX_FILE + 1];
    int rc;

    if (!checkpoint_file_name(rank, name, file))
        return eddis_fail(err, -EINVAL,
                          "'%s' cannot name an entry of a checkpoint: only letters, digits, '.', "
                          "'_' and '-', at most %d",
                          name, CHECKPOINT_MAX_NAME);
    /* Listed first: a file that is written but cannot be listed would stay. */
    rc = manifest_add(&c->m, file, (int64_t)n, crc32_update(0, data, n), err);
    if (rc < 0)
        return rc;
    rc = write_file(c->folder, file, data, n, err);
    if (rc < 0)
        c->m.n--;
    if (rc == -ENOENT)
        return eddis_fail(err, rc,
                          "folder '%s' no longer exists: somebody has removed it, or the "
                          "checkpoint was abandoned, for example because a worker died",
                          c->folder);
    return rc;
}

char *checkpoint_list(const struct checkpoint *c)
{
    return manifest_list_text(&c->m);
}

int checkpoint_add_list(struct checkpoint *c, const char *text, size_t n, struct eddis_error *err)
{
    return manifest_parse_list(text, n, &c->m, err);
}

/* Rename the part to its final name.  If there is an earlier checkpoint of the step, replace and
 * remove it.  Return 0 or a negative errno; the part then remains, and the earlier checkpoint may
 * be gone.
 */
static int rename_whole(const struct checkpoint *c, struct eddis_error *err)
{
    cleanup_free char *whole = path_of(c->dir, c->step, 0);

    if (!whole)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    if (renameat2(AT_FDCWD, c->folder, AT_FDCWD, whole, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EEXIST && renameat2(AT_FDCWD, c->folder, AT_FDCWD, whole, RENAME_EXCHANGE) == 0) {
        (void)remove_any(c->folder, NULL); /* if this fails, the next prune removes it */
        return 0;
    }
    /* A file system without these flags (NFS): for a moment there is neither the old nor the new
     * checkpoint.
     */
    if ((errno == EINVAL || errno == ENOSYS) && rename(c->folder, whole) == 0)
        return 0;
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) {
        int rc = remove_any(whole, err);

        if (rc < 0)
            return rc;
        if (rename(c->folder, whole) == 0)
            return 0;
    }
    return eddis_fail_errno(err, -errno, "cannot rename '%s'", c->folder);
}

/* After a commit failed with rc and err, check the fence.  If another process now writes to the
 * folder (-ESTALE), or the folder is gone (-ENOENT), set err to that and return its code; otherwise
 * return rc.
 */
static int explain(const struct checkpoint *c, int rc, struct eddis_error *err)
{
    struct eddis_error why = { 0 };
    int rc2 = rc == -ESTALE ? 0 : fence_check(c->dir, &c->fence, &why);

    if (rc2 == -ESTALE || rc2 == -ENOENT)
        return eddis_fail(err, rc2, "%s", why.text);
    return rc;
}

/* Complete the part: write the manifest, sync the folder, check the fence and rename the part.
 * Return 0 or a negative errno, and then the part remains; -ESTALE, -ENOENT: see fence_check.
 */
static int make_whole(struct checkpoint *c, struct eddis_error *err)
{
    cleanup_free char *text = manifest_text(&c->m);
    int rc = text ? write_file(c->folder, MANIFEST_NAME, text, strlen(text), err)
                  : eddis_fail(err, -ENOMEM, "no memory for a manifest");

    if (rc == 0)
        rc = file_sync_dir(c->folder, err);
    if (rc == 0)
        rc = fence_check(c->dir, &c->fence, err);
    return rc < 0 ? rc : rename_whole(c, err);
}

void checkpoint_drop_later(struct checkpoint *c, int64_t last_step)
{
    c->drop_to = last_step;
}

/* Remove whole checkpoints of steps after c->step, up to c->drop_to.  Failures are ignored: the
 * commit itself has succeeded.
 */
static void drop_later(const struct checkpoint *c)
{
    cleanup_free struct checkpoint_name *names = NULL;
    int n = c->drop_to > c->step ? checkpoint_names(c->dir, &names, NULL) : 0;

    for (int i = 0; i < n; i++) {
        cleanup_free char *path = path_of(c->dir, names[i].step, 0);

        if (path && !names[i].generation && names[i].step > c->step && names[i].step <= c->drop_to)
            (void)remove_any(path, NULL);
    }
}

/* Remove old checkpoints: parts of this and earlier generations, and all but the `keep` newest
 * whole ones up to this step (keep <= 0: no whole ones).  Those of later steps, from a run that
 * went further, stay.  Sizes are compared, checksums are not.  What cannot be removed now is left
 * to the next commit.
 */
static void remove_old(const struct checkpoint *c, int keep)
{
    cleanup_free struct checkpoint_name *names = NULL;
    int n = checkpoint_names(c->dir, &names, NULL), whole = 0;

    for (int i = 0; i < n; i++) {
        cleanup_free char *path = path_of(c->dir, names[i].step, names[i].generation);
        bool past = names[i].step <= c->step;
        struct manifest m = { 0 };

        if (!path || names[i].generation > c->fence.generation)
            continue;
        if (names[i].generation || (keep > 0 && past && whole >= keep))
            (void)remove_any(path, NULL);
        else if (past && checkpoint_check(path, false, &m, NULL) == 0)
            whole++;
        manifest_fini(&m);
    }
}

int checkpoint_commit_take(struct checkpoint *c, const struct checkpoint_meta *meta, int keep,
                           struct eddis_error *err)
{
    int rc = checkpoint_take_stock(c, err);

    c->m.meta = *meta;
    c->m.meta.step = c->step;
    if (rc == 0)
        rc = make_whole(c, err);
    if (rc < 0) {
        rc = explain(c, rc, err);
        checkpoint_abandon_take(c);
        return rc;
    }
    c->owner = false;
    rc = file_sync_dir(c->dir, err);
    if (rc == 0) {
        remove_old(c, keep);
        drop_later(c);
    }
    checkpoint_free(c);
    return rc;
}

void checkpoint_abandon_take(struct checkpoint *c)
{
    if (c && c->owner)
        (void)remove_any(c->folder, NULL);
    checkpoint_free(c);
}

void checkpoint_close(struct checkpoint *c)
{
    checkpoint_free(c);
}
