/* SPDX-License-Identifier: Apache-2.0 */
/* op.h - operations of a state machine: messages to send and to receive
 *
 * A collective never blocks and never calls MPI.  It appends operations to a send queue.  Its
 * driver posts them on a transport and returns each to the collective when it is complete.  The
 * driver is a communication thread over MPI, or a test over the in-process loop.  Between these two
 * moments the operation's memory belongs to the transport.
 *
 * Between two ranks messages of one channel and tag arrive in the order of sending.  Messages of
 * different channels or tags may overtake each other.
 */
#ifndef EDDIS_COMM_OP_H
#define EDDIS_COMM_OP_H

#include <stdbool.h>
#include <stddef.h>

/* The purpose of a message.  Tags of different channels never match. */
enum comm_channel { COMM_GRADIENTS = 0, COMM_REQUESTS = 1, COMM_BOX = 2, COMM_CHANNELS = 3 };

/* The kinds of operations. */
enum comm_kind { COMM_SEND = 1, COMM_RECEIVE = 2 };

/* One send or receive. */
struct comm_op {
    enum comm_kind kind;
    enum comm_channel channel;
    int peer; /* rank at the other end */
    int tag;
    void *data; /* a send only reads it */
    size_t bytes;
    void *owner; /* object that continues when the operation is complete: a collective, except for
                  * COMM_BOX */
    int member;  /* peer's member number in the owner's group */
    int part;    /* for the owner's own use */
};

/* A send queue: a list of operations to be posted.  A zero-initialised queue is empty and valid.
 * `failed`: an append found no memory.
 */
struct outbox {
    struct comm_op *op;
    size_t n, cap;
    bool failed;
};

/* Append a copy of op.  Without memory set out->failed. */
void outbox_add(struct outbox *out, const struct comm_op *op);

/* Remove all operations but keep the queue's memory. */
void outbox_clear(struct outbox *out);

/* Free the queue's memory; the queue is then empty and valid. */
void outbox_fini(struct outbox *out);

#endif
