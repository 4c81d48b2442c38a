/* SPDX-License-Identifier: Apache-2.0 */
/* step_lines.h - finds a program's step numbers in its output
 *
 *     bytes -> lines -> a POSIX extended regular expression -> the number in its first group
 *
 * A line ends at a newline or, as in a progress bar, at a carriage return. Only the first
 * STEP_LINES_MAX bytes of a line are searched. If the numbers of a program begin again with each
 * epoch, the count of steps continues; a repeated number is ignored. A second group of the pattern
 * is the total number of steps, which is used until the numbers begin again.
 *
 * Matching delays the program, so at most about 2 MB of output a second are searched; further
 * output is skipped.
 */
#ifndef EDDIS_AGENTS_NODE_OUTPUT_STEP_LINES_H
#define EDDIS_AGENTS_NODE_OUTPUT_STEP_LINES_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { STEP_LINES_MAX = 4096 }; /* bytes of a line that are searched */

struct step_lines;

/* Type of a function called with the number of steps done, and the number of steps since the last
 * call. At the first call `since` is 0, because it is unknown when the steps were done. total:
 * number of steps of the program; 0: unknown
 */
typedef void (*step_lines_fn)(void *ctx, int64_t steps, int64_t since, int64_t total);

/* Begin to search with a pattern, in *ret, which the caller frees with step_lines_close; fn will be
 * called for each new number of steps. Return 0; -EINVAL: the text is no valid pattern, or the
 * pattern has no group; or another negative errno.
 */
int step_lines_open(const char *pattern, step_lines_fn fn, void *ctx, struct step_lines **ret,
                    struct eddis_error *err);

/* Search n bytes of output for step numbers, and call fn for each new number. */
void step_lines_feed(struct step_lines *l, const char *data, size_t n, int64_t now_ns);

/* Free l; accept NULL. */
void step_lines_close(struct step_lines *l);

#endif
