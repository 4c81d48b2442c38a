/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - rows of text in aligned columns
 *
 * Zero-initialise, set column and n_columns, add the cells row by row, print, fini.  Cells are
 * UTF-8; control characters in them become '?', since names come from other machines.
 */
#ifndef EDDIS_CMD_SHARED_TABLE_H
#define EDDIS_CMD_SHARED_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TABLE_MAX_COLUMNS = 16 };

struct table_column {
    const char *title;
    bool right; /* numbers */
};

struct table {
    const struct table_column *column; /* borrowed */
    size_t n_columns;                  /* at most TABLE_MAX_COLUMNS */
    char **cell;                       /* [n] row by row */
    size_t n, room;
    unsigned hidden; /* bit c: column c is not printed */
    bool failed;     /* there was no memory for a cell; the table is printed without the rest */
};

void table_add(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print titles and rows, each line behind `indent` blanks and without blanks at its end. */
void table_print(const struct table *t, int indent, FILE *out);

/* Hide columns, the first of `drop` first [n_drop titles], until a line has at most `columns`
 * characters or none of them is left.
 */
void table_fit(struct table *t, int indent, int columns, const char *const *drop, size_t n_drop);

void table_fini(struct table *t);

#endif
