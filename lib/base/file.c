/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - read, replace and remove files and folders, each with a size limit */
#include "file.h"

#include "cleanup.h"
#include "left.h"
#include "strbuf.h"
#include "trust.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

/* Append what fd has up to its end, at most max bytes, to b, and leave nothing of it on the stack:
 * it may contain secrets.  Return 0 or a negative errno.
 */
static int read_to_end(int fd, const char *name, size_t max, struct strbuf *b,
                       struct eddis_error *err)
{
    char part[16384];
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read(fd, part, sizeof part)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = eddis_fail_errno(err, -errno, "cannot read '%s'", name);
        else if (b->len + (size_t)n > max)
            rc = eddis_fail(err, -EFBIG, "'%s' is longer than %zu bytes", name, max);
        else
            strbuf_add_bytes(b, part, (size_t)n);
    }
    explicit_bzero(part, sizeof part);
    return rc;
}

int file_read_fd(int fd, const char *name, size_t max, char **ret, size_t *ret_n,
                 struct eddis_error *err)
{
    cleanup_strbuf struct strbuf b = { 0 };
    int rc = read_to_end(fd, name, max, &b, err);
    size_t n = b.len;

    if (rc < 0)
        return rc;
    *ret = strbuf_steal(&b);
    if (!*ret)
        return eddis_fail(err, -ENOMEM, "no memory to read '%s'", name);
    if (ret_n)
        *ret_n = n;
    return 0;
}

int file_open_regular(const char *path, size_t max, off_t *ret_size, struct eddis_error *err)
{
    /* O_NONBLOCK: if the path is a FIFO, open must not block. */
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
    if (fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot stat '%s'", path);
    if (S_ISDIR(st.st_mode))
        return eddis_fail(err, -EISDIR, "'%s' is a folder, not a file", path);
    if (!S_ISREG(st.st_mode))
        return eddis_fail(err, -EINVAL, "'%s' is not a regular file", path);
    if ((uint64_t)st.st_size > max)
        return eddis_fail(err, -EFBIG, "'%s' is longer than %zu bytes", path, max);
    if (ret_size)
        *ret_size = st.st_size;
    return cleanup_keep_fd(fd);
}

int file_read(const char *path, size_t max, char **ret, size_t *ret_n, struct eddis_error *err)
{
    cleanup_fd int fd = file_open_regular(path, max, NULL, err);

    return fd < 0 ? fd : file_read_fd(fd, path, max, ret, ret_n, err);
}

int file_read_trusted(const char *path, size_t max, struct eddis_error *warning, char **ret,
                      size_t *ret_n, struct eddis_error *err)
{
    cleanup_fd int fd = file_open_regular(path, max, NULL, err);
    int rc = fd < 0 ? fd : trust_file(fd, path, warning, err);

    return rc < 0 ? rc : file_read_fd(fd, path, max, ret, ret_n, err);
}

int file_write_all(int fd, const void *data, size_t n, struct eddis_error *err)
{
    const char *p = data;

    while (n) {
        ssize_t done = write(fd, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return eddis_fail_errno(err, -errno, "cannot write");
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

int file_sync_dir(const char *path, struct eddis_error *err)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
        return eddis_fail_errno(err, -errno, "cannot sync folder '%s'", path);
    return 0;
}

/* Store the folder of a path, "." if it names none, in ret_dir [PATH_MAX].  Borrow the rest. */
static const char *split(const char *path, char *ret_dir)
{
    const char *slash = strrchr(path, '/');

    (void)snprintf(ret_dir, PATH_MAX, "%.*s", slash > path ? (int)(slash - path) : 1,
                   slash ? path : ".");
    return slash ? slash + 1 : path;
}

int file_open_unnamed(const char *dir, mode_t mode)
{
    int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);

    return fd < 0 ? -errno : fd;
}

/* ---- replacing ---- */

/* A file to replace, what it becomes, and the name beside it, "FILE.PID.part" */
struct replacement {
    const char *path;
    const void *data; /* [n] */
    size_t n;
    mode_t mode;
    char part[PATH_MAX];
};

/* Check whether this is the name of a part of the file `ctx`; NULL: of any file (left_name_fn). */
static bool is_part(const char *name, const void *ctx)
{
    static const char end[] = ".part";
    size_t n = strlen(name), of, digits = 0;

    if (n < sizeof end || strcmp(name + n - (sizeof end - 1), end) != 0)
        return false;
    for (of = n - (sizeof end - 1); of > 0 && isdigit((unsigned char)name[of - 1]); of--)
        digits++;
    if (digits == 0 || of < 2 || name[of - 1] != '.')
        return false;
    return !ctx || (strlen(ctx) == of - 1 && strncmp(name, ctx, of - 1) == 0);
}

/* Write the new bytes to fd and sync it; then remove parts of the same file that killed processes
 * have left.  Return 0 or a negative errno.
 */
static int fill(int fd, const struct replacement *r, struct eddis_error *err)
{
    int rc = file_write_all(fd, r->data, r->n, err);
    char dir[PATH_MAX];
    struct stat own;

    if (rc < 0)
        return eddis_fail_prefix(err, rc, "'%s'", r->path);
    if (fsync(fd) < 0)
        return eddis_fail_errno(err, -errno, "cannot write '%s'", r->path);
    if (fstat(fd, &own) == 0) {
        const char *name = split(r->path, dir);

        left_remove(dir, &own, is_part, name);
    }
    return 0;
}

/* Rename the part, which is complete.  Return 0 or a negative errno, and then there is no part. */
static int rename_part(const struct replacement *r, struct eddis_error *err)
{
    int rc = rename(r->part, r->path) < 0 ? -errno : 0;

    if (rc == 0)
        return 0;
    (void)unlink(r->part);
    return eddis_fail_errno(err, rc, "cannot write '%s'", r->path);
}

/* Replace the file by one that has no name until it is complete, so that a kill leaves nothing.
 * Only to replace an existing file it needs the name of a part, for a moment.  Return 0 or a
 * negative errno; 1: the file system has no such files, or there is no /proc.
 */
static int replace_unnamed(const struct replacement *r, struct eddis_error *err)
{
    char dir[PATH_MAX], link[32];
    cleanup_fd int fd = -1;
    int rc;

    (void)split(r->path, dir);
    fd = file_open_unnamed(dir, r->mode);
    if (fd < 0)
        return 1;
    rc = fill(fd, r, err);
    if (rc < 0)
        return rc;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, link, AT_FDCWD, r->path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != EEXIST || (unlink(r->part) < 0 && errno != ENOENT) ||
        linkat(AT_FDCWD, link, AT_FDCWD, r->part, AT_SYMLINK_FOLLOW) < 0)
        return 1;
    return rename_part(r, err);
}

/* Replace the file by a part that has a name from the beginning.  Return 0 or a negative errno. */
static int replace_named(const struct replacement *r, struct eddis_error *err)
{
    cleanup_fd int fd = -1;
    int rc;

    (void)unlink(r->part);
    fd = open(r->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, r->mode);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot make '%s'", r->path);
    rc = fill(fd, r, err);
    if (rc == 0)
        return rename_part(r, err);
    (void)unlink(r->part);
    return rc;
}

/* Write the name of the file's part to ret [PATH_MAX].  Return 0 or -ENAMETOOLONG. */
static int name_part(const char *path, char *ret, struct eddis_error *err)
{
    if (snprintf(ret, PATH_MAX, "%s.%d.part", path, (int)getpid()) >= PATH_MAX)
        return eddis_fail(err, -ENAMETOOLONG, "path '%s' is too long", path);
    return 0;
}

int file_write_atomic(const char *path, const void *data, size_t n, mode_t mode,
                      struct eddis_error *err)
{
    struct replacement r = { .path = path, .data = data, .n = n, .mode = mode };
    int rc = name_part(path, r.part, err);

    if (rc == 0)
        rc = replace_unnamed(&r, err);
    return rc > 0 ? replace_named(&r, err) : rc;
}

void file_remove_parts(const char *dir)
{
    left_remove(dir, NULL, is_part, NULL);
}

/* Check whether this is the name of a file that file_try_folder makes (left_name_fn). */
static bool is_trial(const char *name, const void *ctx)
{
    (void)ctx;
    return strncmp(name, ".eddis-", 7) == 0 && strlen(name) == 7 + 6;
}

int file_try_folder(const char *dir, struct stat *ret)
{
    cleanup_fd int fd = file_open_unnamed(dir, 0600);
    char name[PATH_MAX];
    struct stat st;
    int rc;

    if (fd < 0) {
        if (snprintf(name, sizeof name, "%s/.eddis-XXXXXX", dir) >= (int)sizeof name)
            return -ENAMETOOLONG;
        fd = mkostemp(name, O_CLOEXEC);
        if (fd < 0)
            return -errno;
        rc = fstat(fd, &st) < 0 ? -errno : 0;
        (void)unlink(name);
        if (rc == 0)
            left_remove(dir, &st, is_trial, NULL);
    } else {
        rc = fstat(fd, &st) < 0 ? -errno : 0;
    }
    if (rc == 0 && ret)
        *ret = st;
    return rc;
}

int file_try(const char *path, struct eddis_error *err)
{
    char part[PATH_MAX], dir[PATH_MAX];
    struct stat st;
    int rc = name_part(path, part, err);

    if (rc < 0)
        return rc;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* a rename would replace /dev/null */
        return eddis_fail(err, -EINVAL, "'%s' exists and is not a regular file", path);
    (void)split(path, dir);
    rc = lstat(part, &st) < 0 && errno == ENAMETOOLONG ? -errno : file_try_folder(dir, NULL);
    return rc < 0 ? eddis_fail_errno(err, rc, "cannot write '%s'", path) : 0;
}

int file_write_new(const char *path, const void *data, size_t n, struct eddis_error *err)
{
    cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot make '%s'", path);
    return file_write_all(fd, data, n, err);
}

const char *file_room_advice(int code)
{
    return code == -EFBIG ? "raise the limit of the size of files (ulimit -f)" : "free space there";
}

int file_open_append(const char *path, mode_t mode, struct eddis_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    cleanup_fd int fd = open(path, flags | O_EXCL, mode);
    struct stat st;
    int rc;

    if (fd >= 0) /* a new file is not checked: the file system chooses its owner and mode */
        return cleanup_keep_fd(fd);
    fd = open(path, flags, mode);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot write '%s'", path);
    if (fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot stat '%s'", path);
    if (!S_ISREG(st.st_mode))
        return eddis_fail(err, -EINVAL, "'%s' is not a regular file", path);
    rc = trust_stat(&st, path, NULL, err);
    return rc < 0 ? rc : cleanup_keep_fd(fd);
}

int file_append(const char *path, const void *data, size_t n, mode_t mode, struct eddis_error *err)
{
    cleanup_fd int fd = file_open_append(path, mode, err);
    off_t before;
    int rc;

    if (fd < 0)
        return fd;
    before = lseek(fd, 0, SEEK_END);
    rc = file_write_all(fd, data, n, err);
    if (rc == 0)
        return 0;
    if (before >= 0) /* remove what a full disk may have stored of the data */
        (void)!ftruncate(fd, before);
    return eddis_fail_errno(err, rc, "cannot write '%s'", path);
}

int file_mark_end(const char *path, const char *line, struct eddis_error *err)
{
    size_t n = strlen(line);
    int rc = file_append(path, line, n, 0600, err);
    cleanup_fd int fd =
        rc < 0 && rc != -EPERM ? open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)n &&
        pwrite(fd, line, n, st.st_size - (off_t)n) == (ssize_t)n)
        return 0;
    return rc;
}

int file_mkdirs(const char *path, mode_t mode, struct eddis_error *err)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    struct stat st;

    if (n == 0 || n >= sizeof part)
        return eddis_fail(err, -EINVAL, "'%s' is empty or too long for the path of a folder", path);
    memcpy(part, path, n + 1);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, mode) < 0 && errno != EEXIST)
            return eddis_fail_errno(err, -errno, "cannot create folder '%s'", part);
        *slash = '/';
    }
    if (mkdir(part, mode) < 0 && errno != EEXIST)
        return eddis_fail_errno(err, -errno, "cannot create folder '%s'", part);
    if (stat(part, &st) < 0 || !S_ISDIR(st.st_mode))
        return eddis_fail(err, -ENOTDIR, "'%s' exists and is not a folder", part);
    return 0;
}

size_t file_there(const char *path)
{
    char part[PATH_MAX];
    size_t n = strlen(path), kept = 0;
    struct stat st;

    for (size_t i = 1; i <= n && i < sizeof part; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (lstat(part, &st) < 0)
            return kept;
        kept = i;
    }
    return n;
}

void file_rmdirs(const char *path, size_t kept)
{
    char part[PATH_MAX];
    size_t n = strlen(path);

    if (n >= sizeof part)
        return;
    memcpy(part, path, n + 1);
    while (n > kept && rmdir(part) == 0) {
        char *slash = strrchr(part, '/');

        if (!slash)
            return;
        *slash = '\0';
        n = strlen(part);
    }
}

/* Open the folder `name` in folder `parent` in order to remove its entries.  If it is this user's
 * own and lacks permissions of its owner, which a worker may have removed, set its mode to 0700.
 * Return its descriptor or a negative errno value.
 */
static int open_to_remove(int parent, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    struct stat st;

    if (fd < 0 && errno == EACCES && fchmodat(parent, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(parent, name, flags);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && trust_is_self(st.st_uid) && (st.st_mode & 0700) != 0700)
        (void)fchmod(fd, 0700);
    return fd;
}

/* Remove all entries of the folder `name` in folder `parent` recursively, without following links;
 * keep its entry `kept` (NULL: none).  Continue after errors.  Return 0, or the last error as a
 * negative errno value.
 */
static int remove_inside(int parent, const char *name, const char *kept)
{
    int fd = open_to_remove(parent, name);
    cleanup_dir DIR *dir = NULL;
    int rc = 0;
    struct dirent *e;

    if (fd < 0)
        return fd;
    dir = fdopendir(fd);
    if (!dir) {
        rc = -errno;
        (void)close(fd);
        return rc;
    }
    while ((e = readdir(dir))) {
        int one = 0;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            (kept && strcmp(e->d_name, kept) == 0))
            continue;
        if (unlinkat(fd, e->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno == EISDIR || errno == EPERM || errno == ENOTEMPTY) {
            one = remove_inside(fd, e->d_name, NULL);
            if (one == 0 && unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT)
                one = -errno;
        } else {
            one = -errno;
        }
        if (one < 0 && one != -ENOENT)
            rc = one;
    }
    return rc;
}

int file_remove_inside(const char *path, struct eddis_error *err)
{
    int rc = remove_inside(AT_FDCWD, path, NULL);

    return rc < 0 ? eddis_fail_errno(err, rc, "cannot empty folder '%s'", path) : 0;
}

int file_remove_tree(const char *path, struct eddis_error *err)
{
    return file_remove_tree_last(path, NULL, err);
}

int file_remove_tree_last(const char *path, const char *last, struct eddis_error *err)
{
    int rc = remove_inside(AT_FDCWD, path, last);

    if (rc == 0 && last)
        rc = remove_inside(AT_FDCWD, path, NULL);
    if (rc == 0 && rmdir(path) < 0)
        rc = -errno;
    if (rc < 0 && rc != -ENOENT)
        return eddis_fail_errno(err, rc, "cannot remove folder '%s'", path);
    return 0;
}

char *file_join(const char *dir, const char *fmt, ...)
{
    struct strbuf b = { 0 };
    va_list ap;

    strbuf_add(&b, dir);
    strbuf_add(&b, "/");
    va_start(ap, fmt);
    strbuf_vaddf(&b, fmt, ap);
    va_end(ap);
    return strbuf_steal(&b);
}

char *file_cache_dir(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const struct passwd *user;

    if (cache && cache[0] == '/')
        return file_join(cache, "eddis");
    if (!home || home[0] != '/') {
        user = getpwuid(geteuid());
        home = user ? user->pw_dir : NULL;
    }
    return home && home[0] == '/' ? file_join(home, ".cache/eddis") : NULL;
}
