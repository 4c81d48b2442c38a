/* SPDX-License-Identifier: Apache-2.0 */
/* between_stage.h - the stage of an all-reduce between nodes, over messages of one rank of each
 *
 * The data comes in pieces of equal length but for the last, which has the tail; one is under way
 * at a time, and all ranks of the stage start the same pieces in the same order.  Where a piece
 * lies and who else has added to it is the caller's business.
 *
 * Two collectives, one for each length, are made once and started for every piece, so that memory
 * is short when the stage is made or not at all; their scratch, about half a piece in two nodes'
 * ring, is kept as long as the stage.
 */
#ifndef EDDIS_COMM_BETWEEN_STAGE_H
#define EDDIS_COMM_BETWEEN_STAGE_H

#include "collective.h"

struct between_stage_options {
    struct comm_place place;      /* the ranks of the stage, on the channel of its messages */
    const struct allreduce *what; /* all of it, borrowed; the data is told piece by piece */
    size_t piece_n;               /* elements of each piece but the last */
    struct collective *owner;     /* whom the transport tells of the stage's operations */
    /* What the ranks of all nodes have measured of messages among each other; NULL: nothing.  It is
     * handed through and not used yet: the kind of sum between the nodes is chosen by the usual
     * limits.
     */
    const struct comm_limits *measured;
};

struct between_stage {
    struct between_stage_options o;
    struct collective *piece, *last; /* NULL: there is only one piece */
    struct collective *busy;         /* the one of the two that is under way; NULL: none */
};

/* Make the collectives.  -ENOMEM. */
int between_stage_init(struct between_stage *s, const struct between_stage_options *o,
                       struct eddis_error *err);

/* Accepts one that is zero-initialised. */
void between_stage_fini(struct between_stage *s);

/* Start the sum of a piece, at data, when none is under way.  Returns 1 when it is over, 0 when
 * not, or a failure.
 */
int between_stage_start(struct between_stage *s, void *data, bool last, struct outbox *out,
                        struct eddis_error *err);

/* One of its operations is complete.  Returns as between_stage_start. */
int between_stage_done(struct between_stage *s, const struct comm_op *op, struct outbox *out,
                       struct eddis_error *err);

/* Return whether a piece is under way. */
bool between_stage_busy(const struct between_stage *s);

/* Return the rank of the stage that the piece under way waits for. */
int between_stage_waits_for(const struct between_stage *s);

#endif
