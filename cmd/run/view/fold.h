/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h - joins identical lines of many ranks into one line
 *
 * Lines are pending for a short time, in the order in which they arrived. A new line joins the
 * oldest pending line with the same text that is newer than all lines of the new line's rank. So
 * each rank's lines keep their order and no line is lost: if N ranks print the same traceback, each
 * of its lines appears once, with the number of ranks. A line is printed when all ranks have joined
 * it, when FOLD_WAIT_NS has passed, or when too many lines are pending.
 */
#ifndef EDDIS_CMD_RUN_VIEW_FOLD_H
#define EDDIS_CMD_RUN_VIEW_FOLD_H

#include <stdint.h>

/* Maximum time for which a line is pending */
#define FOLD_WAIT_NS INT64_C(250000000)

/* A folded line. */
struct fold_line {
    const char *text;
    int rank;                  /* rank that printed the line first */
    int count;                 /* number of ranks that printed the line */
    const unsigned char *bits; /* set of these ranks, bit r % 8 of byte r / 8; NULL: one rank */
};

/* Type of a function that prints a line, which is borrowed during the call */
typedef void (*fold_fn)(void *ctx, const struct fold_line *l);

struct fold;

/* Return an empty fold for ranks below n_ranks; NULL without memory. all: number of ranks that
 * print; a line that so many ranks have joined is printed. fn: function that prints a line.
 */
struct fold *fold_new(int n_ranks, int all, fold_fn fn, void *ctx);

/* Free the fold and drop its pending lines. Accepts NULL. */
void fold_free(struct fold *f);

/* Add a line that a rank has printed; text is copied. If the rank is out of range, or memory is
 * lacking, print all pending lines and then this line.
 */
void fold_add(struct fold *f, int rank, const char *text, int64_t now_ns);

/* Print the lines that have been pending for FOLD_WAIT_NS, oldest first. */
void fold_tick(struct fold *f, int64_t now_ns);

/* Print all pending lines, oldest first. */
void fold_flush(struct fold *f);

#endif
