/* SPDX-License-Identifier: Apache-2.0 */
/* run_view.h - what users see of a running job: sentences, one live line, the summary
 *
 * On a terminal the live line is redrawn in place, below all other output, and above it stand
 * unfinished lines of ranks. Elsewhere a plain line is printed now and then. Nothing here waits for
 * the reader, see screen.h.
 */
#ifndef EDDIS_CMD_RUN_VIEW_RUN_VIEW_H
#define EDDIS_CMD_RUN_VIEW_RUN_VIEW_H

#include "screen.h"

#include "agents/job/status_json.h"
#include "lib/base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUN_VIEW_LINE = 512, RUN_VIEW_ROWS = 5 };

/* What is shown, and where. */
struct run_view {
    struct screen *out;    /* standard output */
    struct screen *errors; /* standard error; the same screen if both go to one file */
    bool quiet;            /* no live line and no progress */
    bool terminal;         /* standard output is a terminal that can redraw lines */
    bool colour;
    bool utf8;
    int columns;
    int n_drawn;                            /* our lines that are on the terminal now */
    char row[RUN_VIEW_ROWS][RUN_VIEW_LINE]; /* lines above the live line, on a terminal */
    int n_rows; /* set it to 0 to forget them; they stay on the terminal until it is drawn again */
    char line[RUN_VIEW_LINE]; /* the live line; "": none yet */
    int64_t next_ns;          /* when the next progress line may come */
};

/* Open the screens for standard output and error, and find out what standard output can show.
 * quiet: show no live line.
 */
int run_view_open(struct run_view *v, bool quiet, struct eddis_error *err);

/* Find out again what standard output can show, after it was redirected. */
void run_view_look(struct run_view *v);

/* Wait until everything is written, for most_ns at most, or until SIGINT or SIGTERM is pending.
 * Fail as screen_flush does.
 */
int run_view_flush(struct run_view *v, int64_t most_ns, struct eddis_error *err);

/* Close the screens; pending output is lost. */
void run_view_close(struct run_view *v);

/* Draw the live line, or print a progress line, for a running job; not more often than the output
 * suits.
 */
void run_view_progress(struct run_view *v, const struct job_status *s);

/* Draw in place of the live line what the start waits for. */
void run_view_waiting(struct run_view *v, const char *text);

/* Add a line to be drawn above the live line. Color codes take no columns, and a line that is too
 * wide is cut.
 */
void run_view_add_row(struct run_view *v, const char *text);

/* Remove our lines from the terminal, before something else is printed. */
void run_view_clear(struct run_view *v);

/* Draw the live line and the lines above it on the terminal again. */
void run_view_redraw(struct run_view *v);

/* Print a longer text, and wait a moment if there is no room. The live line is gone afterwards
 * until there is a new one.
 */
void run_view_print(struct run_view *v, const char *text);

/* Print one sentence to standard error: "eddis-run: <sentence>". Control characters are replaced.
 */
void run_view_say(struct run_view *v, const char *sentence);

/* Print the last output of a failed rank to standard error, each line with its rank; rank -1: of
 * mpirun.
 */
void run_view_last_lines(struct run_view *v, int rank, const char *lines);

/* Append "output in ..." with the logs in this folder: that of a rank (-1: of all n), or mpirun's
 * if that rank has printed nothing.
 */
void run_view_add_output(const char *log_dir, int rank, int n, struct strbuf *b);

/* Write the text of the live line to ret [size]; also used by a test. */
void run_view_text(const struct run_view *v, const struct job_status *s, char *ret, size_t size);

#endif
