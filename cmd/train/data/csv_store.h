/* SPDX-License-Identifier: Apache-2.0 */
/* csv_store.h - parsed rows in memory, and an index of where rows start in the text
 *
 * The store begins with bytes and turns to floats at the first value that is not a whole number
 * from 0 to 255, as -0 is not.  The index holds the offset of every stride-th row; when it has
 * CSV_INDEX_MAX entries every second one is dropped and the stride doubles, so its size is bounded
 * for a file of any length.
 */
#ifndef EDDIS_DATA_CSV_STORE_H
#define EDDIS_DATA_CSV_STORE_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct csv_store {
    int64_t width;   /* features of a row */
    int64_t limit;   /* bytes it may take */
    int64_t n, cap;  /* rows */
    uint8_t *bytes;  /* [n, width], or NULL */
    float *floats;   /* [n, width], or NULL */
    int32_t *labels; /* [n] */
};

/* Append a row x [width].  Returns 1, or 0 when it would exceed the limit. */
int csv_store_add(struct csv_store *s, const float *x, int32_t label, struct eddis_error *err);

/* Copy row i, times scale, to x [width]. */
void csv_store_get(const struct csv_store *s, int64_t i, float scale, float *x);

/* Free the rows; s is empty and valid afterwards. */
void csv_store_fini(struct csv_store *s);

enum { CSV_INDEX_MAX = 1 << 18 };

struct csv_index {
    int64_t *offset; /* [n]: offset[i] is of row i * stride */
    int64_t n, cap, stride;
    int64_t rows;
};

/* Note that the next row starts at this offset, in bytes. */
int csv_index_add(struct csv_index *x, int64_t offset, struct eddis_error *err);

/* Free the offsets. */
void csv_index_fini(struct csv_index *x);

#endif
