/* SPDX-License-Identifier: Apache-2.0 */
/* smb_moves.c - carry out one order of this rank: in this node's memory, or by a server
 *
 * An order to a server that moves elements is sent as soon as it may be under way.  Its chunks
 * follow, a few at a time.  An answer reports its end; answers come in any order.
 */
#include "smb_client.h"

#include <errno.h>
#include <string.h>

/* Return the address of element `at` of the part in the request's data; NULL: the request timed
 * out.
 */
static char *part_data(const struct smb_part *p, size_t at)
{
    const struct smb_request *w = &p->op->what;

    return w->data ? (char *)w->data + (p->work.order.first - w->first + at) * p->op->element
                   : NULL;
}

/* Count a chunk that was sent or received, and free message m.  If it was received and the request
 * has not timed out, first copy its elements to the request's data.  The `done` function of m.
 * Return 0.
 */
static int piece_done(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err)
{
    struct smb_part *p = m->who;
    char *to = part_data(p, m->at);

    if (to && p->window.reading)
        memcpy(to, chunk_window_elements(&p->window, m), m->n * p->window.element);
    chunk_window_moved(b, &p->window, m);
    return 0;
}

/* Copy a chunk's elements from the request's data into message m.  If the request timed out, fill m
 * with zeros, mark it as abandoned and let the operation end with -ECANCELED.
 */
static void piece_fill(struct smb_part *p, const struct message *m)
{
    size_t bytes = m->n * p->window.element;
    const char *from = part_data(p, m->at);
    void *to = chunk_window_elements(&p->window, m);

    if (from) {
        memcpy(to, from, bytes);
        return;
    }
    chunk_window_head(m)->abandoned = 1;
    memset(to, 0, bytes);
    p->op->rc = -ECANCELED;
}

/* Post the send or the receive of the part's next chunk.  Return 0 or -ENOMEM. */
static int part_post(struct smb *b, struct smb_part *p, struct outbox *out, struct eddis_error *err)
{
    struct message *m = chunk_window_next(b, &p->window);

    if (!m)
        return message_no_memory(err);
    m->who = p;
    m->done = piece_done;
    if (!p->window.reading)
        piece_fill(p, m);
    chunk_window_post(b, &p->window, p->window.reading ? COMM_RECEIVE : COMM_SEND, m, out);
    return 0;
}

/* Store the answer in message m as the result of the order that has its number.  This need not be
 * the order that was sent when the receive of m was posted.  -EPROTO: no order has this number.
 * The `done` function of m.
 */
static int part_answered(struct smb *b, struct message *m, struct outbox *out,
                         struct eddis_error *err)
{
    struct work_result result;
    int stripe = (int)m->n;

    memcpy(&result, m->data, sizeof result);
    message_free(b, m);
    for (struct smb_op *op = b->first; op; op = op->next)
        for (int i = 0; i < op->n_parts; i++) {
            struct smb_part *p = &op->part[i];

            if (!p->remote || p->answered || p->stripe != stripe || p->work.order.seq != result.seq)
                continue;
            p->work.result = result;
            p->answered = true;
            return 0;
        }
    return eddis_fail(err, -EPROTO, "rank %d answers request %u, which was not sent to it",
                      b->server[stripe], result.seq);
}

/* Send the part's order to its server, and post the receive of one more answer of that server.
 * Return 0 or -ENOMEM.
 */
static int part_send(struct smb *b, struct smb_part *p, struct outbox *out, struct eddis_error *err)
{
    struct message *m = message_new(b, sizeof(struct work_result));
    int peer = b->server[p->stripe];

    if (!m)
        return message_no_memory(err);
    m->n = (size_t)p->stripe;
    m->done = part_answered;
    message_post(b, COMM_RECEIVE, peer, SMB_TAG_ANSWER, m, sizeof(struct work_result), out);
    return message_send(b, peer, SMB_TAG_ORDER, &p->work.order, sizeof p->work.order, out, err);
}

/* Continue an order to a server: send it, unless it moves elements and SMB_ORDERS such orders of
 * the operation are under way, and post the chunks that have room.  Set p->over once it is answered
 * and all its elements are in place.  Return 0 or a failure of the box.
 */
static int part_turn_remote(struct smb *b, struct smb_part *p, struct outbox *out,
                            struct eddis_error *err)
{
    bool moving = p->window.count > 0;
    int rc = 0;

    if (!p->sent) {
        if (moving && p->op->moving == SMB_ORDERS)
            return 0;
        p->sent = true;
        p->op->moving += moving;
        rc = part_send(b, p, out, err);
    }
    while (rc == 0 && chunk_window_has_room(&p->window))
        rc = part_post(b, p, out, err);
    p->over = p->answered && chunk_window_over(&p->window);
    p->op->moving -= p->over && moving;
    return rc;
}

int smb_moves_turn(struct smb *b, struct smb_part *p, int64_t now_ns, size_t *budget,
                   struct outbox *out, struct eddis_error *err)
{
    bool moving = p->window.count > 0;

    if (moving && !p->op->what.data && !p->sent) { /* the request timed out before this order */
        p->over = true;
        p->op->rc = -ECANCELED;
        return 0;
    }
    if (p->remote)
        return part_turn_remote(b, p, out, err);
    p->over = work_turn(&p->work, b->memory, moving ? part_data(p, 0) : NULL, now_ns, budget);
    return 0;
}
