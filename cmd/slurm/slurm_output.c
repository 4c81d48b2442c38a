/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_output.c - copies the output of a job from its file as it grows */
#include "slurm_output.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PIECE: bytes that a pipe ready for writing takes without blocking, even if other processes write
 * to it. PIECES: most pieces of one call.
 */
enum { PIECE = 4096, PIECES = 16 };

/* Open and close the folder of a file, so that NFS asks its server whether the file exists:
 * otherwise the client trusts its cached folder for half a minute. Return whether the folder could
 * be opened.
 */
static bool look_into_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *dir =
        slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
    cleanup_fd int fd = open(dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0;
}

bool slurm_output_may_come(const struct slurm_output *o, const char *path)
{
    return !o->seen && !o->is_others && *path && look_into_folder(path);
}

/* Open the job's output file and store its status in *ret. Return the descriptor, or -1 if it is no
 * regular file or cannot be opened; then set o->failed to whether a later attempt may succeed. Set
 * o->is_others if the path exists and is no regular file.
 */
static int open_output(struct slurm_output *o, const char *path, struct stat *ret)
{
    cleanup_fd int fd = -1;

    o->failed = false;
    if (!*path)
        return -1;
    if (!o->seen)
        (void)look_into_folder(path);
    /* Do not open a pipe: that would make this process its reader. */
    if (stat(path, ret) < 0) {
        o->failed = errno == ESTALE || errno == EIO || errno == EAGAIN; /* other errors are final */
        return -1;
    }
    o->is_others = !S_ISREG(ret->st_mode);
    if (o->is_others)
        return -1;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    o->failed = fd < 0 || fstat(fd, ret) < 0;
    if (o->failed || !S_ISREG(ret->st_mode))
        return -1;
    return cleanup_keep_fd(fd);
}

/* Check whether the n bytes at offset `at` of the file differ from `kept`, or are fewer. Return 1
 * if they do, 0 if they are equal, a negative errno if they cannot be read.
 */
static int differs(int fd, const char *kept, size_t n, off_t at)
{
    char now[SLURM_OUTPUT_HEAD];
    ssize_t got = pread(fd, now, n, at);

    return got < 0 ? -errno : (size_t)got != n || memcmp(now, kept, n) != 0;
}

/* Check whether the file is another one than that of the last copy, or was rewritten since. Return
 * 1 if it is, 0 if it has only grown, a negative errno if it cannot be read.
 */
static int is_anew(const struct slurm_output *o, int fd, const struct stat *st)
{
    int rc;

    if (!o->seen || st->st_dev != o->dev || st->st_ino != o->ino || st->st_size < o->at)
        return 1;
    rc = differs(fd, o->head, o->head_n, 0);
    return rc != 0 ? rc : differs(fd, o->tail, o->tail_n, o->at - (off_t)o->tail_n);
}

/* Prepare *o for copying the file with status *st from its beginning. */
static void begin(struct slurm_output *o, const struct stat *st)
{
    o->seen = true;
    o->dev = st->st_dev;
    o->ino = st->st_ino;
    o->at = 0;
    o->head_n = o->tail_n = 0;
}

/* Append n newly copied bytes to o->head, the beginning of the file, until that is full. */
static void keep_head(struct slurm_output *o, const char *bytes, size_t n)
{
    n = n < sizeof o->head - o->head_n ? n : sizeof o->head - o->head_n;
    memcpy(o->head + o->head_n, bytes, n);
    o->head_n += n;
}

/* Append n newly copied bytes to o->tail, the end of the copied part, and drop its oldest bytes. */
static void keep_tail(struct slurm_output *o, const char *bytes, size_t n)
{
    size_t kept = n < sizeof o->tail ? sizeof o->tail - n : 0;

    kept = kept < o->tail_n ? kept : o->tail_n;
    memmove(o->tail, o->tail + o->tail_n - kept, kept);
    n = n < sizeof o->tail ? n : sizeof o->tail;
    memcpy(o->tail + kept, bytes, n);
    o->tail_n = kept + n;
}

bool slurm_output_copy(struct slurm_output *o, const char *path, int to)
{
    struct pollfd ready = { .fd = to, .events = POLLOUT };
    char bytes[PIECE];
    struct stat st;
    cleanup_fd int fd = open_output(o, path, &st);
    ssize_t n = 0;
    int rc;

    if (fd < 0)
        return false;
    rc = is_anew(o, fd, &st);
    o->failed = rc < 0;
    if (rc < 0)
        return false;
    if (rc > 0)
        begin(o, &st);
    for (int i = 0; i < PIECES && !o->gone; i++) {
        n = pread(fd, bytes, sizeof bytes, o->at);
        o->failed = n < 0;
        if (n <= 0)
            return false;
        if (poll(&ready, 1, 0) == 0)
            return true;
        if (file_write_all(to, bytes, (size_t)n, NULL) < 0) {
            o->gone = true; /* `to` has no reader any more; the job itself goes on */
            return false;
        }
        o->at += n;
        keep_head(o, bytes, (size_t)n);
        keep_tail(o, bytes + (n > (ssize_t)sizeof o->tail ? n - (ssize_t)sizeof o->tail : 0),
                  n > (ssize_t)sizeof o->tail ? sizeof o->tail : (size_t)n);
    }
    return !o->gone;
}
