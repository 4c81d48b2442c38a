/* SPDX-License-Identifier: Apache-2.0 */
/* reduction.h - common parts of the kinds of all-reduce, for their authors */
#ifndef EDDIS_COMM_REDUCTION_H
#define EDDIS_COMM_REDUCTION_H

#include "collective_impl.h"

struct allreduce_kind;

/* The first member of every instance of an all-reduce. */
struct reduction {
    struct collective base;
    const struct allreduce_kind *kind;
    struct allreduce what;
    size_t bytes; /* size of the elements and the trailer */
};

/* The operations of a kind of all-reduce. */
struct allreduce_kind {
    const struct collective_ops *ops;
    /* Return the size of an instance in bytes, with its scratch memory. */
    size_t (*instance_bytes)(const struct comm_place *p, const struct allreduce *a);
    /* Prepare a zeroed instance whose `what` is set.  The function may be NULL: then the kind has
     * nothing to prepare and uses messages only.
     */
    int (*prepare)(struct reduction *r, struct eddis_error *err);
    /* Borrow the result; NULL: it is in the data itself. */
    const void *(*result)(const struct reduction *r);
};

/* A range of elements, with the trailer if it contains the last ones. */
struct comm_part {
    char *data;
    size_t n;     /* number of elements */
    size_t bytes; /* size with the trailer */
};

/* Return segment `segment` of block b, if the data is cut into `blocks` blocks and each block into
 * `segments` segments, as ring.h cuts.
 */
struct comm_part reduction_segment(const struct reduction *r, int blocks, int b, int segments,
                                   int segment);

/* Return the range of all data. */
struct comm_part reduction_whole(const struct reduction *r);

/* Return blocks first .. end - 1, if the data is cut into `blocks` blocks. */
struct comm_part reduction_blocks(const struct reduction *r, int blocks, int first, int end);

/* ---- ranges in messages, in which elements may have 16 bits instead of 32 ---- */

/* Check whether elements travel in half precision. */
bool reduction_uses_half(const struct reduction *r);

/* Return the bytes, a multiple of 64, of a buffer for a message of n elements and the trailer. */
size_t reduction_room(const struct allreduce *a, size_t n);

/* Return the offset of p's message in its buffer, chosen so that the trailer behind the elements is
 * aligned.
 */
size_t reduction_pad(const struct reduction *r, const struct comm_part *p);

/* Return the size in bytes of p's message. */
size_t reduction_message(const struct reduction *r, const struct comm_part *p);

/* Write p's message to the buffer `room`, converted to half precision if it travels so. */
void reduction_write(const struct reduction *r, const struct comm_part *p, void *room);

/* Return the memory from which to send p: p's own memory; or, if p travels in half precision,
 * `room`, to which this function writes the converted message.  The caller owns both.
 */
void *reduction_send(const struct reduction *r, const struct comm_part *p, void *room);

/* Return the memory in which to receive p: p's own memory, or `room` if p travels in half
 * precision.  The caller owns both.  After the receive pass this memory to reduction_take.
 */
void *reduction_receive(const struct reduction *r, const struct comm_part *p, void *room);

/* Compute p = p rule in, with `in` a received message. */
void reduction_add(const struct reduction *r, const struct comm_part *p, const void *in);

/* Set p to the message `in`; do nothing if `in` is p itself. */
void reduction_take(const struct reduction *r, const struct comm_part *p, const void *in);

/* Round p, a total that is sent to other ranks, to the values that these receive; `room` as of
 * reduction_send.
 */
void reduction_round(const struct reduction *r, const struct comm_part *p, void *room);

extern const struct allreduce_kind allreduce_ring, allreduce_halving, allreduce_direct,
    allreduce_tree, allreduce_shared, allreduce_hosts;

#endif
