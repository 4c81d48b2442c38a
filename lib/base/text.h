/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - small questions about strings */
#ifndef EDDIS_BASE_TEXT_H
#define EDDIS_BASE_TEXT_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Borrows the one of n names nearest to word by edit distance (insertions, deletions, changes
 * and swaps of neighbours), or NULL when none is near enough to be what was meant.
 */
const char *text_nearest(const char *word, const char *const *names, size_t n);

/* Parse a duration "250ms", "10s", "5m", "2h", "7d", "1m30s" or "12:00:00" into ns; "none" gives
 * CLOCK_NEVER.  -EINVAL: not a duration; -ERANGE: does not fit.
 */
int text_duration_ns(const char *s, int64_t *ret, struct eddis_error *err);

/* Replace control characters by '?' in place, so that foreign text cannot drive a terminal; tabs
 * stay.  Of the bytes above 0x7f only UTF-8's control characters are replaced.
 */
void text_strip_control(char *s);

/* Make foreign text plain in place, so that it can be shown: terminal sequences (colours,
 * movements, titles) and control characters but tabs are gone, what is no UTF-8 becomes '?'.
 */
void text_make_plain(char *s);

/* Whether s is one to max letters, digits, '.', '_' or '-', and does not start with '-' or '.'. */
bool text_is_name(const char *s, size_t max);

/* As text_is_name, with ':' as well: what names a host, an address of IPv6 among others. */
bool text_is_host(const char *s, size_t max);

/* Whether s is exactly n lower-case hexadecimal digits. */
bool text_is_hex(const char *s, size_t n);

/* Borrows the name of a signal that people and schedulers send, "TERM"; "?": another.  glibc's own
 * table is there from 2.32 on.
 */
const char *text_signal(int sig);

/* Write n as "22 400": digits in groups of three; size at least 32.  Returns ret. */
char *text_grouped(double n, char *ret, size_t size);

#endif
