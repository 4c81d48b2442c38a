/* SPDX-License-Identifier: Apache-2.0 */
/* run_view.h - what people see of a running job: sentences, one live line, the summary
 *
 * On a terminal the live line is redrawn in place; elsewhere a plain line comes now and then.
 */
#ifndef EDDIS_CMD_RUN_VIEW_H
#define EDDIS_CMD_RUN_VIEW_H

#include "agents/status_json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct run_view {
    FILE *out;     /* live line; NULL: none */
    FILE *stream;  /* the same also then */
    bool terminal; /* redraw in place */
    bool colour;
    bool utf8;
    int columns;
    bool drawn;      /* a live line is on the screen */
    int64_t next_ns; /* when the next line may come */
};

/* Find out what the stream can show.  quiet: no live line at all. */
void run_view_init(struct run_view *v, FILE *out, bool quiet);

/* Draw the line, at most ten times a second. */
void run_view_progress(struct run_view *v, const struct job_status *s);

/* Draw what the start waits for in the same place. */
void run_view_waiting(struct run_view *v, const char *text);

/* Take the live line away, before something else is printed. */
void run_view_clear(struct run_view *v);

/* One sentence to standard error: "eddis-run: <sentence>". */
void run_view_say(struct run_view *v, const char *sentence);

/* The last output of a failed rank, each line with its rank; rank -1: of mpirun. */
void run_view_last_lines(struct run_view *v, int rank, const char *lines);

/* Write the live line's text to ret [size]: exposed for its test. */
void run_view_text(const struct run_view *v, const struct job_status *s, char *ret, size_t size);

#endif
