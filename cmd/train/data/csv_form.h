/* SPDX-License-Identifier: Apache-2.0 */
/* csv_form.h - detects the format of a CSV file from its first lines
 *
 * Programs write tables in several ways: with commas, semicolons or tabs, with a line of column
 * names or without, with a first column that numbers the rows.  Names may be numbers too: pandas
 * names columns 0, 1, 2, ... by default.
 *
 *   - separator: the one of these three that gives rows of equal width with numeric features.
 *   - names: the first line has names if it has no number; or has one field fewer than the rows; or
 *     has a text label while other labels are numbers; or if its numbers count up by 1, as 0,1,2
 *     do, and no row is like it, so that it is unlikely to be a row.
 *   - row numbers: the first column has row numbers if it has no name, or the name "index" or "id";
 *     or if it counts the rows up from 0 or 1, and there are at least CSV_COUNTED rows.
 */
#ifndef EDDIS_DATA_CSV_FORM_H
#define EDDIS_DATA_CSV_FORM_H

#include "csv_row.h"
#include "dataset.h"
#include "input.h"

enum { CSV_COUNTED = 10 };

/* The detected format of a file. */
struct csv_form {
    struct csv_format format;
    int64_t header;     /* line number of the line with column names; 0: there is none */
    int64_t first;      /* line number of the table's first line */
    bool counted;       /* the first column has row numbers only if it counts all rows ... */
    int64_t count_from; /* ... from this number on */
    bool recurs;        /* some row equals the first line, which is therefore a row, too */
    /* explanations of what was detected as names and as row numbers; "": obvious */
    char header_note[192], row_note[192];
};

/* Detect the format from the first lines of `in`, which must be newly opened, and fill *ret.
 * Options that are set in o are taken from it. Return 0; -EINVAL: a line is malformed, and err
 * names it; or another negative errno.
 */
int csv_form_find(struct input *in, const struct dataset_options *o, struct csv_form *ret,
                  struct eddis_error *err);

/* Remove a byte order mark from `line`, the file's first line. */
void csv_form_skip_mark(struct input_line *line);

/* Check whether the first column of row k (from 0), whose text is `line`, continues the count of
 * the rows. Return true if f->counted is false.
 */
bool csv_form_counts_on(const struct csv_form *f, const char *line, int64_t k);

#endif
