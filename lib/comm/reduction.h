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

/* Compute acc = acc rule in over all elements and the tail. */
void reduction_add(const struct reduction *r, void *acc, const void *in);

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

/* Return blocks first .. end - 1 of the given number of blocks. */
struct comm_part reduction_blocks(const struct reduction *r, int blocks, int first, int end);

/* Return the bytes, a multiple of 64, that n elements and the tail are received in; and how far
 * into them the elements of a part go, so that the tail behind them is aligned.
 */
size_t reduction_room(const struct allreduce *a, size_t n);
size_t reduction_pad(const struct reduction *r, const struct comm_part *p);

/* Compute p = p rule in, which was received at in. */
void reduction_add_part(const struct reduction *r, const struct comm_part *p, const void *in);

extern const struct allreduce_kind allreduce_ring, allreduce_halving, allreduce_direct,
    allreduce_tree, allreduce_shared, allreduce_hosts;

#endif
