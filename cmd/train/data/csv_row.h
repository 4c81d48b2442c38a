/* SPDX-License-Identifier: Apache-2.0 */
/* csv_row.h - parses one line of numbers and a label
 *
 * Fields are separated by one character and may be quoted (RFC 4180).  Blanks around a number are
 * allowed.  A number is decimal, with an optional fraction and exponent.  If the separator is not a
 * comma, a comma between digits may replace the decimal point.  The label is a whole number from 0
 * to CSV_MAX_LABEL, or text, in the first or last field.
 */
#ifndef EDDIS_DATA_CSV_ROW_H
#define EDDIS_DATA_CSV_ROW_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CSV_MAX_LABEL 65535

enum { CSV_NAME_BYTES = 128 };

/* The format of a file's rows. */
struct csv_format {
    char separator;   /* ',', ';' or a tab */
    int64_t n_fields; /* number of fields of a row, including a row number */
    bool row_numbers; /* the first field is the row's number or name, not a feature */
    bool label_first; /* the label is the first field after a row number; false: the last field */
    bool label_is_text;
};

/* Return a pointer to the end of the field that begins at s: a separator outside of quotes, or the
 * final 0.
 */
const char *csv_field_end(const char *s, char separator);

/* Return the number of features of a row. */
int64_t csv_row_features(const struct csv_format *f);

/* One parsed row. */
struct csv_row {
    float *x;                  /* [csv_row_features], owned by the caller */
    int32_t label;             /* a numeric label */
    char name[CSV_NAME_BYTES]; /* a text label, without surrounding quotes and blanks */
    /* a number of this or an earlier row has a decimal comma, or a decimal point; only recorded if
     * the separator is not a comma
     */
    bool has_comma, has_point;
};

/* Parse the line s (ends with 0), which must have exactly f->n_fields fields, into *row. Return 0,
 * or -EINVAL if it is malformed; err begins with the column.
 */
int csv_row_parse(const char *s, const struct csv_format *f, struct csv_row *row,
                  struct eddis_error *err);

/* Check whether all quotes of the line are paired. */
bool csv_row_quotes_close(const char *s);

/* The kinds of a field's content. */
enum csv_kind { CSV_EMPTY, CSV_DIGITS, CSV_NUMBER, CSV_TEXT };

/* Return the kind of the field at s, quoted or not: empty, a whole number of at most 15 digits
 * without a sign, another number, or text. If it is a number, store it in *ret.
 */
enum csv_kind csv_field_kind(const char *s, char separator, double *ret);

#endif
