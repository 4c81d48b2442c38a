/* SPDX-License-Identifier: Apache-2.0 */
/* between_stage.h - the stage of an all-reduce between nodes, over messages of one rank of each
 *
 * The data comes in pieces of equal length but for the last, which has the tail.  Piece i takes
 * lane i % COMM_LANES: pieces of unlike lanes are under way at a time, so that one's delays pass
 * while another's bytes travel, and those of one lane follow each other.  All ranks of the stage
 * start the same pieces, of each lane in the same order.  Where a piece lies and who else has added
 * to it is the caller's business.
 *
 * A collective for each lane and one for the last piece are made once and started for every piece,
 * so that memory is short when the stage is made or not at all; their scratch, about half a piece
 * each in two nodes' ring, is kept as long as the stage.
 */
#ifndef EDDIS_COMM_BETWEEN_STAGE_H
#define EDDIS_COMM_BETWEEN_STAGE_H

#include "collective.h"

#include <stdint.h>

struct between_stage_options {
    struct comm_place place;      /* the ranks of the stage, on the channel of its messages */
    const struct allreduce *what; /* all of it, borrowed; the data is told piece by piece */
    size_t piece_n;               /* elements of each piece but the last */
    uint64_t n_pieces;            /* at least 1 */
    struct collective *owner;     /* whom the transport tells of the stage's operations */
};

/* Pieces that one follows after the other. */
struct between_lane {
    struct collective *sum;  /* of a piece that is not the last; NULL: there is none here */
    struct collective *busy; /* what is under way: sum, or the stage's last; NULL: nothing */
    uint64_t piece;          /* which */
};

struct between_stage {
    struct between_stage_options o;
    struct between_lane lane[COMM_LANES];
    struct collective *last;
};

/* Make the collectives.  -ENOMEM. */
int between_stage_init(struct between_stage *s, const struct between_stage_options *o,
                       struct eddis_error *err);

/* Accepts one that is zero-initialised. */
void between_stage_fini(struct between_stage *s);

/* Return whether piece i can be started. */
bool between_stage_free(const struct between_stage *s, uint64_t i);

/* Start the sum of piece i, at data.  Returns 1 when it is over, 0 when not, or a failure. */
int between_stage_start(struct between_stage *s, uint64_t i, void *data, struct outbox *out,
                        struct eddis_error *err);

/* One of its operations is complete.  Returns as between_stage_start; when that is 1, ret has the
 * piece.
 */
int between_stage_done(struct between_stage *s, const struct comm_op *op, uint64_t *ret,
                       struct outbox *out, struct eddis_error *err);

/* Return whether a piece is under way. */
bool between_stage_busy(const struct between_stage *s);

/* Return the rank of the stage that the first piece under way waits for. */
int between_stage_waits_for(const struct between_stage *s);

#endif
