/* SPDX-License-Identifier: Apache-2.0 */
/* between_stage.h - the stage of an all-reduce between nodes, over messages of one rank of each
 * node
 *
 * The data comes in pieces of equal length, except for the last, which has the trailer.  Piece i
 * uses lane i % COMM_LANES.  Pieces of different lanes may be under way at the same time, so that
 * the delays of one piece overlap with the transfer of another.  Pieces of one lane follow each
 * other.  All ranks of the stage start the same pieces, in the same order in each lane.  The caller
 * decides where the data of a piece are.
 *
 * A collective for each lane and one for the last piece are made once and started for every piece.
 * So a lack of memory shows when the stage is made, or never.  The collectives' scratch memory,
 * about half a piece each for a ring of two nodes, is kept as long as the stage.
 */
#ifndef EDDIS_COMM_BETWEEN_STAGE_H
#define EDDIS_COMM_BETWEEN_STAGE_H

#include "collective.h"

#include <stdint.h>

/* The parameters of the stage between nodes. */
struct between_stage_options {
    struct comm_place place; /* the ranks of the stage, with the channel of its messages */
    /* the whole all-reduce, borrowed; between_stage_start gets each piece's data */
    const struct allreduce *what;
    size_t piece_n;           /* elements of each piece but the last */
    uint64_t n_pieces;        /* at least 1 */
    struct collective *owner; /* owner of the stage's operations in the transport */
};

/* A sequence of pieces, one under way at a time. */
struct between_lane {
    struct collective *sum;  /* for pieces except the last; NULL: the lane has no such piece */
    struct collective *busy; /* the collective under way: `sum`, or `last` of the stage; NULL:
                              * none */
    uint64_t piece;          /* number of the piece under way */
};

/* The stage's state on one rank. */
struct between_stage {
    struct between_stage_options o;
    struct between_lane lane[COMM_LANES];
    struct collective *last; /* collective for the last piece */
};

/* Make the collectives of s.  Return 0, -ENOMEM or another failure of allreduce_new; the caller
 * calls between_stage_fini in either case.
 */
int between_stage_init(struct between_stage *s, const struct between_stage_options *o,
                       struct eddis_error *err);

/* Free the collectives.  Accept a zero-initialised stage. */
void between_stage_fini(struct between_stage *s);

/* Check whether piece i can be started. */
bool between_stage_free(const struct between_stage *s, uint64_t i);

/* Start to sum piece i, whose data is `data`.  Return 1 if the sum is complete already, else 0, or
 * a failure.
 */
int between_stage_start(struct between_stage *s, uint64_t i, void *data, struct outbox *out,
                        struct eddis_error *err);

/* Continue after the stage's completed operation op.  Return like between_stage_start, and store
 * the number of op's piece in *ret.
 */
int between_stage_done(struct between_stage *s, const struct comm_op *op, uint64_t *ret,
                       struct outbox *out, struct eddis_error *err);

/* Check whether a piece is under way. */
bool between_stage_busy(const struct between_stage *s);

/* Return the rank of the stage that the first piece under way waits for. */
int between_stage_waits_for(const struct between_stage *s);

#endif
