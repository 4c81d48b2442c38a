/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - formats numbers for the user; all programs use these functions, so that numbers look
 * alike
 */
#ifndef EDDIS_CMD_SHARED_NUMBER_H
#define EDDIS_CMD_SHARED_NUMBER_H

#include <stdint.h>

/* Size of ret, to which each of the functions writes, and which it returns. NAN and infinity give
 * "-".
 */
enum { NUMBER_SIZE = 48 };

/* Format x in ret [NUMBER_SIZE] with three significant digits (below 1: with two), in groups:
 * "22 400", "9 310", "97.3", "0.52", "0.0051"; below 0.0001 with a power of ten: "5e-05"; "-" if x
 * is not finite. Return ret.
 */
char *number_rate(double x, char *ret);

/* Format part / whole in ret [NUMBER_SIZE] as a percentage, "97 %"; "-" if whole is 0. Return ret.
 */
char *number_percent(double part, double whole, char *ret);

/* Format x / other in ret [NUMBER_SIZE] as "2.4x", from 10 on as "24x"; "-" if other is 0. Return
 * ret.
 */
char *number_times(double x, double other, char *ret);

/* Format a size in ret [NUMBER_SIZE] as "23 GB" or "512 MB", where 1 GB is 1e9 bytes; "-" if
 * negative. Return ret.
 */
char *number_bytes(double bytes, char *ret);

/* Format a duration in ret [NUMBER_SIZE] in its largest unit, rounded down: "45 s", "12 min",
 * "2 h", "3 d"; "now" below a second. Return ret.
 */
char *number_age(int64_t seconds, char *ret);

/* Format a count with its noun in ret [NUMBER_SIZE]: "1 worker", "2 workers", "10 000 workers".
 * Return ret.
 */
char *number_of(int64_t n, const char *thing, char *ret);

#endif
