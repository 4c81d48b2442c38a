/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_stock.c - sum a checkpoint's files, and list the program's own ones */
#include "checkpoint.h"

#include "checkpoint_impl.h"
#include "manifest.h"

#include "lib/base/cleanup.h"
#include "lib/base/crc32.h"
#include "lib/base/file.h"
#include "lib/base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int checkpoint_make_own(int fd, struct stat *st, const char *path, struct eddis_error *err)
{
    if ((st->st_mode & S_IWOTH) && trust_is_self(st->st_uid) &&
        fchmod(fd, st->st_mode & 07775) == 0)
        st->st_mode &= (mode_t)~S_IWOTH;
    return trust_stat(st, path, NULL, err) < 0 ? -EPERM : 0;
}

int checkpoint_sum(const char *folder, const char *name, bool sync, struct manifest_file *ret,
                   struct eddis_error *err)
{
    cleanup_free char *path = file_join(folder, "%s", name);
    struct manifest_file f = { 0 };
    cleanup_fd int fd = -1;
    char part[65536];
    struct stat st;
    ssize_t n = 0;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    /* O_NONBLOCK: a FIFO among the files must not block the program forever. */
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
    if (!S_ISREG(st.st_mode))
        return eddis_fail(err, -EINVAL, "'%s' is not a file; a checkpoint holds files only", path);
    if ((sync ? checkpoint_make_own(fd, &st, path, err) : trust_stat(&st, path, NULL, err)) < 0)
        return -EPERM;
    snprintf(f.name, sizeof f.name, "%s", name);
    while ((n = read(fd, part, sizeof part)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return eddis_fail_errno(err, -errno, "cannot read '%s'", path);
        f.crc = crc32_update(f.crc, part, (size_t)n);
        f.bytes += n;
    }
    if (sync && fsync(fd) < 0)
        return eddis_fail_errno(err, -errno, "cannot sync '%s'", path);
    *ret = f;
    return 0;
}

bool checkpoint_is_own(const char *name)
{
    return strncmp(name, CHECKPOINT_OWN, sizeof CHECKPOINT_OWN - 1) == 0;
}

/* What is known while a checkpoint's folder is listed. */
struct stock {
    const struct checkpoint *c; /* its list is sorted */
    size_t met;                 /* files of the list that were found */
    struct manifest own;        /* files of the program itself */
};

/* Check whether a file has the name of an entry, of any rank, that belongs to the library. */
static bool is_own_file(const char *file)
{
    int name = 0;

    return sscanf(file, "rank-%*d.%n", &name) == 0 && name && checkpoint_is_own(file + name);
}

/* Fail for a file or folder that cannot be a part of the checkpoint.  Return -EINVAL. */
static int refuse(const char *name, const char *why, struct eddis_error *err)
{
    return eddis_fail(err, -EINVAL, "'%s' in the checkpoint %s", name, why);
}

/* Sync a file of a subfolder and add it to the list with its size.  Return 0 or a negative errno;
 * -EPERM: it is not the user's own, or others may write to it.
 */
static int add_sized(struct stock *s, const char *name, struct eddis_error *err)
{
    cleanup_free char *path = file_join(s->c->folder, "%s", name);
    cleanup_fd int fd = -1;
    struct stat st;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
    if (checkpoint_make_own(fd, &st, path, err) < 0)
        return -EPERM;
    if (fsync(fd) < 0)
        return eddis_fail_errno(err, -errno, "cannot sync '%s'", path);
    return manifest_add(&s->own, name, st.st_size, 0, err);
}

/* Add a regular file that is in no list.  Return 0 or a negative errno. */
static int add_own(struct stock *s, const char *name, struct eddis_error *err)
{
    struct manifest_file found;
    int rc;

    if (manifest_is_sized(name))
        return add_sized(s, name, err);
    if (is_own_file(name))
        return refuse(name, "has a name of the library's own", err);
    rc = checkpoint_sum(s->c->folder, name, true, &found, err);
    return rc < 0 ? rc : manifest_add(&s->own, found.name, found.bytes, found.crc, err);
}

static int list_folder(struct stock *s, const char *sub, struct eddis_error *err);

/* Take a file or folder, by its path within the checkpoint: check it if it is listed, else add it,
 * or what is in it.  Return 0 or a negative errno.
 */
static int take_one(struct stock *s, const char *name, const struct stat *st,
                    struct eddis_error *err)
{
    const struct manifest_file *f = manifest_find(&s->c->m, name);

    if (f && S_ISREG(st->st_mode) && st->st_size == f->bytes) {
        s->met++;
        return 0;
    }
    if (f)
        return refuse(name, "was changed after it was put", err);
    if (!manifest_is_name(name))
        return refuse(name, "has a name that cannot be kept", err);
    if (S_ISDIR(st->st_mode))
        return list_folder(s, name, err);
    if (!S_ISREG(st->st_mode))
        return refuse(name, "is neither a file nor a folder", err);
    return add_own(s, name, err);
}

/* Take everything in the checkpoint's folder, or in its subfolder `sub` ("": the folder itself),
 * and sync the subfolder.  Return 0 or a negative errno.
 */
static int list_folder(struct stock *s, const char *sub, struct eddis_error *err)
{
    cleanup_free char *path = file_join(s->c->folder, "%s", sub);
    cleanup_dir DIR *dir = path ? opendir(path) : NULL;
    struct dirent *e;
    struct stat st;
    int rc = 0;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    if (!dir || fstat(dirfd(dir), &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot read folder '%s'", path);
    if (*sub && checkpoint_make_own(dirfd(dir), &st, path, err) < 0)
        return -EPERM;
    while (rc == 0 && (e = readdir(dir))) {
        char name[MANIFEST_MAX_FILE + 1];

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (snprintf(name, sizeof name, "%s%s%s", sub, *sub ? "/" : "", e->d_name) >=
            (int)sizeof name)
            return refuse(e->d_name, "has a path that is too long", err);
        if (fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return eddis_fail_errno(err, -errno, "cannot look at '%s' in '%s'", name, path);
        rc = take_one(s, name, &st, err);
    }
    return rc == 0 && *sub ? file_sync_dir(path, err) : rc;
}

int checkpoint_take_stock(struct checkpoint *c, struct eddis_error *err)
{
    struct stock s = { .c = c };
    int rc = manifest_sort(&c->m, err);

    if (rc == 0)
        rc = list_folder(&s, "", err);
    if (rc == 0 && s.met < c->m.n)
        rc = eddis_fail(err, -ENOENT, "%zu files that were put into checkpoint '%s' are missing",
                        c->m.n - s.met, c->folder);
    for (size_t i = 0; i < s.own.n && rc == 0; i++)
        rc = manifest_add(&c->m, s.own.file[i].name, s.own.file[i].bytes, s.own.file[i].crc, err);
    manifest_fini(&s.own);
    return rc < 0 ? rc : manifest_sort(&c->m, err);
}
