/* SPDX-License-Identifier: Apache-2.0 */
/* fold.h - identical lines of many ranks become one
 *
 * Lines wait a moment, in the order in which they came.  A line joins the oldest waiting one of
 * the same text that stands behind everything its own rank has said before; so each rank's lines
 * stay in their order, and nothing is lost: of N ranks that print the same traceback every line
 * comes once, with their number.  A line goes out when all ranks have joined it, when its time is
 * over, or when too many wait.
 */
#ifndef EDDIS_CMD_RUN_VIEW_FOLD_H
#define EDDIS_CMD_RUN_VIEW_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLD_WAIT_NS INT64_C(250000000)

struct fold_line {
    const char *text;
    int rank;                  /* that said it first */
    int count;                 /* of ranks */
    const unsigned char *bits; /* which, bit r % 8 of byte r / 8 */
};

typedef void (*fold_fn)(void *ctx, const struct fold_line *l);

struct fold;

/* Of ranks below n_ranks, of which `all` may speak.  Returns NULL without memory. */
struct fold *fold_new(int n_ranks, int all, fold_fn fn, void *ctx);
void fold_free(struct fold *f); /* drops what waits; accepts NULL */

/* A line came.  Of ranks out of range, or without memory, it is given out behind all others. */
void fold_add(struct fold *f, int rank, const char *text, int64_t now_ns);

void fold_tick(struct fold *f, int64_t now_ns); /* give out those whose time is over */
void fold_flush(struct fold *f);                /* all */

#endif
