/* SPDX-License-Identifier: Apache-2.0 */
/* begun_lines.h - lines that ranks have begun and not ended: progress bars, questions, dots
 *
 * On a terminal they stand below all else and are drawn anew as they change.  Elsewhere what is
 * printed stays, so one is shown as a whole line half a second after it has begun, and from then on
 * its growth when nothing more has come for half a second, but a bar every ten seconds.
 */
#ifndef EDDIS_CMD_RUN_VIEW_BEGUN_LINES_H
#define EDDIS_CMD_RUN_VIEW_BEGUN_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct begun_lines;

struct begun_lines *begun_lines_new(int n_ranks); /* NULL without memory */
void begun_lines_free(struct begun_lines *b);     /* accepts NULL */

/* The rank's line has come as far as text, which is copied. */
void begun_lines_set(struct begun_lines *b, int rank, const char *text, int64_t now_ns);

/* The rank's line has ended.  Returns what of it has not been shown by begun_lines_due, within
 * line; NULL: nothing.
 */
const char *begun_lines_end(struct begun_lines *b, int rank, const char *line);

/* Whether the rank's line has begun. */
bool begun_lines_has(const struct begun_lines *b, int rank);

/* Return the first rank from `rank` on with a line that has begun and borrow its text; -1: none. */
int begun_lines_next(const struct begun_lines *b, int rank, const char **ret_text);

/* As begun_lines_next, what is to be shown as a line now, which counts as shown. */
int begun_lines_due(struct begun_lines *b, int rank, int64_t now_ns, const char **ret_text);

#endif
