/* SPDX-License-Identifier: Apache-2.0 */
/* key_index.c - a hash table of row numbers */
#include "key_index.h"

#include "crc32.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST = 16 }; /* number of rows that the first table has room for */

/* Borrow the key of row i. */
static const char *key_at(const struct key_index *x, const void *rows, int i)
{
    return (const char *)rows + (size_t)i * x->row_bytes;
}

/* Borrow the head of the hash list for this key: the number of its first row, or -1.  The table
 * must not be empty.
 */
static int *head_of(const struct key_index *x, const char *key)
{
    return &x->first[crc32_update(0, key, strlen(key)) & (uint32_t)(x->room - 1)];
}

int key_index_find(const struct key_index *x, const void *rows, const char *key)
{
    int i = x->n ? *head_of(x, key) : -1;

    while (i >= 0 && strcmp(key_at(x, rows, i), key) != 0)
        i = x->next[i];
    return i;
}

/* Put row i at the front of the hash list of its key. */
static void link_row(struct key_index *x, const void *rows, int i)
{
    int *head = head_of(x, key_at(x, rows, i));

    x->next[i] = *head;
    *head = i;
}

/* Remove row i from the hash list of its key. */
static void unlink_row(struct key_index *x, const void *rows, int i)
{
    int *at = head_of(x, key_at(x, rows, i));

    while (*at != i)
        at = &x->next[*at];
    *at = x->next[i];
}

/* Double the room of the table, or make the first table, and hash all rows again.  Return 0, or
 * -ENOMEM: nothing has changed.
 */
static int grow(struct key_index *x, const void *rows)
{
    int room = x->room ? 2 * x->room : FEWEST;
    int *first = malloc((size_t)room * sizeof *first), *next = malloc((size_t)room * sizeof *next);

    if (!first || !next) {
        free(first);
        free(next);
        return -ENOMEM;
    }
    free(x->first);
    free(x->next);
    x->first = first;
    x->next = next;
    x->room = room;
    memset(first, 0xff, (size_t)room * sizeof *first);
    for (int i = 0; i < x->n; i++)
        link_row(x, rows, i);
    return 0;
}

int key_index_add(struct key_index *x, const void *rows)
{
    int rc = x->n == x->room ? grow(x, rows) : 0;

    if (rc < 0)
        return rc;
    link_row(x, rows, x->n++);
    return 0;
}

int key_index_add_all(struct key_index *x, const void *rows, int n)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++)
        rc = key_index_add(x, rows);
    return rc;
}

void key_index_remove(struct key_index *x, void *rows, int i)
{
    int last = --x->n;

    unlink_row(x, rows, i);
    if (i == last)
        return;
    unlink_row(x, rows, last);
    memcpy((char *)rows + (size_t)i * x->row_bytes, key_at(x, rows, last), x->row_bytes);
    link_row(x, rows, i);
}

void key_index_fini(struct key_index *x)
{
    free(x->first);
    free(x->next);
    *x = (struct key_index){ .row_bytes = x->row_bytes };
}
