/* SPDX-License-Identifier: Apache-2.0 */
/* key_index.h - find the row of an array that has a key, by hashing
 *
 * The caller owns the rows and may move the array.  Each row begins with its key, a char array, and
 * keys are unique.  Rows of equal hash are linked through `next`.
 */
#ifndef EDDIS_BASE_KEY_INDEX_H
#define EDDIS_BASE_KEY_INDEX_H

#include <stddef.h>

/* Index of the first n rows of an array.  Empty if zeroed except for row_bytes. */
struct key_index {
    size_t row_bytes;  /* size of one row in bytes */
    int n, room;       /* rows in the index, and its capacity: a power of two or 0 */
    int *first, *next; /* [room]: row numbers; -1 ends a list */
};

/* Return the position in the array of the indexed row that has this key; -1: no row has it. */
int key_index_find(const struct key_index *x, const void *rows, const char *key);

/* Add to the index the row that follows the indexed rows.  Return 0 or -ENOMEM; the index is then
 * unchanged.
 */
int key_index_add(struct key_index *x, const void *rows);

/* Add to the index the n rows that follow the indexed rows.  Return 0 or -ENOMEM; some of the n may
 * then have been added.
 */
int key_index_add_all(struct key_index *x, const void *rows, int n);

/* Remove row i, and move the last row into its place, in the index and in the array. */
void key_index_remove(struct key_index *x, void *rows, int i);

/* Free the index's memory; it is then empty and valid. */
void key_index_fini(struct key_index *x);

#endif
