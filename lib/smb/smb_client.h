/* SPDX-License-Identifier: Apache-2.0 */
/* smb_client.h - an operation of this rank, for the files that carry it out
 *
 * A request is an operation of one or two stages; a stage is one order a stripe.
 *
 *     smb_client.c    which operations there are, whose turn it is, when one is over or too late
 *     smb_orders.c    what a request needs to be right, and which orders it takes, stage by stage
 *     smb_moves.c     carrying out one order, here or by a server, with the elements that it moves
 */
#ifndef EDDIS_SMB_SMB_CLIENT_H
#define EDDIS_SMB_SMB_CLIENT_H

#include "smb_impl.h"

/* One order of a stage. */
struct smb_part {
    struct smb_op *op;
    int stripe;
    bool remote, sent, answered, over;
    struct work work;
    struct chunk_window window; /* READ, WRITE; used when remote */
};

struct smb_op {
    struct smb_op *next;
    struct smb_request *r;   /* NULL: it timed out */
    struct smb_request what; /* as it was asked; data is NULL after a time-out */
    bool begun;
    int stage, rc;
    size_t element; /* bytes */
    int n_parts;
    int moving;             /* orders under way that move elements to or from servers */
    struct smb_part part[]; /* [n_servers] */
};

/* Borrow where a sentence about the operation goes; NULL: nobody reads it any more. */
static inline struct eddis_error *smb_op_error(struct smb_op *op)
{
    return op->r ? &op->r->error : NULL;
}

/* Return what a kind of request is called in sentences. */
const char *smb_orders_name(enum smb_kind kind);

/* Check a request and make the orders of its first stage.  Returns 0 when there are some, 1 when it
 * is over at once, or a failure of the request.
 */
int smb_orders_begin(struct smb *b, struct smb_op *op);

/* Make the orders of the next stage, after those of this one are carried out; n_parts is 0 when it
 * was the last.
 */
void smb_orders_next(struct smb *b, struct smb_op *op);

/* Write what the failure of an order means.  Returns op->rc. */
int smb_orders_explain(struct smb_op *op);

/* Forget what this rank is attached to. */
void smb_orders_fini(struct smb *b);

/* Go on with an order.  Sets over.  *budget: bytes that may still be moved in this turn. */
int smb_moves_turn(struct smb *b, struct smb_part *p, int64_t now_ns, size_t *budget,
                   struct outbox *out, struct eddis_error *err);

#endif
