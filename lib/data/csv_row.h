/* SPDX-License-Identifier: Apache-2.0 */
/* csv_row.h - one line of numbers and a label
 *
 * Fields are separated by commas and may be quoted (RFC 4180); blanks around a number are allowed.
 * A number is decimal, with an optional fraction and exponent.  The label is a whole number from 0
 * to CSV_MAX_LABEL in the first or last field.
 */
#ifndef EDDIS_DATA_CSV_ROW_H
#define EDDIS_DATA_CSV_ROW_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CSV_MAX_LABEL = 65535 };

/* Count the fields of a line: commas outside of quotes + 1. */
int64_t csv_row_fields(const char *s);

/* Parse the line s (ends with 0) of exactly n_fields >= 2 fields.  Writes the n_fields - 1
 * features to ret_x and the label.  The sentence of -EINVAL starts with the column.
 */
int csv_row_parse(const char *s, int64_t n_fields, bool label_first, float *ret_x,
                  int32_t *ret_label, struct eddis_error *err);

/* Whether every quote of the line has its second. */
bool csv_row_quotes_close(const char *s);

/* Whether no field of the line is a number: then it is a line of column names. */
bool csv_row_is_header(const char *s);

/* Parse one number at *s and move *s behind it and the blanks after it.
 * -EINVAL: no number; -ERANGE: not finite as a float.
 */
int csv_number(const char **s, double *ret);

#endif
