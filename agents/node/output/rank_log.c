/* SPDX-License-Identifier: Apache-2.0 */
/* rank_log.c - writes a rank's output to files that keep its beginning and its end */
#include "rank_log.h"

#include "agents/protocol/log_files.h"
#include "last_words.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes of the last output that are kept in memory. */
enum { KEPT = 16384 };

struct rank_log {
    char *head_path, *tail_path, *old_path; /* files of the beginning, the end, the older end */
    int fd;                     /* file being written; negative errno: it could not be opened */
    bool in_tail;               /* the file being written is tail_path, not head_path */
    bool full;                  /* tail_path is full and was not yet renamed */
    int64_t written;            /* bytes in the file being written */
    int64_t old_bytes;          /* bytes in old_path */
    int64_t head_max, tail_max; /* limits of head_path and tail_path, in bytes */
    int64_t dropped;            /* output that is in no file, in bytes */
    int error; /* negative errno of failed writes that the log does not mention yet; 0: none */
    int first_error;   /* negative errno of the first failed write; 0: none */
    int64_t unwritten; /* bytes that the log must still report as not written */
    char kept[KEPT];   /* the last output; of a line with carriage returns only its last state */
    size_t n_kept;
    bool returned; /* the last byte was a carriage return */
};

/* Open a file for appending, with mode 0600 if it is new, and store its size in *ret_size.  Return
 * the descriptor, which the caller closes, or a negative errno.
 */
static int open_append(const char *path, int64_t *ret_size, struct eddis_error *err)
{
    cleanup_fd int fd = file_open_append(path, 0600, err);
    struct stat st;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return eddis_fail_errno(err, -errno, "cannot look at the log '%s'", path);
    *ret_size = st.st_size;
    return cleanup_keep_fd(fd);
}

int rank_log_open(const char *dir, int rank, int64_t generation, int64_t max_bytes,
                  struct rank_log **ret, struct eddis_error *err)
{
    struct rank_log *l = calloc(1, sizeof *l);
    char line[64];
    int rc = 0;

    if (!l)
        return eddis_fail(err, -ENOMEM, "no memory for a log");
    l->head_path = file_join(dir, "rank-%04d.log", rank);
    l->tail_path = file_join(dir, "rank-%04d.tail.log", rank);
    l->old_path = file_join(dir, "rank-%04d.tail-1.log", rank);
    l->head_max = max_bytes / 2;
    l->tail_max = max_bytes / 4 > 0 ? max_bytes / 4 : 1;
    l->fd = -1;
    if (!l->head_path || !l->tail_path || !l->old_path)
        rc = eddis_fail(err, -ENOMEM, "no memory for a log");
    if (rc == 0)
        rc = l->fd = open_append(l->head_path, &l->written, err);
    if (rc < 0) {
        rank_log_close(l);
        return rc;
    }
    if (generation > 1 && l->written) {
        snprintf(line, sizeof line, "[eddis: start %lld]\n", (long long)generation);
        rank_log_write(l, line, strlen(line));
        l->n_kept = 0; /* this line is not output of the program */
    }
    *ret = l;
    return 0;
}

/* Append n bytes to the last output in memory (l->kept), and drop the oldest bytes beyond KEPT. */
static void keep_bytes(struct rank_log *l, const char *data, size_t n)
{
    if (n >= KEPT) {
        memcpy(l->kept, data + n - KEPT, KEPT);
        l->n_kept = KEPT;
        return;
    }
    if (l->n_kept + n > KEPT) {
        size_t gone = l->n_kept + n - KEPT;

        memmove(l->kept, l->kept + gone, l->n_kept - gone);
        l->n_kept -= gone;
    }
    memcpy(l->kept + l->n_kept, data, n);
    l->n_kept += n;
}

/* Append output to the last output in memory.  As in lines_feed, text after a carriage return
 * replaces the line before it.
 */
static void keep(struct rank_log *l, const char *data, size_t n)
{
    while (n > 0) {
        const char *back = memchr(data, '\r', n);
        size_t some = back ? (size_t)(back - data) : n;

        if (some && l->returned && data[0] != '\n')
            while (l->n_kept > 0 && l->kept[l->n_kept - 1] != '\n')
                l->n_kept--;
        if (some) {
            keep_bytes(l, data, some);
            l->returned = false;
        }
        some += !!back;
        l->returned = l->returned || back;
        data += some;
        n -= some;
    }
}

/* Write a formatted line to fd; ignore a failure. */
static void say(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(int fd, const char *fmt, ...)
{
    char line[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    (void)file_write_all(fd, line, strlen(line), NULL);
}

/* Return the size of a regular file, which an earlier generation may have left; 0: there is none.
 */
static int64_t size_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
}

/* Rename the full end to the older end, and count the bytes of the file that is no longer there.
 * Return 0 or a negative errno.
 */
static int put_aside(struct rank_log *l)
{
    if (rename(l->tail_path, l->old_path) == 0) {
        l->dropped += l->old_bytes;
        l->old_bytes = l->written;
    } else if (errno == ENOENT) { /* somebody has removed the end */
        l->dropped += l->written;
    } else {
        return -errno;
    }
    l->full = false;
    return 0;
}

/* Open the end, after the full end was put aside.  If that fails, l->fd is the negative errno: the
 * output is dropped, and the next write tries again.
 */
static void open_tail(struct rank_log *l)
{
    int rc = l->full ? put_aside(l) : 0;

    l->fd = rc < 0 ? rc : open_append(l->tail_path, &l->written, NULL);
}

/* Close the present file because it is full, and continue in the next file. */
static void turn(struct rank_log *l)
{
    if (!l->in_tail) {
        say(l->fd, LOG_FILES_FULL "the last output is in %s and before it in %s]\n", l->tail_path,
            l->old_path);
        l->old_bytes = size_of(l->old_path);
    }
    (void)close(l->fd);
    l->full = l->in_tail;
    l->in_tail = true;
    open_tail(l);
}

/* If writes have failed, write to the log how many bytes are missing at this point, and reset the
 * count if that succeeds. last: no more output will come, so overwrite the file's end if the disk
 * is still full, and use the old file if no new one could be opened.
 */
static void say_unwritten(struct rank_log *l, bool last)
{
    const char *path = l->in_tail ? l->tail_path : l->head_path;
    char line[200];
    int rc;

    if (!l->error || (l->fd < 0 && !last))
        return;
    (void)snprintf(line, sizeof line, "\n[eddis: %lld bytes could not be written here: %s]\n",
                   (long long)l->unwritten, strerror(-l->error));
    rc = last ? file_mark_end(path, line, NULL) : file_append(path, line, strlen(line), 0600, NULL);
    if (rc == 0) {
        l->error = 0;
        l->unwritten = 0;
    }
}

/* Record that n bytes could not be written, and why (errno). */
static void write_failed(struct rank_log *l, size_t n)
{
    l->error = l->fd < 0 ? l->fd : -errno;
    l->first_error = l->first_error ? l->first_error : l->error;
    l->unwritten += (int64_t)n;
    l->dropped += (int64_t)n;
}

void rank_log_write(struct rank_log *l, const char *data, size_t n)
{
    keep(l, data, n);
    if (l->fd < 0)
        open_tail(l);
    say_unwritten(l, false);
    while (n > 0) {
        int64_t room = (l->in_tail ? l->tail_max : l->head_max) - l->written;
        size_t some = room < (int64_t)n ? (size_t)(room > 0 ? room : 0) : n;
        ssize_t put = some ? write(l->fd, data, some) : 0;

        if (put < 0 && errno == EINTR)
            continue;
        if (l->fd < 0 || put < 0) {
            write_failed(l, n);
            return;
        }
        l->written += put;
        data += put;
        n -= (size_t)put;
        if (n > 0 && (size_t)put == some)
            turn(l);
    }
}

/* Copy n chosen lines of the last output to ret [size], each cut to line_bytes and with a newline,
 * without control characters.  Stop at the first line for which there is no room.
 */
static void copy_lines(const struct rank_log *l, const struct last_line *line, int n,
                       size_t line_bytes, char *ret, size_t size)
{
    size_t used = 0;

    *ret = '\0';
    for (int k = 0; k < n; k++) {
        size_t len = line[k].to - line[k].from;
        char *to = ret + used;

        len = len > line_bytes ? line_bytes : len;
        if (used + len + 2 > size)
            return;
        for (size_t i = 0; i < len; i++)
            to[i] = l->kept[line[k].from + i] ? l->kept[line[k].from + i] : '?';
        to[len] = '\0';
        text_make_plain(to);
        len = strlen(to);
        to[len] = '\n';
        to[len + 1] = '\0';
        used += len + 1;
    }
}

void rank_log_last_lines(const struct rank_log *l, bool tail, int max_lines, size_t line_bytes,
                         char *ret, size_t size)
{
    struct last_line line[64];
    int most = max_lines < 64 ? max_lines : 64;
    int n = tail ? last_words_tail(l->kept, l->n_kept, most, line)
                 : last_words_choose(l->kept, l->n_kept, most, line);

    copy_lines(l, line, n, line_bytes, ret, size);
}

bool rank_log_blames_another(const struct rank_log *l)
{
    return last_words_blame_another(l->kept, l->n_kept);
}

int64_t rank_log_dropped(const struct rank_log *l)
{
    return l->dropped;
}

int rank_log_error(const struct rank_log *l)
{
    return l->first_error;
}

void rank_log_close(struct rank_log *l)
{
    if (!l)
        return;
    say_unwritten(l, true);
    if (l->dropped && l->in_tail && l->fd >= 0) {
        int64_t size;
        cleanup_fd int head = open_append(l->head_path, &size, NULL);

        if (head >= 0)
            say(head, "[eddis: %lld bytes in between were dropped]\n", (long long)l->dropped);
    }
    if (l->fd >= 0)
        (void)close(l->fd);
    free(l->head_path);
    free(l->tail_path);
    free(l->old_path);
    free(l);
}
