/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h - makes one line of identical lines of many ranks
 *
 * Lines are pending for a moment, in the order in which they came. A line joins the oldest pending
 * one with the same text that is newer than everything its own rank has printed. So each rank's
 * lines keep their order and none is lost: if N ranks print the same traceback, each line appears
 * once, with their number. A line is printed when all ranks have joined it, when its time is over,
 * or when too many are pending.
 */
#ifndef EDDIS_CMD_RUN_VIEW_FOLD_H
#define EDDIS_CMD_RUN_VIEW_FOLD_H

#include <stdint.h>

/* Time for which a line is pending. */
#define FOLD_WAIT_NS INT64_C(250000000)

/* A folded line. */
struct fold_line {
    const char *text;
    int rank;                  /* the rank that printed it first */
    int count;                 /* number of ranks that printed it */
    const unsigned char *bits; /* their set, bit r % 8 of byte r / 8; NULL: one rank */
};

/* Prints a line, whose memory is borrowed for the call. */
typedef void (*fold_fn)(void *ctx, const struct fold_line *l);

struct fold;

/* Return an empty fold for ranks below n_ranks; NULL without memory. all: how many of them print,
 * so that a line with so many ranks is complete. fn: called for each line that leaves.
 */
struct fold *fold_new(int n_ranks, int all, fold_fn fn, void *ctx);

/* Free the fold and drop its pending lines. Accepts NULL. */
void fold_free(struct fold *f);

/* Add a line that a rank has printed; text is copied. If the rank is out of range, or without
 * memory, the line is printed at once, after all pending ones.
 */
void fold_add(struct fold *f, int rank, const char *text, int64_t now_ns);

/* Print the pending lines whose time is over, oldest first. */
void fold_tick(struct fold *f, int64_t now_ns);

/* Print all pending lines, oldest first. */
void fold_flush(struct fold *f);

#endif
