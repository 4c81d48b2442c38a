/* SPDX-License-Identifier: Apache-2.0 */
/* collective_impl.h - the operations that each collective implements, and helpers for them */
#ifndef EDDIS_COMM_COLLECTIVE_IMPL_H
#define EDDIS_COMM_COLLECTIVE_IMPL_H

#include "collective.h"

/* The operations of a kind of collective. */
struct collective_ops {
    const char *name;
    /* Begin, or continue after a completed operation.  Both return 1 if the collective is over,
     * else 0, or a failure.
     */
    int (*start)(struct collective *c, struct outbox *out);
    int (*done)(struct collective *c, const struct comm_op *op, struct outbox *out);
    /* Inspect shared memory.  Return like done; NULL: the collective waits for messages only. */
    int (*poll)(struct collective *c, struct outbox *out, struct eddis_error *err);
    /* Return the member that the collective waits for. */
    int (*waits_for)(const struct collective *c);
    /* Free resources outside the instance's own memory; NULL: there are none. */
    void (*fini)(struct collective *c);
};

/* The first member of every instance, which is one block of memory. */
struct collective {
    const struct collective_ops *ops;
    void *memory; /* the allocated block that contains the instance */
    struct comm_place place;
    int tag;
    int lane; /* stream of the collective's messages, below COMM_LANES */
    bool over;
    void *user;
};

/* Make a zeroed instance of `bytes` bytes, 64-byte aligned; the caller frees *ret by
 * collective_free.  Return 0 or -ENOMEM.
 */
int collective_make(const struct collective_ops *ops, size_t bytes, const struct comm_place *p,
                    struct collective **ret, struct eddis_error *err);

/* Append an operation of c with a member of its group to the send queue. */
void collective_post(struct collective *c, enum comm_kind kind, int member, void *data,
                     size_t bytes, int part, struct outbox *out);

#endif
