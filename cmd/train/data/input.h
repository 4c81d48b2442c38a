/* SPDX-License-Identifier: Apache-2.0 */
/* input.h - reads a plain or gzipped file from front to back, in bytes or in lines
 *
 * Gzip is recognised by its first bytes, not by the file's name.  Line numbers and offsets refer to
 * the unpacked text.
 */
#ifndef EDDIS_DATA_INPUT_H
#define EDDIS_DATA_INPUT_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_MAX_LINE = 64 << 20 };

struct input;

/* Open a regular file that is not empty.  The caller closes *ret with input_close. */
int input_open(const char *path, struct input **ret, struct eddis_error *err);

/* Read up to n bytes.  Return their number, which is less than n only at the end of the file.
 * -EINVAL: damaged or truncated gzip.
 */
int64_t input_read(struct input *in, void *ret, size_t n, struct eddis_error *err);

/* One line of the text. */
struct input_line {
    char *text;     /* ends with 0 in place of its newline; borrowed until the next call */
    size_t n;       /* bytes before that 0, without a carriage return at the end */
    int64_t number; /* from 1 */
    int64_t offset; /* offset of its first byte */
};

/* Read the next line.  Return 1, or 0 at the end of the file.  Do not mix with input_read. */
int input_line(struct input *in, struct input_line *ret, struct eddis_error *err);

/* Check whether the file is gzipped. */
bool input_is_gzip(struct input *in);

/* Return the size of the file on disk, in bytes. */
int64_t input_file_bytes(const struct input *in);

/* Close the file and free `in`.  Accept NULL. */
void input_close(struct input *in);

/* Open a file's text for input_pread, and store its descriptor in *ret.  A gzipped file is unpacked
 * into a new unnamed file in the folder dir; closing it frees the disk space.
 */
int input_open_text(const char *path, bool gzip, const char *dir, int *ret,
                    struct eddis_error *err);

/* Read exactly n bytes from `offset` on, by pread.  -EIO: the file has become shorter. */
int input_pread(int fd, const char *path, void *ret, size_t n, int64_t offset,
                struct eddis_error *err);

#endif
