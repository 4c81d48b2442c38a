/* SPDX-License-Identifier: Apache-2.0 */
/* csv_form.h - finds out how a CSV file is written, from its first lines
 *
 * Programs write tables in several ways: with commas, semicolons or tabs, with a line of column
 * names or without, with a first column that numbers the rows.  Names may be numbers, too: pandas
 * names columns 0, 1, 2, ... where nobody names them.
 *
 *   - separator: the one of the three that gives rows of one width whose features are numbers.
 *   - names: a first line without a number, one with a name fewer than the rows have fields, one
 *     whose label is text where the others are numbers, or one whose numbers count up by 1, as
 *     those of 0,1,2 do, where that is unlikely for a row: no other is like it.
 *   - row numbers: a first column without a name, or named "index" or "id", or one that counts
 *     the rows up from 0 or 1, of at least CSV_COUNTED rows.
 */
#ifndef EDDIS_DATA_CSV_FORM_H
#define EDDIS_DATA_CSV_FORM_H

#include "csv_row.h"
#include "dataset.h"
#include "input.h"

enum { CSV_COUNTED = 10 };

struct csv_form {
    struct csv_format format;
    int64_t header;         /* number of the line of column names, 0: there is none */
    int64_t first;          /* of the first line that belongs to the table */
    bool header_is_numbers; /* it has a number, so that it might be a row */
    bool counted;           /* row numbers only as long as the rows are counted by them ... */
    int64_t count_from;     /* ... from this number on */
    bool recurs;            /* a row is as the first line, which is one, too, then */
    char header_note[160], row_note[160]; /* what was decided and is not plain; or "" */
};

/* Read the first lines of `in`, which is new, and decide; what o says is not decided.
 * -EINVAL: what is wrong, with the line.
 */
int csv_form_find(struct input *in, const struct dataset_options *o, struct csv_form *ret,
                  struct eddis_error *err);

/* Cut what is no text of the table off the first line: a byte order mark. */
void csv_form_skip_mark(struct input_line *line);

/* Whether the row with this line counts on: it is the k-th, from 0. */
bool csv_form_counts_on(const struct csv_form *f, const char *line, int64_t k);

#endif
