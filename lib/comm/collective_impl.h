/* SPDX-License-Identifier: Apache-2.0 */
/* collective_impl.h - what the author of a collective provides, and what he may call */
#ifndef EDDIS_COMM_COLLECTIVE_IMPL_H
#define EDDIS_COMM_COLLECTIVE_IMPL_H

#include "collective.h"

struct collective_ops {
    const char *name;
    /* Begin; take note of an operation that is complete.  Both return 1 when it is over, 0 when
     * not.
     */
    int (*start)(struct collective *c, struct outbox *out);
    int (*done)(struct collective *c, const struct comm_op *op, struct outbox *out);
    /* Look at shared memory.  Returns as done; NULL: it waits for messages only. */
    int (*poll)(struct collective *c, struct outbox *out, struct eddis_error *err);
    /* Return the member without which it cannot go on. */
    int (*waits_for)(const struct collective *c);
    /* Let go of what is not in the instance's own memory; NULL: all is. */
    void (*fini)(struct collective *c);
};

/* First in every instance, which is one block of memory. */
struct collective {
    const struct collective_ops *ops;
    void *memory; /* that it lies in */
    struct comm_place place;
    int tag;
    int lane; /* of COMM_LANES, within the tag */
    bool over;
    void *user;
};

/* Make an instance of bytes bytes, zeroed. */
int collective_make(const struct collective_ops *ops, size_t bytes, const struct comm_place *p,
                    struct collective **ret, struct eddis_error *err);

/* Append one operation of c with a member of its group. */
void collective_post(struct collective *c, enum comm_kind kind, int member, void *data,
                     size_t bytes, int part, struct outbox *out);

#endif
