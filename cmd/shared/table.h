/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - rows of text in aligned columns
 *
 * To use a table, zero-initialize it, set column and n_columns, add the cells row by row, print the
 * table, and free it with table_fini. Cells are UTF-8. Control characters in them become '?', since
 * names may come from other machines.
 */
#ifndef EDDIS_CMD_SHARED_TABLE_H
#define EDDIS_CMD_SHARED_TABLE_H

#include "lib/base/strbuf.h"
#include "lib/base/strlist.h"

#include <stdbool.h>
#include <stddef.h>

enum { TABLE_MAX_COLUMNS = 20 };

/* A column of a table. */
struct table_column {
    const char *title;
    bool right; /* align to the right, for numbers */
};

/* A table; zero-initialize it, then set column and n_columns */
struct table {
    const struct table_column *column; /* borrowed */
    size_t n_columns;                  /* at most TABLE_MAX_COLUMNS */
    struct strlist cell;               /* row by row; it fails if there is no memory for one */
    unsigned hidden;                   /* bit c: column c is not printed */
};

/* Append a cell with this text (printf format), without control characters; rows fill up from left
 * to right. Without memory, t->cell.failed is set.
 */
void table_add(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append titles and rows. Each line begins with `indent` blanks and has none at its end. */
void table_print(const struct table *t, int indent, struct strbuf *b);

/* Hide the columns with the titles in drop [n_drop], in this order, until a line has at most
 * `columns` characters or all of them are hidden.
 */
void table_fit(struct table *t, int indent, int columns, const char *const *drop, size_t n_drop);

/* Free the cells. */
void table_fini(struct table *t);

/* Release a local table at the end of its scope (lib/base/cleanup.h). */
#define cleanup_table __attribute__((cleanup(table_fini)))

#endif
