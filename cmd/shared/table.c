/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - collects cells of text and prints them in columns */
#include "table.h"

#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#include <stdarg.h>
#include <string.h>

static const int GAP = 2; /* blanks between columns */

void table_add(struct table *t, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf b = { 0 };
    va_list ap;

    va_start(ap, fmt);
    strbuf_vaddf(&b, fmt, ap);
    va_end(ap);
    if (b.text)
        text_strip_control(b.text);
    strlist_addf(&t->cell, "%s", strbuf_text(&b));
    t->cell.failed = t->cell.failed || b.failed;
}

/* Store the width in characters of each column, the largest of its title and cells, in width
 * [n_columns].
 */
static void measure(const struct table *t, int *width)
{
    for (size_t c = 0; c < t->n_columns; c++)
        width[c] = text_width(t->column[c].title);
    for (size_t i = 0; i < t->cell.n; i++)
        if (text_width(t->cell.item[i]) > width[i % t->n_columns])
            width[i % t->n_columns] = text_width(t->cell.item[i]);
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

/* Print `due` blanks and a cell, aligned in `width` characters. Return how many blanks to print
 * before the next cell. For an empty cell print nothing, and return the blanks in its place, too.
 */
static int print_cell(const char *text, int width, bool right, int due, struct strbuf *b)
{
    int fill = width - text_width(text);

    if (!*text)
        return due + width + GAP;
    strbuf_addf(b, "%*s%s", due + (right ? fill : 0), "", text);
    return GAP + (right ? 0 : fill);
}

void table_print(const struct table *t, int indent, struct strbuf *b)
{
    int width[TABLE_MAX_COLUMNS];
    size_t rows = t->cell.n / t->n_columns;

    measure(t, width);
    for (size_t r = 0; r <= rows; r++) {
        int due = indent;

        for (size_t c = 0; c < t->n_columns; c++) {
            const char *text =
                r == 0 ? t->column[c].title : t->cell.item[(r - 1) * t->n_columns + c];

            if (!is_hidden(t, c))
                due = print_cell(text, width[c], t->column[c].right, due, b);
        }
        strbuf_add(b, "\n");
    }
}

void table_fini(struct table *t)
{
    strlist_fini(&t->cell);
}
