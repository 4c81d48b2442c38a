/* SPDX-License-Identifier: Apache-2.0 */
/* input.c - reads a file through zlib, in bytes or in lines */
#include "input.h"

#include "lib/base/cleanup.h"
#include "lib/base/file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { CHUNK = 256 << 10 }; /* most bytes of one read */

/* An open file. */
struct input {
    char *path;
    gzFile gz;
    int64_t file_bytes;
    char *text; /* [cap] the last line */
    size_t cap;
    int64_t offset; /* of the next line */
    int64_t number; /* lines read so far */
};

/* Open a file and check that it is regular, since a pipe cannot be read twice, and not empty.
 * Return its descriptor, with its size in *ret_bytes, or a negative error.
 */
static int open_regular(const char *path, int64_t *ret_bytes, struct eddis_error *err)
{
    struct stat st;
    cleanup_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* not wait for a FIFO */

    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
    if (fstat(fd, &st))
        return eddis_fail_errno(err, -errno, "cannot access '%s'", path);
    if (!S_ISREG(st.st_mode))
        return eddis_fail(err, -EINVAL, "'%s' is not a regular file", path);
    if (st.st_size == 0)
        return eddis_fail(err, -EINVAL, "'%s' is empty", path);
    *ret_bytes = st.st_size;
    return cleanup_keep_fd(fd);
}

int input_open(const char *path, struct input **ret, struct eddis_error *err)
{
    int64_t bytes = 0;
    cleanup_fd int fd = open_regular(path, &bytes, err);
    struct input *in;

    if (fd < 0)
        return fd;
    in = calloc(1, sizeof *in);
    if (!in)
        return eddis_fail(err, -ENOMEM, "out of memory");
    in->file_bytes = bytes;
    in->path = strdup(path);
    in->gz = gzdopen(fd, "rb");
    if (!in->gz || !in->path) {
        input_close(in);
        return eddis_fail(err, -ENOMEM, "out of memory");
    }
    (void)cleanup_keep_fd(fd);
    (void)gzbuffer(in->gz, CHUNK);
    *ret = in;
    return 0;
}

void input_close(struct input *in)
{
    if (!in)
        return;
    if (in->gz)
        (void)gzclose_r(in->gz);
    free(in->text);
    free(in->path);
    free(in);
}

bool input_is_gzip(struct input *in)
{
    return !gzdirect(in->gz);
}

int64_t input_file_bytes(const struct input *in)
{
    return in->file_bytes;
}

/* Return the failure of the last read, or 0. */
static int read_failure(struct input *in, struct eddis_error *err)
{
    int code = Z_OK;
    const char *why = gzerror(in->gz, &code);

    if (code == Z_BUF_ERROR)
        return eddis_fail(err, -EINVAL, "'%s' is truncated: its gzip data are incomplete",
                          in->path);
    if (code == Z_ERRNO)
        return eddis_fail_errno(err, -EIO, "cannot read '%s'", in->path);
    return code < 0 ? eddis_fail(err, -EINVAL, "'%s' has damaged gzip data: %s", in->path, why) : 0;
}

int64_t input_read(struct input *in, void *ret, size_t n, struct eddis_error *err)
{
    size_t done = 0;

    while (done < n) {
        size_t want = n - done < CHUNK ? n - done : CHUNK;
        int got = gzread(in->gz, (char *)ret + done, (unsigned)want);
        int rc = read_failure(in, err);

        if (rc < 0)
            return rc;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

/* Double the memory for a line.  Return 0; -EINVAL: the line is longer than INPUT_MAX_LINE;
 * -ENOMEM.  On failure the memory stays as it is.
 */
static int grow(struct input *in, struct eddis_error *err)
{
    size_t cap = in->cap ? 2 * in->cap : 4096;
    char *text;

    if (cap > INPUT_MAX_LINE)
        return eddis_fail(err, -EINVAL, "%s:%lld: the line is longer than %d MB", in->path,
                          (long long)in->number + 1, INPUT_MAX_LINE >> 20);
    text = realloc(in->text, cap);
    if (!text)
        return eddis_fail(err, -ENOMEM, "out of memory");
    in->text = text;
    in->cap = cap;
    return 0;
}

int input_line(struct input *in, struct input_line *ret, struct eddis_error *err)
{
    size_t n = 0;
    int rc = 0;

    while (n == 0 || in->text[n - 1] != '\n') {
        if (n + 1 >= in->cap)
            rc = grow(in, err);
        if (rc < 0)
            return rc;
        if (!gzgets(in->gz, in->text + n, (int)(in->cap - n))) {
            rc = read_failure(in, err);
            if (rc < 0)
                return rc;
            break; /* the end of the file */
        }
        n = (size_t)(gztell(in->gz) - in->offset);
    }
    if (n == 0)
        return 0;
    *ret = (struct input_line){ .text = in->text, .number = ++in->number, .offset = in->offset };
    in->offset += (int64_t)n;
    n -= in->text[n - 1] == '\n';
    n -= n > 0 && in->text[n - 1] == '\r';
    in->text[n] = 0;
    ret->n = n;
    return 1;
}

/* Create an unnamed file in dir and return its descriptor, or a negative error.  If the file system
 * has no O_TMPFILE, create a named file and remove its name right away.
 */
static int open_unnamed(const char *dir, struct eddis_error *err)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    cleanup_free char *name = NULL;

    if (fd >= 0)
        return fd;
    name = file_join(dir, "eddis-data-XXXXXX");
    if (!name)
        return eddis_fail(err, -ENOMEM, "out of memory");
    fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot make a temporary file in '%s'", dir);
    (void)unlink(name);
    return fd;
}

/* Unpack a gzipped file into a new unnamed file in dir, and store its descriptor in *ret; the
 * caller closes it.  Return 0 or a negative errno.
 */
static int unpack(const char *path, const char *dir, int *ret, struct eddis_error *err)
{
    cleanup_fd int fd = open_unnamed(dir, err);
    cleanup_free char *buffer = malloc(CHUNK);
    struct input *in = NULL;
    int64_t got = 0;
    int rc;

    if (fd < 0)
        return fd;
    if (!buffer)
        return eddis_fail(err, -ENOMEM, "out of memory");
    rc = input_open(path, &in, err);
    while (rc == 0 && (got = input_read(in, buffer, CHUNK, err)) > 0)
        rc = file_write_all(fd, buffer, (size_t)got, err);
    input_close(in);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "cannot unpack '%s' into '%s'", path, dir);
    if (got < 0)
        return (int)got;
    *ret = cleanup_keep_fd(fd);
    return 0;
}

int input_open_text(const char *path, bool gzip, const char *dir, int *ret, struct eddis_error *err)
{
    int fd;

    if (gzip)
        return unpack(path, dir, ret, err);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return eddis_fail_errno(err, -errno, "cannot open '%s'", path);
    *ret = fd;
    return 0;
}

int input_pread(int fd, const char *path, void *ret, size_t n, int64_t offset,
                struct eddis_error *err)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(fd, (char *)ret + done, n - done, offset + (int64_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return eddis_fail_errno(err, -errno, "cannot read '%s'", path);
        if (got == 0)
            return eddis_fail(err, -EIO, "'%s' became shorter while it was in use", path);
        done += (size_t)got;
    }
    return 0;
}
