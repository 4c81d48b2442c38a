/* SPDX-License-Identifier: Apache-2.0 */
/* csv_store.h - parsed rows in memory, and an index of the offsets of rows in the text
 *
 * The store keeps values as bytes until the first value that is not a whole number from 0 to 255
 * (-0 does not count as one); then it converts all rows to floats. The index keeps the offset of
 * every stride-th row. When it has CSV_INDEX_MAX entries, every second entry is dropped and the
 * stride doubles, so its size is bounded for a file of any length.
 */
#ifndef EDDIS_DATA_CSV_STORE_H
#define EDDIS_DATA_CSV_STORE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Parsed rows in memory. */
struct csv_store {
    int64_t width;   /* number of features of a row */
    int64_t limit;   /* largest size in bytes */
    int64_t n, cap;  /* number of rows; number of rows for which there is memory */
    uint8_t *bytes;  /* [n, width], or NULL */
    float *floats;   /* [n, width], or NULL */
    int32_t *labels; /* [n] labels of the rows */
};

/* Append a row x [width] with its label. Return 1; 0 if the row would exceed the limit; or a
 * negative errno.
 */
int csv_store_add(struct csv_store *s, const float *x, int32_t label, struct eddis_error *err);

/* Copy row i, multiplied by scale, to x [width]. */
void csv_store_get(const struct csv_store *s, int64_t i, float scale, float *x);

/* Free the rows.  Afterwards s is empty and valid. */
void csv_store_fini(struct csv_store *s);

enum { CSV_INDEX_MAX = 1 << 18 };

/* The offset of every stride-th row */
struct csv_index {
    int64_t *offset; /* [CSV_INDEX_MAX]: offset[i] is the start of row i * stride */
    int64_t n, stride;
    int64_t rows; /* number of rows recorded so far */
};

/* Record that the next row starts at this offset, in bytes. Return 0 or -ENOMEM. */
int csv_index_add(struct csv_index *x, int64_t offset, struct eddis_error *err);

/* Free the offsets. */
void csv_index_fini(struct csv_index *x);

#endif
