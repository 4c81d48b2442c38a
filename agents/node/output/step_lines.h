/* SPDX-License-Identifier: Apache-2.0 */
/* step_lines.h - a program's steps, read out of the lines that it prints
 *
 *     bytes -> lines -> a POSIX extended regular expression -> the number in its first group
 *
 * A line ends at a newline or, as of a progress bar, at a carriage return; of a longer one than
 * STEP_LINES_MAX the beginning is looked at.  The numbers count on where a program begins anew with
 * each epoch; one that was printed before tells nothing.  A second group is the number of all
 * steps, which is believed as long as the numbers have not begun anew.
 *
 * Matching costs time that the program would have to wait for: no more than some 2 MB a second are
 * looked at, the rest is passed over.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_STEP_LINES_H
#define EDDIS_AGENTS_NODE_OUTPUT_STEP_LINES_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { STEP_LINES_MAX = 4096 }; /* bytes of a line */

struct step_lines;

/* Called with the steps that were done: the first time `since` is 0, as it was not seen when they
 * were; total 0: unknown.
 */
typedef void (*step_lines_fn)(void *ctx, int64_t steps, int64_t since, int64_t total);

/* -EINVAL: the pattern is none, or has no group. */
int step_lines_open(const char *pattern, step_lines_fn fn, void *ctx, struct step_lines **ret,
                    struct eddis_error *err);

/* Take n bytes of output. */
void step_lines_feed(struct step_lines *l, const char *data, size_t n, int64_t now_ns);

void step_lines_close(struct step_lines *l); /* accepts NULL */

#endif
