/* SPDX-License-Identifier: Apache-2.0 */
/* run_view.h - shows a running job to the user: sentences, one live line, the summary
 *
 * On a terminal the live line is redrawn in place, below all other output; directly above it are
 * unfinished lines of ranks. In other output a plain line is printed from time to time. No function
 * waits for the reader, except run_view_flush and, for a short time, run_view_print; see screen.h.
 */
#ifndef EDDIS_CMD_RUN_VIEW_RUN_VIEW_H
#define EDDIS_CMD_RUN_VIEW_RUN_VIEW_H

#include "screen.h"

#include "agents/job/status_json.h"
#include "lib/base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUN_VIEW_LINE = 512, RUN_VIEW_ROWS = 5 };

/* What is shown, and where */
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
    int64_t next_ns;          /* time from which the next progress line may be printed */
};

/* Open the screens for standard output and error, and detect what standard output can show. quiet:
 * show no live line. Return 0 or a negative errno.
 */
int run_view_open(struct run_view *v, bool quiet, struct eddis_error *err);

/* Detect again what standard output can show, after it was redirected. */
void run_view_look(struct run_view *v);

/* Wait until all output is written, but at most for most_ns, and only until SIGINT or SIGTERM is
 * pending. Returns as screen_flush.
 */
int run_view_flush(struct run_view *v, int64_t most_ns, struct eddis_error *err);

/* Close the screens. Pending output is dropped. */
void run_view_close(struct run_view *v);

/* Draw the live line, or print a progress line, for a running job; more rarely on output that is
 * not a terminal.
 */
void run_view_progress(struct run_view *v, const struct job_status *s);

/* Draw text, which says for what the start waits, in place of the live line. */
void run_view_waiting(struct run_view *v, const char *text);

/* Add a line to be drawn above the live line. Color codes take no columns, ESC in other sequences
 * becomes '?', and a line that is too wide is cut.
 */
void run_view_add_row(struct run_view *v, const char *text);

/* Remove our lines from the terminal, before something else is printed. */
void run_view_clear(struct run_view *v);

/* Draw the live line and the lines above it on the terminal again. */
void run_view_redraw(struct run_view *v);

/* Print a longer text; if the screen has no room, wait for a short time. Afterwards there is no
 * live line until the next run_view_progress.
 */
void run_view_print(struct run_view *v, const char *text);

/* Print "eddis-run: <sentence>" to standard error, with control characters replaced. */
void run_view_say(struct run_view *v, const char *sentence);

/* Print lines, the last output of a failed rank (-1: of mpirun), to standard error, each line with
 * the rank.
 */
void run_view_last_lines(struct run_view *v, int rank, const char *lines);

/* Append to b "output in ..." with the paths of logs in this folder: the log of a rank (-1: the
 * logs of all n ranks), or that of mpirun if the rank has printed nothing.
 */
void run_view_add_output(const char *log_dir, int rank, int n, struct strbuf *b);

/* Write the text of the live line to ret [size]; also used by a test. */
void run_view_text(const struct run_view *v, const struct job_status *s, char *ret, size_t size);

#endif
