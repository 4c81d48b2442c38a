/* SPDX-License-Identifier: Apache-2.0 */
/* text.h - parse, check and sanitise short texts */
#ifndef EDDIS_BASE_TEXT_H
#define EDDIS_BASE_TEXT_H

#include "error.h"
#include "strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the value of a macro as a string literal, for messages that state a limit. */
#define TEXT_OF(macro)  TEXT_OF_(macro)
#define TEXT_OF_(value) #value

/* Borrow the one of n names nearest to `word` by edit distance (insertions, deletions, changes,
 * swaps of neighbours); NULL if none is near enough to be a misspelling.
 */
const char *text_nearest(const char *word, const char *const *names, size_t n);

/* Parse a duration "250ms", "10s", "5m", "2h", "7d", "1m30s" or "12:00:00" into ns in *ret; "none"
 * gives CLOCK_NEVER.  Return 0; -EINVAL: not a duration; -ERANGE: does not fit.
 */
int text_duration_ns(const char *s, int64_t *ret, struct eddis_error *err);

/* Parse a number from 0 to most, or a range of them "5-7", at *s and move *s behind it. Return
 * false if there is none.
 */
bool text_range(const char **s, int most, int *ret_first, int *ret_last);

/* Replace control characters except tabs by '?' in place, so that foreign text cannot control a
 * terminal.  Bytes above 0x7f are kept unless they form a control character of UTF-8 or, outside
 * UTF-8, are C1 controls.
 */
void text_strip_control(char *s);

/* Append formatted text without control characters, as text_strip_control leaves it.  Without
 * memory set b->failed.
 */
void text_add_clean(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Make foreign text fit to display, in place: remove terminal sequences (colours, movements,
 * titles) and control characters except tabs, and replace bytes that are not UTF-8 by '?'.
 */
void text_make_plain(char *s);

/* Check whether s has 1 to max letters, digits, '.', '_' or '-', and does not begin with '-' or
 * '.'.
 */
bool text_is_name(const char *s, size_t max);

/* Check as text_is_name, but allow ':' too: for host names and addresses including IPv6. */
bool text_is_host(const char *s, size_t max);

/* Check whether s is exactly n lower-case hexadecimal digits. */
bool text_is_hex(const char *s, size_t n);

/* Borrow the name of a common signal without SIG, "TERM"; "?": any other signal.  glibc has its own
 * table only from 2.32 on.
 */
const char *text_signal(int sig);

/* Write n, rounded, as "22 400" with digits in groups of three; size is at least 32.  Return ret,
 * never NULL.
 */
char *text_grouped(double n, char *ret, size_t size);

/* Check whether s contains one of n parts. */
bool text_has_any(const char *s, const char *const *parts, size_t n);

/* Append formatted text to the string in ret [size], cut to what fits. */
void text_append(char *ret, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Return the number of UTF-8 characters of s: continuation bytes do not count. */
int text_width(const char *s);

/* Return the position of the first character of s [n] that is not UTF-8 (RFC 3629), or n. */
size_t text_utf8_bad(const char *s, size_t n);

#endif
