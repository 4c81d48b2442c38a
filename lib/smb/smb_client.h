/* SPDX-License-Identifier: Apache-2.0 */
/* smb_client.h - an operation of this rank, shared by the files that carry it out
 *
 * A request becomes an operation of one or two stages; a stage has one order for each stripe.
 *
 *     smb_client.c    the operations: their order, turns, endings and timeouts
 *     smb_orders.c    check a request, and make its orders, stage by stage
 *     smb_moves.c     carry out one order, here or by a server, and move its elements
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
    struct chunk_window window; /* chunks of READ and WRITE; used if `remote` */
};

struct smb_op {
    struct smb_op *next;
    struct smb_request *r;   /* NULL: the request timed out */
    struct smb_request what; /* copy of the request; data is NULL after a timeout */
    bool begun;
    int stage, rc;
    size_t element; /* bytes of one element */
    int n_parts;
    int moving;             /* number of orders under way that move elements to or from servers */
    struct smb_part part[]; /* [n_servers] */
};

/* Borrow the error of the operation's request; NULL: the request timed out, and nobody reads its
 * error.
 */
static inline struct eddis_error *smb_op_error(struct smb_op *op)
{
    return op->r ? &op->r->error : NULL;
}

/* Return the name of a kind of request for messages; a static string. */
const char *smb_orders_name(enum smb_kind kind);

/* Check a request and make the orders of its first stage.  Return 0 if there are orders, 1 if the
 * request is done without orders, or a failure of the request.
 */
int smb_orders_begin(struct smb *b, struct smb_op *op);

/* Make the orders of the next stage, after all orders of the present stage were carried out; set
 * op->n_parts to 0 if there is no further stage.
 */
void smb_orders_next(struct smb *b, struct smb_op *op);

/* Write the error for a failed order.  Return op->rc. */
int smb_orders_explain(struct smb_op *op);

/* Free the list of buffers that this rank is attached to. */
void smb_orders_fini(struct smb *b);

/* Continue an order; set p->over when it is done.  *budget: bytes that may still be moved in this
 * turn.  Return 0 or a failure of the box; that of the order itself is stored in p.
 */
int smb_moves_turn(struct smb *b, struct smb_part *p, int64_t now_ns, size_t *budget,
                   struct outbox *out, struct eddis_error *err);

#endif
