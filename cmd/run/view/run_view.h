/* SPDX-License-Identifier: Apache-2.0 */
/* run_view.h - what people see of a running job: sentences, one live line, the summary
 *
 * On a terminal the live line is redrawn in place, below all else, and above it what ranks have
 * begun to print; elsewhere a plain line comes now and then.  Nothing here waits for who reads it,
 * see screen.h.
 */
#ifndef EDDIS_CMD_RUN_VIEW_RUN_VIEW_H
#define EDDIS_CMD_RUN_VIEW_RUN_VIEW_H

#include "screen.h"

#include "agents/job/status_json.h"
#include "lib/base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUN_VIEW_LINE = 512, RUN_VIEW_ROWS = 5 };

struct run_view {
    struct screen *out;    /* standard output */
    struct screen *errors; /* standard error: the same where both go to one place */
    bool quiet;            /* no live line */
    bool terminal;         /* redraw in place */
    bool colour;
    bool utf8;
    int columns;
    int n_drawn; /* lines of ours that are on the screen to be drawn anew */
    char row[RUN_VIEW_ROWS][RUN_VIEW_LINE]; /* lines above the live line, on a terminal */
    int n_rows;
    char line[RUN_VIEW_LINE]; /* the newest one; "": none yet */
    int64_t next_ns;          /* when the next line may come */
};

/* Find out what standard output can show.  quiet: no live line at all. */
int run_view_open(struct run_view *v, bool quiet, struct eddis_error *err);

/* Find out again what standard output can show: it has been changed. */
void run_view_look(struct run_view *v);

/* Wait until all is on the screen, at most most_ns, or until SIGINT or SIGTERM is pending.  Fails
 * as screen_flush.
 */
int run_view_flush(struct run_view *v, int64_t most_ns, struct eddis_error *err);

void run_view_close(struct run_view *v);

/* Draw the line, at most ten times a second. */
void run_view_progress(struct run_view *v, const struct job_status *s);

/* Draw what the start waits for in the same place. */
void run_view_waiting(struct run_view *v, const char *text);

/* Set the lines above the live line, to be drawn with it: colour codes take no room, and what is
 * too wide is cut.
 */
void run_view_add_row(struct run_view *v, const char *text);
void run_view_clear_rows(struct run_view *v);

/* Take the live line away, before something else is printed, and bring it back. */
void run_view_clear(struct run_view *v);
void run_view_redraw(struct run_view *v);

/* A longer text, for which it waits a moment when there is no room; the live line is gone
 * afterwards until there is a new one.
 */
void run_view_print(struct run_view *v, const char *text);

/* One sentence to standard error: "eddis-run: <sentence>". */
void run_view_say(struct run_view *v, const char *sentence);

/* The last output of a failed rank, each line with its rank; rank -1: of mpirun. */
void run_view_last_lines(struct run_view *v, int rank, const char *lines);

/* Add where to look on, "output in ...": what the ranks have printed into the logs of this folder,
 * or where a single one (-1: all of several) has printed nothing, mpirun.
 */
void run_view_add_output(const char *log_dir, int rank, int n, struct strbuf *b);

/* Write the live line's text to ret [size]: exposed for its test. */
void run_view_text(const struct run_view *v, const struct job_status *s, char *ret, size_t size);

#endif
