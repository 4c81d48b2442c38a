/* SPDX-License-Identifier: Apache-2.0 */
/* smb_client.c - this rank's requests: their order, turns and ends
 *
 * An order to a stripe in this node's memory is carried out here; any other is sent to its server.
 * Of those that move elements only a few are under way at a time.  An operation that timed out
 * continues without its request: its messages are under way, and later ones wait for it.
 */
#include "smb_client.h"

#include <errno.h>
#include <stdlib.h>

/* End the operation's request with result rc and add it to the list of smb_take_done, unless
 * smb_client_start returns it.  Do nothing if it has ended already.  The operation may continue
 * without its request and without the request's data.
 */
static void op_report(struct smb *b, struct smb_op *op, int rc)
{
    struct smb_request *r = op->r;

    op->r = NULL;
    op->what.data = NULL;
    if (!r)
        return;
    if (rc < 0 && r->kind == SMB_CREATE)
        r->key.id = 0;
    r->rc = rc;
    r->done = true;
    r->next = NULL;
    if (r == b->starting)
        return;
    *b->done_last = r;
    b->done_last = &r->next;
}

/* Check whether an operation uses the buffer of this key, as its buffer or as the source of an
 * accumulate.
 */
static bool op_touches(const struct smb_op *op, smb_key key)
{
    return key.id && (op->what.key.id == key.id ||
                      (op->what.kind == SMB_ACCUMULATE && op->what.source.id == key.id));
}

/* Check whether op may not begin yet: this rank has not opened its node's memory, or an earlier
 * operation uses one of op's buffers.  An earlier wait for notices does not block op.
 */
static bool op_blocked(const struct smb *b, const struct smb_op *op)
{
    if (b->near == NEAR_UNKNOWN)
        return true;
    for (const struct smb_op *o = b->first; o != op; o = o->next)
        if (o->what.kind != SMB_WAIT &&
            (op_touches(o, op->what.key) ||
             (op->what.kind == SMB_ACCUMULATE && op_touches(o, op->what.source))))
            return true;
    return false;
}

/* Continue an operation: begin it if it is not blocked, continue its orders, and make the orders of
 * the next stage when all are carried out.  Return 1 once the operation is done and its request has
 * ended, 0 if not, or a failure of the box.
 */
static int op_turn(struct smb *b, struct smb_op *op, int64_t now_ns, size_t *budget,
                   struct outbox *out, struct eddis_error *err)
{
    int rc = 0;

    if (!op->begun) {
        if (op_blocked(b, op))
            return 0;
        op->begun = true;
        rc = smb_orders_begin(b, op);
        if (rc != 0) {
            op_report(b, op, rc < 0 ? rc : 0);
            return 1;
        }
    }
    for (;;) {
        bool over = true;

        for (int i = 0; i < op->n_parts && rc >= 0; i++) {
            struct smb_part *p = &op->part[i];

            if (!p->over)
                rc = smb_moves_turn(b, p, now_ns, budget, out, err);
            over &= p->over;
        }
        if (rc < 0 || !over)
            return rc;
        smb_orders_next(b, op);
        if (!op->n_parts)
            break;
    }
    op_report(b, op, op->rc < 0 && op->r ? smb_orders_explain(op) : op->rc);
    return 1;
}

/* Return the rank of the first server that has not carried out its order of op; -1: none. */
static int op_peer(const struct smb *b, const struct smb_op *op)
{
    for (int i = 0; i < op->n_parts; i++)
        if (op->part[i].remote && !op->part[i].over)
            return b->server[op->part[i].stripe];
    return -1;
}

/* End the operation's request with -ETIMEDOUT and a message that says what it waits for.  If it is
 * a wait for notices at a server, send the server a cancellation; other orders under way continue.
 * Return 0 or a failure of the box.
 */
static int op_time_out(struct smb *b, struct smb_op *op, struct outbox *out,
                       struct eddis_error *err)
{
    const struct smb_request *w = &op->what;
    unsigned long long key = (unsigned long long)w->key.id;
    struct smb_part *p = &op->part[0];
    int peer = op_peer(b, op), rc = 0;
    struct work_order cancel;

    if (b->near == NEAR_UNKNOWN)
        eddis_fail(smb_op_error(op), -ETIMEDOUT,
                   "%s: rank %d has not opened the Soft Memory Box of this node yet",
                   smb_orders_name(w->kind), b->server[b->own]);
    else if (w->kind == SMB_WAIT)
        eddis_fail(smb_op_error(op), -ETIMEDOUT, "no notice of buffer %llx after number %llu", key,
                   (unsigned long long)w->version);
    else if (peer >= 0)
        eddis_fail(smb_op_error(op), -ETIMEDOUT, "%s of buffer %llx still waits for rank %d",
                   smb_orders_name(w->kind), key, peer);
    else
        eddis_fail(smb_op_error(op), -ETIMEDOUT,
                   "%s of buffer %llx still waits for earlier ones in this node's memory",
                   smb_orders_name(w->kind), key);
    if (w->kind == SMB_WAIT && op->begun && p->remote && !p->over) {
        cancel = p->work.order;
        cancel.kind = WORK_CANCEL;
        rc = message_send(b, b->server[p->stripe], SMB_TAG_ORDER, &cancel, sizeof cancel, out, err);
    }
    op_report(b, op, -ETIMEDOUT);
    return rc;
}

/* Check whether a timed-out operation can be freed now, because no order of it is under way: it has
 * not begun, or is a wait for notices in this node's memory.
 */
static bool op_droppable(const struct smb_op *op)
{
    return !op->begun || (op->what.kind == SMB_WAIT && !op->part[0].remote);
}

int smb_client_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    size_t budget = SMB_TURN;
    int over = 0;

    for (struct smb_op **at = &b->first; *at;) {
        struct smb_op *op = *at;
        int rc = op_turn(b, op, now_ns, &budget, out, err);

        if (rc == 0 && op->r && now_ns >= op->what.deadline_ns) {
            rc = op_time_out(b, op, out, err);
            if (rc == 0 && op_droppable(op))
                rc = 1;
        }
        if (rc < 0)
            return rc;
        if (rc == 0) {
            at = &op->next;
            continue;
        }
        over = 1;
        *at = op->next;
        if (b->last == &op->next)
            b->last = at;
        free(op);
    }
    return over || budget < SMB_TURN;
}

int smb_client_start(struct smb *b, struct smb_request *r, int64_t now_ns, struct outbox *out,
                     struct eddis_error *err)
{
    struct smb_op *op = calloc(1, sizeof *op + (size_t)b->n_servers * sizeof op->part[0]);
    int rc;

    if (!op)
        return eddis_fail(err, -ENOMEM, "no memory for a request to the Soft Memory Box");
    r->done = false;
    r->rc = 0;
    r->error.code = 0;
    r->error.text[0] = '\0';
    if (r->kind == SMB_CREATE)
        r->key.id = ((uint64_t)b->place.rank + 1) << 40 | ++b->made;
    op->r = r;
    op->what = *r;
    *b->last = op;
    b->last = &op->next;
    b->starting = r;
    rc = smb_client_poll(b, now_ns, out, err);
    b->starting = NULL;
    return rc < 0 ? rc : r->done;
}

bool smb_client_awaits_memory(const struct smb *b)
{
    for (const struct smb_op *op = b->first; op; op = op->next)
        for (int i = 0; i < op->n_parts; i++)
            if (!op->part[i].remote && !op->part[i].over)
                return true;
    return false;
}

int smb_client_waits_for(const struct smb *b, const struct smb_request *r)
{
    for (const struct smb_op *op = b->first; op; op = op->next)
        if (op->r == r && op->what.kind != SMB_WAIT)
            return b->near == NEAR_UNKNOWN ? b->server[b->own] : op_peer(b, op);
    return -1;
}

void smb_client_fini(struct smb *b)
{
    while (b->first) {
        struct smb_op *op = b->first;

        b->first = op->next;
        free(op);
    }
    smb_orders_fini(b);
}
