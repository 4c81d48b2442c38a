/* SPDX-License-Identifier: Apache-2.0 */
/* csv_form.h - detects the format of a CSV file from its first lines
 *
 * Programs write tables in several ways: with commas, semicolons or tabs, with a line of column
 * names or without, with a first column that numbers the rows.  Names may be numbers too: pandas
 * names columns 0, 1, 2, ... by default.
 *
 *   - separator: the one of the three that gives rows of equal width with numeric features.
 *   - names: a first line without a number; or with one name fewer than the rows have fields; or
 *     with a text label while other labels are numbers; or whose numbers count up by 1, as 0,1,2
 *     do, if that is unlikely for a row because no other row is like it.
 *   - row numbers: a first column without a name, or named "index" or "id", or one that counts the
 *     rows up from 0 or 1, with at least CSV_COUNTED rows.
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
    int64_t header;     /* line number of the column names; 0: there are none */
    int64_t first;      /* line number of the table's first line */
    bool counted;       /* the first column is a row number only if it counts all rows ... */
    int64_t count_from; /* ... from this number on */
    bool recurs;        /* some row equals the first line, which is then a row too */
    /* explanations of decisions that are not obvious; or "" */
    char header_note[192], row_note[192];
};

/* Detect the format from the first lines of `in`, which is newly opened.  Options set in o are not
 * detected.  -EINVAL: a line is malformed; the error names it.
 */
int csv_form_find(struct input *in, const struct dataset_options *o, struct csv_form *ret,
                  struct eddis_error *err);

/* Remove a byte order mark from the file's first line. */
void csv_form_skip_mark(struct input_line *line);

/* Check whether the first column still counts the rows at row k, from 0, whose text is `line`.
 * Return true if the format does not require it.
 */
bool csv_form_counts_on(const struct csv_form *f, const char *line, int64_t k);

#endif
