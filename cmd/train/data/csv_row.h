/* SPDX-License-Identifier: Apache-2.0 */
/* csv_row.h - one line of numbers and a label
 *
 * Fields are separated by one character and may be quoted (RFC 4180); blanks around a number are
 * allowed.  A number is decimal, with an optional fraction and exponent; where the separator is no
 * comma, a comma between digits may stand for the point.  The label is a whole number from 0 to
 * CSV_MAX_LABEL, or text, in the first or last field.
 */
#ifndef EDDIS_DATA_CSV_ROW_H
#define EDDIS_DATA_CSV_ROW_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSV_MAX_LABEL = 65535, CSV_NAME_BYTES = 128 };

/* How the rows of a file are to be read. */
struct csv_format {
    char separator;   /* ',', ';' or a tab */
    int64_t n_fields; /* of a row, that of its number too */
    bool row_numbers; /* the first field is the row's number, or its name: no feature */
    bool label_first; /* behind that; else the last field */
    bool label_is_text;
};

/* Count the fields of a line: separators outside of quotes + 1. */
int64_t csv_row_fields(const char *s, char separator);

/* Return the end of the field that begins at s: a separator outside of quotes, or the 0. */
const char *csv_field_end(const char *s, char separator);

/* Return how many features a row has. */
int64_t csv_row_features(const struct csv_format *f);

struct csv_row {
    float *x;                  /* [csv_row_features], the caller's */
    int32_t label;             /* a label that is a number */
    char name[CSV_NAME_BYTES]; /* one that is text, without quotes and blanks around it */
    bool has_comma, has_point; /* a number of this row or of one before has it; with a separator
                                * that is no comma */
};

/* Parse the line s (ends with 0), which must have exactly f->n_fields, into row.  The sentence of
 * -EINVAL starts with the column.
 */
int csv_row_parse(const char *s, const struct csv_format *f, struct csv_row *row,
                  struct eddis_error *err);

/* Whether every quote of the line has its second. */
bool csv_row_quotes_close(const char *s);

enum csv_kind { CSV_EMPTY, CSV_DIGITS, CSV_NUMBER, CSV_TEXT };

/* Return what the field at s is, quoted or not: nothing, a whole number of at most 15 digits
 * without a sign, another number, or anything else.  Writes the number.
 */
enum csv_kind csv_field_kind(const char *s, char separator, double *ret);

/* Parse one number at *s and move *s behind it and the blanks after it.
 * -EINVAL: no number; -ERANGE: not finite as a float.
 */
int csv_number(const char **s, double *ret);

#endif
