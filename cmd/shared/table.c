/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - collects cells of text and prints them in columns */
#include "table.h"

#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <stdlib.h>
#include <string.h>

static const int GAP = 2; /* blanks between columns */

void table_add(struct table *t, const char *fmt, ...)
{
    struct strbuf b = { 0 };
    char *text;
    va_list ap;

    if (t->n == t->room && !t->failed) {
        size_t room = t->room ? 2 * t->room : 64;
        char **cell = realloc(t->cell, room * sizeof *cell);

        if (cell) {
            t->cell = cell;
            t->room = room;
        }
    }
    va_start(ap, fmt);
    strbuf_vaddf(&b, fmt, ap);
    va_end(ap);
    text = strbuf_steal(&b);
    if (!text || t->n == t->room) {
        t->failed = true;
        free(text);
        return;
    }
    text_strip_control(text);
    t->cell[t->n++] = text;
}

/* Return the width of a text in UTF-8 characters: continuation bytes do not count. */
static int width_of(const char *s)
{
    int width = 0;

    for (; *s; s++)
        width += ((unsigned char)*s & 0xc0) != 0x80;
    return width;
}

/* Write the width of each column, the largest of its title and cells, to width [n_columns]. */
static void measure(const struct table *t, int *width)
{
    for (size_t c = 0; c < t->n_columns; c++)
        width[c] = width_of(t->column[c].title);
    for (size_t i = 0; i < t->n; i++)
        if (width_of(t->cell[i]) > width[i % t->n_columns])
            width[i % t->n_columns] = width_of(t->cell[i]);
}

/* Check whether a column is hidden. */
static bool is_hidden(const struct table *t, size_t column)
{
    return t->hidden >> column & 1;
}

void table_fit(struct table *t, int indent, int columns, const char *const *drop, size_t n_drop)
{
    int width[TABLE_MAX_COLUMNS], needed = indent - GAP;

    measure(t, width);
    for (size_t c = 0; c < t->n_columns; c++)
        needed += is_hidden(t, c) ? 0 : width[c] + GAP;
    for (size_t i = 0; i < n_drop; i++)
        for (size_t c = 0; c < t->n_columns && needed > columns; c++)
            if (!is_hidden(t, c) && strcmp(t->column[c].title, drop[i]) == 0) {
                t->hidden |= 1U << c;
                needed -= width[c] + GAP;
            }
}

/* Print a cell after `due` blanks, aligned to its width. Return the blanks before the next cell. An
 * empty cell prints nothing.
 */
static int print_cell(const char *text, int width, bool right, int due, struct strbuf *b)
{
    int fill = width - width_of(text);

    if (!*text)
        return due + width + GAP;
    strbuf_addf(b, "%*s%s", due + (right ? fill : 0), "", text);
    return GAP + (right ? 0 : fill);
}

void table_print(const struct table *t, int indent, struct strbuf *b)
{
    int width[TABLE_MAX_COLUMNS];
    size_t rows = t->n / t->n_columns;

    measure(t, width);
    for (size_t r = 0; r <= rows; r++) {
        int due = indent;

        for (size_t c = 0; c < t->n_columns; c++) {
            const char *text = r == 0 ? t->column[c].title : t->cell[(r - 1) * t->n_columns + c];

            if (!is_hidden(t, c))
                due = print_cell(text, width[c], t->column[c].right, due, b);
        }
        strbuf_add(b, "\n");
    }
}

void table_fini(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->cell[i]);
    free(t->cell);
    t->cell = NULL;
    t->n = t->room = 0;
}
