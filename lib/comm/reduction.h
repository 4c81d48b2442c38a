/* SPDX-License-Identifier: Apache-2.0 */
/* reduction.h - what the kinds of all-reduce share, for their authors */
#ifndef EDDIS_COMM_REDUCTION_H
#define EDDIS_COMM_REDUCTION_H

#include "collective_impl.h"

struct allreduce_kind;

/* First in every instance of an all-reduce. */
struct reduction {
    struct collective base;
    const struct allreduce_kind *kind;
    struct allreduce what;
    size_t bytes; /* of the elements and the tail */
};

/* What the author of a kind provides. */
struct allreduce_kind {
    const struct collective_ops *ops;
    /* Return the bytes of an instance, with its scratch memory. */
    size_t (*instance_bytes)(const struct comm_place *p, const struct allreduce *a);
    /* Prepare what else is needed, in a zeroed instance that knows what to reduce; NULL: nothing.
     * A kind without it takes messages only.
     */
    int (*prepare)(struct reduction *r, struct eddis_error *err);
    /* Return where the result is to be read; NULL: in the buffer that was given. */
    const void *(*result)(const struct reduction *r);
};

/* Some elements, and the tail when the last ones are among them. */
struct comm_part {
    char *data;
    size_t n;     /* elements */
    size_t bytes; /* with the tail */
};

/* Return a segment of block b, of the given numbers of blocks and of segments a block, as ring.h
 * cuts.
 */
struct comm_part reduction_segment(const struct reduction *r, int blocks, int b, int segments,
                                   int segment);

/* Return all of it. */
struct comm_part reduction_whole(const struct reduction *r);

/* Return blocks first .. end - 1 of the given number of blocks. */
struct comm_part reduction_blocks(const struct reduction *r, int blocks, int first, int end);

/* ---- parts in messages, where elements may be narrower than in memory ---- */

/* Return whether they are. */
bool reduction_narrows(const struct reduction *r);

/* Return the bytes, a multiple of 64, that hold a message of n elements and the tail; and how far
 * into them that of a part begins, so that the tail behind the elements is aligned.
 */
size_t reduction_room(const struct allreduce *a, size_t n);
size_t reduction_pad(const struct reduction *r, const struct comm_part *p);

/* Return the bytes of a part's message. */
size_t reduction_message(const struct reduction *r, const struct comm_part *p);

/* Write a part's message to room, rounded where it narrows. */
void reduction_write(const struct reduction *r, const struct comm_part *p, void *room);

/* Return what to send of a part, and where to receive it in its place: the part itself, or where
 * it narrows room, which for sending is written here.  What was received is given to reduction_take
 * with the same room.
 */
void *reduction_send(const struct reduction *r, const struct comm_part *p, void *room);
void *reduction_receive(const struct reduction *r, const struct comm_part *p, void *room);

/* Compute p = p rule in; or p = in, nothing where that is p itself.  in: a message. */
void reduction_add(const struct reduction *r, const struct comm_part *p, const void *in);
void reduction_take(const struct reduction *r, const struct comm_part *p, const void *in);

/* p is a total that others are told: be rounded as they will have it; room as for sending. */
void reduction_round(const struct reduction *r, const struct comm_part *p, void *room);

extern const struct allreduce_kind allreduce_ring, allreduce_halving, allreduce_direct,
    allreduce_tree, allreduce_shared, allreduce_hosts;

#endif
