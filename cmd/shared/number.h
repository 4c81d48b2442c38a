/* SPDX-License-Identifier: Apache-2.0 */
/* number.h - figures as people read them; every program prints them through here, so they agree */
#ifndef EDDIS_CMD_SHARED_NUMBER_H
#define EDDIS_CMD_SHARED_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Each writes to ret, of at least NUMBER_SIZE bytes, and returns it.  What is not finite is "-". */
enum { NUMBER_SIZE = 48 };

/* Three significant digits, two below 1, in groups: "22 400", "9 310", "97.3", "0.52", "0.0051".
 * Below 0.0001 as a power of ten: "5e-05".
 */
char *number_rate(double x, char *ret);

/* part of whole: "97 %"; "-" when whole is 0. */
char *number_percent(double part, double whole, char *ret);

/* "2.4x" beside other; from 10 on "24x"; "-" when other is 0. */
char *number_times(double x, double other, char *ret);

/* "23 GB", "512 MB", with 1 GB = 1e9 bytes. */
char *number_bytes(double bytes, char *ret);

/* The largest fitting unit: "now" below a second, "45 s", "12 min", "2 h", "3 d". */
char *number_age(int64_t seconds, char *ret);

/* "1 worker", "2 workers", "10 000 workers". */
char *number_of(int64_t n, const char *thing, char *ret);

#endif
