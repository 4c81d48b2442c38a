/* SPDX-License-Identifier: Apache-2.0 */
/* output_view.h - shows the output of ranks to the user
 *
 *     a100-1:0:       loading /data          colored differently for each rank, on a terminal
 *     v100-2:3:       loading /data
 *     0-3 (4 ranks):  ready                  printed by all four within a moment
 *
 * Unfinished lines are shown as begun_lines.h describes. Control characters are replaced
 * (text_make_plain). Lines that were dropped earlier, or for which the screen has no room, are
 * counted and reported.
 */
#ifndef EDDIS_CMD_RUN_VIEW_OUTPUT_VIEW_H
#define EDDIS_CMD_RUN_VIEW_OUTPUT_VIEW_H

#include "cmd/shared/rank_list.h"
#include "run_view.h"

#include <stdbool.h>
#include <stdint.h>

/* What to show, and where. */
struct output_view_options {
    struct run_view *view;
    const struct rank_list *ranks; /* ranks whose output is shown */
    /* prefix of each line, with "{node}" and "{rank}"; lines are not folded then; NULL: the
     * standard prefix
     */
    const char *prefix;
    const char *log_dir; /* folder of logs such as rank-0003.log */
    int n_ranks;
    int width; /* length of the longest "node:rank", in bytes */
};

struct output_view;

/* Return a new view; NULL without memory. The options are copied, and their pointers borrowed. */
struct output_view *output_view_new(const struct output_view_options *o);

/* Show output of a rank: complete lines, or the present text of an unfinished line (output_copy.h).
 * `dropped` lines directly before `text` were lost, and are counted as not shown. Output of ranks
 * that are not in the list is ignored.
 */
void output_view_add(struct output_view *o, const char *node, int rank, const char *text,
                     int64_t dropped, int64_t now_ns);

/* Print lines that were pending for long enough, draw unfinished lines, and from time to time
 * report how many lines were not shown.
 */
void output_view_tick(struct output_view *o, int64_t now_ns);

/* Print all pending lines. To be called before the caller prints other output. */
void output_view_flush(struct output_view *o);

/* Check whether each of `lines`, the last lines of a rank, is among the newest lines that were
 * shown.
 */
bool output_view_has(const struct output_view *o, int rank, const char *lines);

/* Print all pending and unfinished lines, and report for the last time how many lines were not
 * shown. Return whether any line was shown.
 */
bool output_view_end(struct output_view *o);

/* Write the label of a rank's lines to ret [size], "c01:0", or "[fd00::7]:0" if the node is named
 * by an IPv6 address. Return its length as snprintf does.
 */
int output_view_label(const char *node, int rank, char *ret, size_t size);

/* Free the view without printing anything. Accepts NULL. */
void output_view_free(struct output_view *o);

#endif
