/* SPDX-License-Identifier: Apache-2.0 */
/* decimal.h - read and write numbers as decimal text */
#ifndef EDDIS_BASE_DECIMAL_H
#define EDDIS_BASE_DECIMAL_H

#include "strbuf.h"

#include <stdbool.h>
#include <stdint.h>

/* Parse a whole number.  Return false if s is not a whole number, has leading zeros (YAML 1.1 takes
 * it for octal), or does not fit.
 */
bool decimal_whole(const char *s, int64_t *ret);

/* Parse a finite decimal number.  Return false for anything else, as NAN or hexadecimal. */
bool decimal_number(const char *s, double *ret);

/* Append the shortest decimal that gives x again when it is read and divided by scale. */
void decimal_add(struct strbuf *b, double x, double scale);

#endif
