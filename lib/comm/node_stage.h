/* SPDX-License-Identifier: Apache-2.0 */
/* node_stage.h - the stage of an all-reduce inside a node, in the memory that its ranks share
 *
 * The data is cut into pieces, each of which has a slot of the node's memory (shm_impl.h) while it
 * is under way:
 *
 *     in place    contribution in the arena -> sum in the results; no copy
 *     private     copied into the pool -> summed there -> copied out, a few pieces at a time, small
 *                 enough that what goes through the pool never leaves the cache
 *
 *     arrive ... -> reduced ... -> published -> taken
 *
 * A piece is reduced in chunks, of which each rank claims its share first and then the others': so
 * nobody waits for a rank that the system has put aside, and a small one is reduced by the last to
 * arrive while the others sleep.  A large one in place is left to the ranks whose shares they are
 * until one must have been stopped: who reads what others have contributed needs page tables for
 * it.  The order of additions is that of the ranks, whoever makes them.  Who
 * publishes a reduced piece may change it before: the stage itself, at once, or else the node's
 * first rank when told to.
 *
 * All members of the node call the same functions with the same options; none blocks.
 */
#ifndef EDDIS_COMM_NODE_STAGE_H
#define EDDIS_COMM_NODE_STAGE_H

#include "reduction.h"
#include "shm.h"

#include <stdint.h>

struct node_stage_options {
    const struct allreduce *what; /* borrowed */
    struct comm_shm *shm;         /* of this node; borrowed */
    int here, n_here;             /* this member, of those on this node */
    size_t in_place_bytes;        /* of a piece in place; SIZE_MAX: all is one piece */
    bool publishes;               /* the stage itself publishes what is reduced */
    const void **scratch;         /* [n_here], borrowed */
};

struct node_stage {
    struct node_stage_options o;
    bool in_place;
    size_t offset;  /* in place: of the data in the arena */
    int first_slot; /* in place: a slot a piece from here on */
    size_t piece_n; /* elements of each piece but the last */
    uint64_t n_pieces;
    uint64_t ticket;         /* private: piece 0's turn in the pool */
    uint64_t arrived, taken; /* pieces, on this rank */
    uint64_t own;            /* pieces of which nothing is left of this rank's share ... */
    uint64_t claimed;        /* ... and of none */
    int64_t own_ns;          /* that this rank's share of the last of them took, or takes so far */
    uint64_t timed;          /* which one that is */
    int64_t since_ns; /* when waiting for others' shares of piece `claimed` began; 0: not yet */
};

/* Cut the data, take its slots and map this rank's shares.  -EINVAL: private memory without a pool;
 * -ENOSPC: no slots.
 */
int node_stage_init(struct node_stage *s, const struct node_stage_options *o,
                    struct eddis_error *err);

/* Give the slots back.  Accepts one that is zero-initialised. */
void node_stage_fini(struct node_stage *s);

/* Begin, or begin again once all pieces are taken. */
void node_stage_start(struct node_stage *s);

/* Contribute pieces, and reduce what all have contributed to.  *budget: bytes that may still be
 * reduced in this turn.  Returns whether anything moved.
 */
bool node_stage_reduce(struct node_stage *s, size_t *budget);

/* Return whether the node's sum of piece i is there and not published, and where it lies. */
bool node_stage_reduced(const struct node_stage *s, uint64_t i, struct comm_part *ret);

/* Publish piece i, of which node_stage_reduced has returned true. */
void node_stage_publish(const struct node_stage *s, uint64_t i);

/* Take the pieces that are published.  Returns whether anything moved. */
bool node_stage_take(struct node_stage *s);

/* Return whether all pieces are taken. */
bool node_stage_over(const struct node_stage *s);

/* Return the member of this node that the piece to be taken next waits for. */
int node_stage_waits_for(const struct node_stage *s);

/* Nothing moved: see now and then whether that member is still there.  -EPIPE: it is not. */
int node_stage_idle(const struct node_stage *s, int member);

/* Borrow the result, as allreduce_result. */
const void *node_stage_result(const struct node_stage *s);

#endif
