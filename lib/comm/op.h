/* SPDX-License-Identifier: Apache-2.0 */
/* op.h - what a state machine asks of the wire: messages to send and to receive
 *
 * A collective never blocks and never talks to MPI.  It appends operations to an outbox; whoever
 * drives it (a communication thread over MPI, or a test over the in-process loop) posts them on a
 * transport and hands each back when it is complete.  The memory of an operation belongs to the
 * transport between the two.
 *
 * Between two ranks messages of one tag arrive in the order of sending; unlike tags may overtake
 * each other.
 */
#ifndef EDDIS_COMM_OP_H
#define EDDIS_COMM_OP_H

#include <stdbool.h>
#include <stddef.h>

struct collective;

enum comm_kind { COMM_SEND = 1, COMM_RECEIVE = 2 };

struct comm_op {
    enum comm_kind kind;
    int peer; /* rank at the other end */
    int tag;
    void *data; /* read only by a send */
    size_t bytes;
    struct collective *owner; /* whom to tell when it is complete */
    int part;                 /* the owner's own mark */
};

/* Zero-initialised is empty and valid; an append without memory sets `failed`. */
struct outbox {
    struct comm_op *op;
    size_t n, cap;
    bool failed;
};

void outbox_add(struct outbox *out, const struct comm_op *op);

/* Forget the operations, keep the memory. */
void outbox_clear(struct outbox *out);

void outbox_fini(struct outbox *out);

#endif
