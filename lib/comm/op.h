/* SPDX-License-Identifier: Apache-2.0 */
/* op.h - what a state machine asks of the wire: messages to send and to receive
 *
 * A collective never blocks and never talks to MPI.  It appends operations to an outbox; whoever
 * drives it (a communication thread over MPI, or a test over the in-process loop) posts them on a
 * transport and hands each back when it is complete.  The memory of an operation belongs to the
 * transport between the two.
 *
 * Between two ranks messages of one channel and tag arrive in the order of sending; others may
 * overtake each other.
 */
#ifndef EDDIS_COMM_OP_H
#define EDDIS_COMM_OP_H

#include <stdbool.h>
#include <stddef.h>

/* Whose messages they are.  Tags of unlike channels never meet. */
enum comm_channel { COMM_GRADIENTS = 0, COMM_REQUESTS = 1, COMM_BOX = 2, COMM_CHANNELS = 3 };

enum comm_kind { COMM_SEND = 1, COMM_RECEIVE = 2 };

struct comm_op {
    enum comm_kind kind;
    enum comm_channel channel;
    int peer; /* rank at the other end */
    int tag;
    void *data; /* read only by a send */
    size_t bytes;
    void *owner; /* whom to tell when it is complete: a collective but for COMM_BOX */
    int member;  /* peer's number in the owner's group */
    int part;    /* the owner's own mark */
};

/* Zero-initialised is empty and valid; an append without memory sets `failed`. */
struct outbox {
    struct comm_op *op;
    size_t n, cap;
    bool failed;
};

/* Append a copy of op. */
void outbox_add(struct outbox *out, const struct comm_op *op);

/* Forget the operations and keep the memory. */
void outbox_clear(struct outbox *out);

/* Free the memory; it is empty and valid again. */
void outbox_fini(struct outbox *out);

#endif
