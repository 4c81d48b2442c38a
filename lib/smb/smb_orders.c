/* SPDX-License-Identifier: Apache-2.0 */
/* smb_orders.c - check requests, and make the orders that carry them out */
#include "smb_client.h"
#include "stripe.h"

#include <errno.h>
#include <stdlib.h>

/* The name of each kind of request, for messages. */
static const char *const names[] = {
    [SMB_CREATE] = "creation", [SMB_ATTACH] = "attachment", [SMB_READ] = "read",
    [SMB_WRITE] = "write",     [SMB_NOTIFY] = "notice",     [SMB_ACCUMULATE] = "accumulate",
    [SMB_WAIT] = "wait",       [SMB_FETCH_ADD] = "count",   [SMB_DETACH] = "detachment",
};

/* Return the name of a buffer's element type, a constant, for messages. */
static const char *type_name(enum comm_type type)
{
    return type == COMM_FLOAT32 ? "float32" : type == COMM_FLOAT64 ? "float64" : "int64";
}

/* Return a key as the number that messages show. */
static unsigned long long key_number(smb_key key)
{
    return (unsigned long long)key.id;
}

const char *smb_orders_name(enum smb_kind kind)
{
    return names[kind];
}

int smb_orders_explain(struct smb_op *op)
{
    const struct smb_request *w = &op->what;

    if (op->rc == -ENOENT)
        return eddis_fail(smb_op_error(op), op->rc,
                          "no buffer has the key %llx: it was never made, or its last user has "
                          "left",
                          key_number(w->key));
    if (w->kind == SMB_CREATE && (op->rc == -ENOSPC || op->rc == -ENOMEM))
        return eddis_fail(smb_op_error(op), op->rc,
                          "no room for a buffer of %zu bytes: a server's memory is used up, or it "
                          "holds %d buffers already",
                          w->n * op->element, MEMORY_BUFFERS);
    return eddis_fail_errno(smb_op_error(op), op->rc, "%s of buffer %llx", names[op->r->kind],
                            key_number(w->key));
}

/* ---- users ---- */

/* Return this rank's attachment to the buffer of this key; NULL: this rank is not attached. */
static struct smb_user *user_find(const struct smb *b, smb_key key)
{
    struct smb_user *u = b->users;

    while (u && u->id != key.id)
        u = u->next;
    return u;
}

/* Record that this rank is attached once to the operation's buffer, of this type and length.
 * Return 0 or -ENOMEM.
 */
static int user_add(struct smb *b, struct smb_op *op, enum comm_type type, size_t n)
{
    struct smb_user *u = calloc(1, sizeof *u);

    if (!u)
        return eddis_fail(smb_op_error(op), -ENOMEM, "no memory for a buffer's description");
    *u = (struct smb_user){ b->users, op->what.key.id, type, n, 1 };
    b->users = u;
    return 0;
}

/* Remove attachment u from b's list and free it. */
static void user_remove(struct smb *b, const struct smb_user *u)
{
    for (struct smb_user **at = &b->users; *at; at = &(*at)->next)
        if (*at == u) {
            struct smb_user *gone = *at;

            *at = gone->next;
            free(gone);
            return;
        }
}

/* ---- orders ---- */

/* Append an order of this kind for a stripe to the operation, with the request's members.  It is
 * remote, and gets a number for its server, unless the stripe is in memory that this rank has
 * mapped.
 */
static void part_add(struct smb *b, struct smb_op *op, enum work_kind kind, int stripe)
{
    struct smb_part *p = &op->part[op->n_parts++];
    const struct smb_request *w = &op->what;

    *p = (struct smb_part){ .op = op, .stripe = stripe };
    p->remote = stripe != b->own || b->near != NEAR_MAPPED;
    p->work.order = (struct work_order){ .kind = kind,
                                         .rank = b->place.rank,
                                         .id = w->key.id,
                                         .source = w->source.id,
                                         .type = w->type,
                                         .n = w->n,
                                         .first = w->first,
                                         .count = w->count,
                                         .add = w->add,
                                         .version = w->version };
    p->work.order.seq = b->seq[stripe];
    b->seq[stripe] += p->remote;
}

/* Append an order for every stripe that holds some of the elements first .. first + count - 1 of a
 * buffer of n elements.  The first order that moves elements is to this node's stripe, or else to a
 * stripe chosen by rank, so that ranks begin with different servers.
 */
static void part_each(struct smb *b, struct smb_op *op, enum work_kind kind, size_t n, size_t first,
                      size_t count)
{
    bool moving = kind == WORK_READ || kind == WORK_WRITE;
    int begin = !moving ? 0 : b->own >= 0 ? b->own : b->place.rank % b->n_servers;

    for (int i = 0; i < b->n_servers; i++) {
        struct smb_part *p = &op->part[op->n_parts];
        int s = (begin + i) % b->n_servers;
        size_t low = stripe_first(n, b->n_servers, s), high = stripe_first(n, b->n_servers, s + 1);

        low = low > first ? low : first;
        high = high < first + count ? high : first + count;
        if (low >= high)
            continue;
        part_add(b, op, kind, s);
        p->work.order.first = low;
        p->work.order.count = high - low;
        if (moving)
            p->window = (struct chunk_window){ .peer = b->server[s],
                                               .seq = p->work.order.seq,
                                               .reading = kind == WORK_READ,
                                               .element = op->element,
                                               .count = high - low };
    }
}

/* ---- checks ---- */

/* Check range, type and memory of a read, write or fetch-add of the buffer that u describes.
 * Return 0, or -EINVAL with the reason in the request's error.
 */
static int check_elements(struct smb_op *op, const struct smb_user *u)
{
    const struct smb_request *w = &op->what;
    size_t count = w->kind == SMB_FETCH_ADD ? 1 : w->count;

    if (count > u->n || w->first > u->n - count)
        return eddis_fail(smb_op_error(op), -EINVAL,
                          "a %s of %zu elements from element %zu on, but buffer %llx has %zu",
                          names[w->kind], count, w->first, key_number(w->key), u->n);
    if (w->kind == SMB_FETCH_ADD && u->type != COMM_INT64)
        return eddis_fail(smb_op_error(op), -EINVAL,
                          "buffer %llx holds %s; only int64 can be used as a counter",
                          key_number(w->key), type_name(u->type));
    if (w->kind != SMB_FETCH_ADD && count && !w->data)
        return eddis_fail(smb_op_error(op), -EINVAL, "the memory of a %s is NULL", names[w->kind]);
    return 0;
}

/* Check the source of an accumulate into the buffer that u describes.  Return 0 if this rank is
 * attached to it, it is another buffer, and it has the same type and length; otherwise -EINVAL.
 */
static int check_source(struct smb *b, struct smb_op *op, const struct smb_user *u)
{
    const struct smb_user *s = user_find(b, op->what.source);

    if (!s)
        return eddis_fail(smb_op_error(op), -EINVAL,
                          "this worker is not attached to buffer %llx, the one to add",
                          key_number(op->what.source));
    if (s == u)
        return eddis_fail(smb_op_error(op), -EINVAL, "buffer %llx cannot be added to itself",
                          key_number(op->what.key));
    if (s->type != u->type || s->n != u->n)
        return eddis_fail(smb_op_error(op), -EINVAL,
                          "buffer %llx holds %zu %s and buffer %llx %zu %s; only buffers of the "
                          "same type and size can be added",
                          key_number(op->what.source), s->n, type_name(s->type),
                          key_number(op->what.key), u->n, type_name(u->type));
    return 0;
}

/* Check type and length of a buffer that is to be created.  Return 0, or -EINVAL if they are not
 * allowed.
 */
static int check_create(struct smb_op *op)
{
    const struct smb_request *w = &op->what;

    if (w->type != COMM_FLOAT32 && w->type != COMM_FLOAT64 && w->type != COMM_INT64)
        return eddis_fail(smb_op_error(op), -EINVAL,
                          "a buffer cannot hold type %d, only float32, float64 and int64", w->type);
    if (w->n < 1 || w->n > (size_t)1 << 44)
        return eddis_fail(smb_op_error(op), -EINVAL, "a buffer cannot have %zu elements", w->n);
    return 0;
}

/* ---- stages ---- */

/* Make the orders that create a buffer's stripes; stripe 0 counts its users, at first this rank. */
static void begin_create(struct smb *b, struct smb_op *op)
{
    size_t n = op->what.n;

    op->element = comm_type_bytes(op->what.type);
    part_each(b, op, WORK_CREATE, n, 0, n);
    op->part[0].work.order.users = 1;
}

/* Make the orders of a read, write or accumulate.  Stripe 0 counts notices.  So if a write or
 * accumulate needs only stripe 0, its order also gives the notice; else next_data makes the order.
 */
static void begin_data(struct smb *b, struct smb_op *op, const struct smb_user *u)
{
    const struct smb_request *w = &op->what;

    op->element = comm_type_bytes(u->type);
    if (w->kind == SMB_ACCUMULATE)
        part_each(b, op, WORK_ACCUMULATE, u->n, 0, u->n);
    else
        part_each(b, op, w->kind == SMB_READ ? WORK_READ : WORK_WRITE, u->n, w->first, w->count);
    if (w->kind != SMB_READ && op->n_parts == 1 && op->part[0].stripe == 0)
        op->part[0].work.order.notify = 1;
}

/* Subtract 1 from this rank's number of attachments to u.  If none is left, fill in op as the order
 * to detach, which the caller then sends, and return 0; otherwise return 1: the request is done.
 */
static int begin_detach(struct smb *b, struct smb_op *op, struct smb_user *u)
{
    op->what.n = u->n;
    op->what.type = u->type;
    if (--u->count)
        return 1;
    user_remove(b, u);
    part_add(b, op, WORK_DETACH, 0);
    return 0;
}

/* If u is NULL, this rank is not attached: make the order to attach and return 0.  Otherwise count
 * one more attachment, store type and length in the request and return 1: the request is done.
 */
static int begin_attach(struct smb *b, struct smb_op *op, struct smb_user *u)
{
    if (!u) {
        part_add(b, op, WORK_ATTACH, 0);
        return 0;
    }
    u->count++;
    op->r->type = u->type;
    op->r->n = u->n;
    return 1;
}

int smb_orders_begin(struct smb *b, struct smb_op *op)
{
    struct smb_user *u = user_find(b, op->what.key);
    int rc = 0;

    if (op->what.kind == SMB_CREATE) {
        rc = check_create(op);
        if (rc == 0)
            begin_create(b, op);
        return rc;
    }
    if (op->what.kind == SMB_ATTACH)
        return begin_attach(b, op, u);
    if (!u)
        return eddis_fail(smb_op_error(op), -EINVAL,
                          "a %s of buffer %llx, which this worker is not attached to",
                          names[op->what.kind], key_number(op->what.key));
    switch (op->what.kind) {
    case SMB_DETACH:
        return begin_detach(b, op, u);
    case SMB_ACCUMULATE:
        rc = check_source(b, op, u);
        if (rc == 0)
            begin_data(b, op, u);
        return rc;
    case SMB_READ:
    case SMB_WRITE:
        rc = check_elements(op, u);
        if (rc == 0)
            begin_data(b, op, u);
        return rc < 0 ? rc : op->n_parts == 0;
    case SMB_FETCH_ADD:
        rc = check_elements(op, u);
        if (rc == 0)
            part_add(b, op, WORK_FETCH_ADD, stripe_of(u->n, b->n_servers, op->what.first));
        return rc;
    default:
        part_add(b, op, op->what.kind == SMB_WAIT ? WORK_WAIT : WORK_NOTIFY, 0);
        return 0;
    }
}

/* Replace the operation's orders to create stripes by orders to free the stripes that were created.
 * For a creation that failed for some stripe or whose request timed out.
 */
static void next_undo(struct smb *b, struct smb_op *op)
{
    int n = op->n_parts;

    op->n_parts = 0;
    for (int i = 0; i < n; i++) /* part i is read before it can be overwritten */
        if (op->part[i].work.result.rc == 0)
            part_add(b, op, WORK_FREE, op->part[i].stripe);
}

/* After the orders to create stripes: record the attachment to the buffer and make no more orders.
 * If the creation failed or its request timed out, make the orders that undo it.
 */
static void next_create(struct smb *b, struct smb_op *op)
{
    if (op->rc == 0 && op->r)
        op->rc = user_add(b, op, op->what.type, op->what.n);
    if (op->rc < 0 || !op->r)
        next_undo(b, op);
    else
        op->n_parts = 0;
}

/* After the order to attach: record the attachment, and store the buffer's type and length in the
 * request.  If the request timed out or there is no memory, make the order to detach again.
 */
static void next_attach(struct smb *b, struct smb_op *op)
{
    const struct work_result got = op->part[0].work.result;

    op->n_parts = 0;
    if (op->rc < 0)
        return;
    op->what.type = (enum comm_type)got.type;
    op->what.n = got.n;
    if (op->r)
        op->rc = user_add(b, op, op->what.type, got.n);
    if (op->r && op->rc == 0) {
        op->r->type = op->what.type;
        op->r->n = got.n;
        return;
    }
    op->what.kind = SMB_DETACH;
    op->stage = 0;
    part_add(b, op, WORK_DETACH, 0);
}

/* After the order to detach: if this rank was the buffer's last user, make the orders that free its
 * stripes.  The order's own result decides: op->rc may be the failure that next_attach undoes.
 */
static void next_detach(struct smb *b, struct smb_op *op)
{
    const struct work_result got = op->part[0].work.result;

    op->n_parts = 0;
    if (got.rc == 0 && got.last)
        part_each(b, op, WORK_FREE, op->what.n, 0, op->what.n);
}

/* After the orders of a write or accumulate: make the order to give the notice, unless the only
 * order has given it.  There is no notice before all stripes are done, nor after a failure.
 */
static void next_data(struct smb *b, struct smb_op *op)
{
    bool notified = op->n_parts == 1 && op->part[0].stripe == 0;

    op->n_parts = 0;
    if (op->rc == 0 && !notified)
        part_add(b, op, WORK_NOTIFY, 0);
}

/* After the last order of the request: copy the result of a fetch-add, wait or notice to the
 * request.
 */
static void next_values(struct smb_op *op)
{
    const struct work_result *got = &op->part[0].work.result;

    if (op->r && op->what.kind == SMB_FETCH_ADD)
        op->r->value = got->before;
    else if (op->r && (op->what.kind == SMB_WAIT || op->what.kind == SMB_NOTIFY))
        op->r->version = got->version;
    op->n_parts = 0;
}

void smb_orders_next(struct smb *b, struct smb_op *op)
{
    for (int i = 0; i < op->n_parts && op->stage == 0 && op->rc == 0; i++)
        op->rc = op->part[i].work.result.rc;
    if (op->stage++ > 0) {
        op->n_parts = 0;
        return;
    }
    switch (op->what.kind) {
    case SMB_CREATE:
        next_create(b, op);
        break;
    case SMB_ATTACH:
        next_attach(b, op);
        break;
    case SMB_DETACH:
        next_detach(b, op);
        break;
    case SMB_WRITE:
    case SMB_ACCUMULATE:
        next_data(b, op);
        break;
    default:
        next_values(op);
    }
}

void smb_orders_fini(struct smb *b)
{
    while (b->users)
        user_remove(b, b->users);
}
