/* SPDX-License-Identifier: Apache-2.0 */
/* begun_lines.h - incomplete lines of ranks: progress bars, questions, dots
 *
 * On a terminal incomplete ("unfinished") lines stand below all other output, and are redrawn as
 * they change. In other output text cannot be changed, so an unfinished line is first shown half a
 * second after it has begun. Later, text that is added to the line is shown when no further text
 * has arrived for half a second. A line that is rewritten, such as a progress bar, is shown again
 * every ten seconds.
 */
#ifndef EDDIS_CMD_RUN_VIEW_BEGUN_LINES_H
#define EDDIS_CMD_RUN_VIEW_BEGUN_LINES_H

#include <stdbool.h>
#include <stdint.h>

struct begun_lines;

/* Return the unfinished lines of n_ranks ranks, none at first; NULL without memory. */
struct begun_lines *begun_lines_new(int n_ranks);

/* Free all unfinished lines. Accepts NULL. */
void begun_lines_free(struct begun_lines *b);

/* Set the rank's unfinished line to text, which is copied. Without memory the line stays as it was.
 */
void begun_lines_set(struct begun_lines *b, int rank, const char *text, int64_t now_ns);

/* Replace the rank's unfinished line by the complete line `line`. Return a pointer into `line` to
 * the text that begun_lines_due has not shown yet; NULL: all was shown.
 */
const char *begun_lines_end(struct begun_lines *b, int rank, const char *line);

/* Check whether the rank has an unfinished line. */
bool begun_lines_has(const struct begun_lines *b, int rank);

/* Return the first rank from `rank` on that has an unfinished line, with its text, borrowed, in
 * *ret_text; -1: none.
 */
int begun_lines_next(const struct begun_lines *b, int rank, const char **ret_text);

/* Return the first rank from `rank` on whose unfinished line is due to be shown; -1: none. Store in
 * *ret_text, borrowed, the text to show: the added text, or the whole line if it was rewritten. The
 * line then counts as shown.
 */
int begun_lines_due(struct begun_lines *b, int rank, int64_t now_ns, const char **ret_text);

#endif
