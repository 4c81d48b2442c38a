/* SPDX-License-Identifier: Apache-2.0 */
/* smb_moves.c - carry out one order of this rank: in this node's memory, or by a server
 *
 * An order to a server that moves elements is sent as soon as it may be under way.  Its chunks
 * follow, a few at a time.  An answer reports its end; answers come in any order.
 */
#include "smb_client.h"

#include <errno.h>
#include <string.h>

/* Return the address in the request's data of this element of the part; NULL: the request timed
 * out.
 */
static char *part_data(const struct smb_part *p, size_t at)
{
    const struct smb_request *w = &p->op->what;

    return w->data ? (char *)w->data + (p->work.order.first - w->first + at) * p->op->element
                   : NULL;
}

/* Copy a received chunk to the request's data and count the chunk; a message's `done`. */
static int piece_done(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err)
{
    struct smb_part *p = m->who;
    char *to = part_data(p, m->at);

    if (to && p->window.reading)
        memcpy(to, chunk_window_elements(&p->window, m), m->n * p->window.element);
    chunk_window_moved(b, &p->window, m);
    return 0;
}

/* Copy a chunk's elements into its message.  If the request timed out, send zeros marked as
 * abandoned.
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

/* Post the next chunk of the part. */
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

/* Give an answer to the order it belongs to, which may not be the one sent with this receive; a
 * message's `done`.  -EPROTO: no such order.
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

/* Send the part's order, and post the receive of an answer. */
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

/* Continue an order to a server: send it as soon as it may be under way, and post chunks. */
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

    if (moving && !p->op->what.data && !p->sent) { /* timed out before it was sent */
        p->over = true;
        p->op->rc = -ECANCELED;
        return 0;
    }
    if (p->remote)
        return part_turn_remote(b, p, out, err);
    p->over = work_turn(&p->work, b->memory, moving ? part_data(p, 0) : NULL, now_ns, budget);
    return 0;
}
