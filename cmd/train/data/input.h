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

/* Open a file, which must be regular and not empty, in *ret, which the caller closes with
 * input_close. Return 0 or a negative errno.
 */
int input_open(const char *path, struct input **ret, struct eddis_error *err);

/* Read up to n bytes into ret. Return the number of bytes read, which is less than n only at the
 * end of the file; -EINVAL: the gzip data are damaged or truncated; or another negative errno.
 */
int64_t input_read(struct input *in, void *ret, size_t n, struct eddis_error *err);

/* One line of the text. */
struct input_line {
    char *text; /* text of the line, with 0 in place of its newline; borrowed until the next call */
    size_t n;   /* length of the text, without a carriage return at its end */
    int64_t number; /* number of the line, from 1 */
    int64_t offset; /* offset of the line's first byte */
};

/* Read the next line into *ret. Return 1; 0 at the end of the file; or a negative errno. Not to be
 * mixed with calls of input_read.
 */
int input_line(struct input *in, struct input_line *ret, struct eddis_error *err);

/* Check whether the file is gzipped. */
bool input_is_gzip(struct input *in);

/* Return the size of the file on disk, in bytes. */
int64_t input_file_bytes(const struct input *in);

/* Close the file and free `in`.  Accept NULL. */
void input_close(struct input *in);

/* Open a file's text for input_pread, and store its descriptor in *ret; the caller closes it. A
 * gzipped file is unpacked into a new unnamed file in the folder dir; closing it frees the disk
 * space. Return 0 or a negative errno.
 */
int input_open_text(const char *path, bool gzip, const char *dir, int *ret,
                    struct eddis_error *err);

/* Read exactly n bytes from `offset` on into ret, by pread. path: name of the file for errors.
 * Return 0; -EIO: the file has become shorter; or another negative errno.
 */
int input_pread(int fd, const char *path, void *ret, size_t n, int64_t offset,
                struct eddis_error *err);

#endif
