/* SPDX-License-Identifier: Apache-2.0 */
/* node_stage.h - the stage of an all-reduce inside a node, in the memory shared by its ranks
 *
 * The data is cut into pieces.  Each piece has a slot of the node's memory (shm_impl.h) while it is
 * under way:
 *
 *     in place    contribution in the arena -> sum in the results, or in every arena; no copy
 *     private     copied into the pool -> summed there -> copied out; a few small pieces at a time,
 *                 so that the pool's data never leaves the cache
 *
 *     arrive ... -> reduced ... -> published -> taken
 *
 * A piece is reduced in chunks.  Each rank claims the chunks of its own share first and then those
 * of other shares.  So no rank waits for one that the system has descheduled, and a small piece is
 * reduced by the last rank to arrive while the others sleep.  The chunks of a large piece in place
 * are left to the owners of their shares, because reading other ranks' contributions needs page
 * tables for them.  Other ranks reduce such chunks only if an owner must have been stopped.  The
 * order of additions is that of the ranks, independent of who makes them.  A reduced piece is
 * published by the stage itself, immediately, or by the node's first rank, which may change it
 * before.
 *
 * All members of the node call the same functions with the same options.  No function blocks.
 */
#ifndef EDDIS_COMM_NODE_STAGE_H
#define EDDIS_COMM_NODE_STAGE_H

#include "reduction.h"
#include "shm.h"

#include <stdint.h>

/* The parameters of a node's stage. */
struct node_stage_options {
    const struct allreduce *what; /* borrowed */
    struct comm_shm *shm;         /* the node's memory, borrowed */
    int here, n_here;             /* this member's index among the n_here members on the node */
    size_t in_place_bytes;        /* size of a piece in place; SIZE_MAX: one piece for all data */
    bool publishes;               /* the stage itself publishes reduced pieces */
    bool replaces;                /* in place: see comm_shm_replaces */
    const void **scratch;         /* room for n_here pointers, borrowed */
};

/* The state of a node's stage on one rank. */
struct node_stage {
    struct node_stage_options o;
    bool in_place;
    size_t offset;  /* in place: offset of the data in the arena */
    int first_slot; /* in place: the slot of piece 0; one slot for each piece */
    size_t piece_n; /* elements of each piece but the last */
    uint64_t n_pieces;
    uint64_t ticket;         /* private: number of piece 0 among all pieces of the pool */
    uint64_t arrived, taken; /* number of pieces to which this rank has contributed; number that it
                              * has taken */
    uint64_t own;            /* number of pieces without a chunk left in this rank's share */
    uint64_t claimed;        /* number of pieces without a chunk left in any share */
    int64_t own_ns;   /* ns that this rank's share of piece `timed` took, or has taken so far */
    uint64_t timed;   /* number of the piece whose time own_ns is */
    int64_t since_ns; /* time when waiting for others' shares of piece `claimed` began; 0: not
                       * yet */
};

/* Cut the data into pieces, take their slots and map this rank's shares.  Return 0; -EINVAL:
 * private memory without a pool; -ENOSPC: no slots left.  After a failure s holds no slots.
 */
int node_stage_init(struct node_stage *s, const struct node_stage_options *o,
                    struct eddis_error *err);

/* Give the slots back.  Accept a zero-initialised stage. */
void node_stage_fini(struct node_stage *s);

/* Begin the stage, for the first time or after all its pieces were taken. */
void node_stage_start(struct node_stage *s);

/* Contribute this rank's part of each piece whose slot is free (private data are copied into the
 * pool), and reduce chunks of pieces to which all ranks have contributed.  *budget: bytes that may
 * still be reduced; it is decreased.  Return whether anything was contributed or reduced.
 */
bool node_stage_reduce(struct node_stage *s, size_t *budget);

/* Check whether the node's sum of piece i is ready and the stage has not published it yet; if so,
 * store the location of the sum in *ret.
 */
bool node_stage_reduced(const struct node_stage *s, uint64_t i, struct comm_part *ret);

/* Publish piece i, for which node_stage_reduced has returned true. */
void node_stage_publish(const struct node_stage *s, uint64_t i);

/* Take the published pieces, which copies private data out of the pool.  Return whether a piece was
 * taken.
 */
bool node_stage_take(struct node_stage *s);

/* Check whether this rank has taken all pieces; other ranks of the node may not have. */
bool node_stage_over(const struct node_stage *s);

/* Return the member, by its index on the node, that the next piece to be taken waits for. */
int node_stage_waits_for(const struct node_stage *s);

/* Count a poll without progress, and check occasionally whether the process of this member still
 * lives.  -EPIPE: it has ended.
 */
int node_stage_idle(const struct node_stage *s, int member);

/* Borrow the result, like allreduce_result. */
const void *node_stage_result(const struct node_stage *s);

#endif
