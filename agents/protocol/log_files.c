/* SPDX-License-Identifier: Apache-2.0 */
/* log_files.c - opens the files of one log, and reads them as one text */
#include "log_files.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Indices of the files, in the order of the text. */
enum { HEAD, OLDER_TAIL, TAIL };

/* Attempts to open the files of one moment, and bytes at the end of a full head that are searched
 * for the line that ends the rank's output there.
 */
enum { ATTEMPTS = 8, HEAD_END = 8192 };

int log_files_paths(const char *dir, int rank, char *path[LOG_FILES])
{
    static const char *const part[] = { [HEAD] = "", [OLDER_TAIL] = ".tail-1", [TAIL] = ".tail" };

    for (int i = 0; i < LOG_FILES; i++)
        path[i] = file_join(dir, "rank-%04d%s.log", rank, part[i]);
    if (path[HEAD] && path[OLDER_TAIL] && path[TAIL])
        return 0;
    log_files_free_paths(path);
    return -ENOMEM;
}

void log_files_free_paths(char *path[LOG_FILES])
{
    for (int i = 0; i < LOG_FILES; i++) {
        free(path[i]);
        path[i] = NULL;
    }
}

/* Open a regular file and store its size in *ret_size.  Return the descriptor or a negative errno.
 */
static int open_one(const char *path, int64_t *ret_size)
{
    /* O_NONBLOCK: if the path is a FIFO, open must not block. */
    cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    *ret_size = st.st_size;
    return cleanup_keep_fd(fd);
}

/* Open and measure the files that exist, in *ret.  The last comes first: the files before it no
 * longer grow once it exists.  Return 0, or the negative errno of the head if there are none.
 */
static int open_all(char *const *path, struct log_files *ret)
{
    int rc = -ENOENT, found = 0;

    *ret = (struct log_files)LOG_FILES_NONE;
    for (int i = LOG_FILES - 1; i >= 0; i--) {
        rc = path[i] ? open_one(path[i], &ret->size[i]) : -ENOENT;
        if (rc >= 0)
            ret->fd[i] = rc;
        found += rc >= 0;
    }
    return found ? 0 : rc;
}

/* Check whether the file that was opened as the tail is still the tail, so that no file was renamed
 * while they were opened.
 */
static bool is_still_tail(const char *path, int fd)
{
    struct stat there, here;
    bool exists = path && lstat(path, &there) == 0 && S_ISREG(there.st_mode);

    if (!exists || fd < 0)
        return !exists && fd < 0;
    return fstat(fd, &here) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Return the size of a full head up to the end of the line that says so; `size`, the size of the
 * file, if it has no such line near its end.
 */
static int64_t full_head_size(int fd, int64_t size)
{
    char text[HEAD_END];
    int64_t from = size > HEAD_END ? size - HEAD_END : 0;
    ssize_t n = pread(fd, text, sizeof text, from);
    const char *line =
        n > 0 ? memmem(text, (size_t)n, LOG_FILES_FULL, strlen(LOG_FILES_FULL)) : NULL;
    const char *end = line ? memchr(line + 1, '\n', (size_t)(text + n - line - 1)) : NULL;

    return end ? from + (end + 1 - text) : size;
}

int log_files_open(char *const path[LOG_FILES], bool whole, struct log_files *ret,
                   struct eddis_error *err)
{
    struct log_files f;
    int rc = open_all(path, &f);

    for (int i = 1; i < ATTEMPTS && !is_still_tail(path[TAIL], f.fd[TAIL]); i++) {
        log_files_close(&f);
        rc = open_all(path, &f);
    }
    if (rc < 0)
        return eddis_fail_errno(err, rc, "cannot open '%s'", path[HEAD]);
    if (!whole && f.fd[HEAD] >= 0 && (f.fd[OLDER_TAIL] >= 0 || f.fd[TAIL] >= 0))
        f.size[HEAD] = full_head_size(f.fd[HEAD], f.size[HEAD]);
    for (int i = 0; i < LOG_FILES; i++)
        f.end += f.size[i];
    *ret = f;
    return 0;
}

int64_t log_files_from(const struct log_files *f, int64_t offset)
{
    if (offset < 0)
        return f->end + offset > 0 ? f->end + offset : 0;
    if (offset > f->end) /* the file that was pushed out was as long as the one in its place */
        offset -= f->size[OLDER_TAIL];
    return offset < f->end ? offset : f->end;
}

/* Read up to n bytes of a file from offset `at` into `to`.  Return their number, less than n if the
 * file has shrunk, or a negative errno.
 */
static ssize_t read_one(int fd, int64_t at, char *to, size_t n)
{
    size_t got = 0;
    ssize_t some = 1;

    while (got < n && some > 0) {
        some = pread(fd, to + got, n - got, at + (int64_t)got);
        got += some > 0 ? (size_t)some : 0;
    }
    return some < 0 && !got ? -errno : (ssize_t)got;
}

ssize_t log_files_read(const struct log_files *f, int64_t from, char *to, size_t n)
{
    int64_t begin = 0;
    size_t got = 0;

    for (int i = 0; i < LOG_FILES && got < n; i++) {
        int64_t at = from + (int64_t)got - begin, left = f->size[i] - at;
        size_t some = left < (int64_t)(n - got) ? (size_t)(left > 0 ? left : 0) : n - got;
        ssize_t rc = some ? read_one(f->fd[i], at, to + got, some) : 0;

        if (rc < 0 && !got)
            return rc;
        got += rc > 0 ? (size_t)rc : 0;
        if (rc < (ssize_t)some)
            break;
        begin += f->size[i];
    }
    return (ssize_t)got;
}

void log_files_close(struct log_files *f)
{
    for (int i = 0; i < LOG_FILES; i++)
        if (f->fd[i] >= 0)
            (void)close(f->fd[i]);
    *f = (struct log_files)LOG_FILES_NONE;
}
