/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - a plain or gzipped file read from front to back, in bytes or in lines
 *
 * Gzip is recognised by its first bytes, not by its name.  Lines and offsets count the unpacked
 * text.
 */
#ifndef EDDIS_DATA_INPUT_H
#define EDDIS_DATA_INPUT_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_MAX_LINE = 64 << 20 };

struct input;

/* Open a regular file; path is copied.  The caller closes it with input_close. */
int input_open(const char *path, struct input **ret, struct eddis_error *err);

/* Read up to n bytes.  Returns how many, fewer than n only at the end of the file.
 * -EINVAL: damaged or truncated gzip.
 */
int64_t input_read(struct input *in, void *ret, size_t n, struct eddis_error *err);

struct input_line {
    char *text;     /* ends with 0 where its newline was; borrowed until the next call */
    size_t n;       /* bytes before that 0; a carriage return at the end is dropped */
    int64_t number; /* from 1 */
    int64_t offset; /* of its first byte */
};

/* Read the next line.  Returns 1, or 0 at the end.  Not to be mixed with input_read. */
int input_line(struct input *in, struct input_line *ret, struct eddis_error *err);

/* Whether the file is gzipped. */
bool input_is_gzip(struct input *in);

/* Return the bytes of the file as it lies on disk. */
int64_t input_file_bytes(const struct input *in);

/* Close the file and free in, which may be NULL. */
void input_close(struct input *in);

/* Unpack a gzipped file into a new file without a name in the folder dir.  Returns its
 * descriptor in *ret; the disk space is free again when that is closed.
 */
int input_unpack(const char *path, const char *dir, int *ret, struct eddis_error *err);

/* Read exactly n bytes from an offset on, as pread.  -EIO: the file has become shorter. */
int input_pread(int fd, const char *path, void *ret, size_t n, int64_t offset,
                struct eddis_error *err);

#endif
