/* SPDX-License-Identifier: Apache-2.0 */
/* output_view.h - what ranks print, as people see it
 *
 *     a100-1:0:       loading /data          colour of its own for each rank, on a terminal
 *     v100-2:3:       loading /data
 *     0-3 (4 ranks):  ready                  all four have said so within a moment
 *
 * Lines that have not ended are shown as begun_lines.h says.  Lines are made plain
 * (text_make_plain).  What was left out on the way or finds no room on the screen is counted and
 * told.
 */
#ifndef EDDIS_CMD_RUN_VIEW_OUTPUT_VIEW_H
#define EDDIS_CMD_RUN_VIEW_OUTPUT_VIEW_H

#include "cmd/shared/rank_list.h"
#include "run_view.h"

#include <stdbool.h>
#include <stdint.h>

struct output_view_options {
    struct run_view *view;
    const struct rank_list *ranks; /* those to be shown */
    const char *prefix;  /* with "{node}" and "{rank}", lines are not folded then; NULL: ours */
    const char *log_dir; /* where rank-0003.log is */
    int n_ranks;
    int width; /* of the longest "node:rank" */
};

struct output_view;

/* Options are copied, what they point at is borrowed.  Returns NULL without memory. */
struct output_view *output_view_new(const struct output_view_options *o);

/* Whole lines came, or what has come of one that has not ended (output_copy.h), before which
 * `dropped` lines are missing. */
void output_view_add(struct output_view *o, const char *node, int rank, const char *text,
                     int64_t dropped, int64_t now_ns);

/* Show what has waited long enough; now and then tell what was left out. */
void output_view_tick(struct output_view *o, int64_t now_ns);

/* Show all, before something else is printed. */
void output_view_flush(struct output_view *o);

/* Whether the rank's last lines have just been shown, as the newest of what there is. */
bool output_view_has(const struct output_view *o, int rank, const char *lines);

/* Show all, and tell what was left out for the last time.  Returns whether anything was shown. */
bool output_view_end(struct output_view *o);

/* Write what stands before a line of a rank, "c01:0", or "[fd00::7]:0" on a node that is named by
 * an address of IPv6.  Returns its length, as snprintf does.
 */
int output_view_label(const char *node, int rank, char *ret, size_t size);

void output_view_free(struct output_view *o); /* accepts NULL */

#endif
