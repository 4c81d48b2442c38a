/* SPDX-License-Identifier: Apache-2.0 */
/* key_index.h - which row of an array has a key, without looking at all of them
 *
 * The rows are their owner's, who may move the array; each begins with its key, a string, and no
 * two have the same.  Rows of one hash form a list through `next`.
 */
#ifndef EDDIS_BASE_KEY_INDEX_H
#define EDDIS_BASE_KEY_INDEX_H

#include <stddef.h>

/* Zeroed but for row_bytes it is empty. */
struct key_index {
    size_t row_bytes;  /* of one row */
    int n, room;       /* rows that are known; room is a power of two or 0 */
    int *first, *next; /* [room], -1 at the end of a list */
};

/* Returns the number of the row with this key among those that are known, or -1. */
int key_index_find(const struct key_index *x, const void *rows, const char *key);

/* Take the row behind those that are known.  -ENOMEM: it is not, all others still are. */
int key_index_add(struct key_index *x, const void *rows);

/* Take n rows.  -ENOMEM. */
int key_index_add_all(struct key_index *x, const void *rows, int n);

/* Forget row i, into whose place the last one is moved. */
void key_index_remove(struct key_index *x, void *rows, int i);

void key_index_fini(struct key_index *x);

#endif
