/* SPDX-License-Identifier: Apache-2.0 */
/* smb_client.c - this rank's requests
 *
 * A request is an operation of one or two stages; a stage is one order a stripe.  An order to a
 * stripe in this node's memory is carried out here, another is sent; of those that move elements
 * a few are under way at a time.  An operation that timed out goes on without its request, since
 * its messages are under way and its order holds for others.
 */
#include "smb_impl.h"
#include "stripe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One order of a stage. */
struct part {
    struct op *op;
    int stripe;
    bool remote, sent, answered, over;
    struct work work;
    struct chunk_window window; /* READ, WRITE; used when remote */
};

struct op {
    struct op *next;
    struct smb_request *r;   /* NULL: it timed out */
    struct smb_request what; /* as it was asked; data is NULL after a time-out */
    bool begun, cancelled;
    int stage, rc;
    size_t element; /* bytes */
    int n_parts;
    int moving;         /* orders under way that move elements to or from servers */
    struct part part[]; /* [n_servers] */
};

static const char *const names[] = {
    [SMB_CREATE] = "creation", [SMB_ATTACH] = "attachment", [SMB_READ] = "read",
    [SMB_WRITE] = "write",     [SMB_NOTIFY] = "notice",     [SMB_ACCUMULATE] = "accumulate",
    [SMB_WAIT] = "wait",       [SMB_FETCH_ADD] = "count",   [SMB_DETACH] = "detachment",
};

static const char *type_name(enum comm_type type)
{
    return type == COMM_FLOAT32 ? "float32" : type == COMM_FLOAT64 ? "float64" : "int64";
}

static unsigned long long key_number(smb_key key)
{
    return (unsigned long long)key.id;
}

/* ---- ends ---- */

/* Give the request back; the operation itself may go on. */
static void op_report(struct smb *b, struct op *op, int rc)
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

static struct eddis_error *op_error(struct op *op)
{
    return op->r ? &op->r->error : NULL;
}

/* What an order's failure means. */
static int op_explain(struct op *op)
{
    const struct smb_request *w = &op->what;

    if (op->rc == -ENOENT)
        return eddis_fail(op_error(op), op->rc,
                          "no buffer has the key %llx: it was never made, or its last user has "
                          "left",
                          key_number(w->key));
    if (w->kind == SMB_CREATE && (op->rc == -ENOSPC || op->rc == -ENOMEM))
        return eddis_fail(op_error(op), op->rc,
                          "no room for a buffer of %zu bytes: a server's memory is used up, or it "
                          "holds %d buffers already",
                          w->n * op->element, MEMORY_BUFFERS);
    return eddis_fail_errno(op_error(op), op->rc, "%s of buffer %llx", names[w->kind],
                            key_number(w->key));
}

/* ---- users ---- */

static struct smb_user *user_find(const struct smb *b, smb_key key)
{
    struct smb_user *u = b->users;

    while (u && u->id != key.id)
        u = u->next;
    return u;
}

static int user_add(struct smb *b, struct op *op, enum comm_type type, size_t n)
{
    struct smb_user *u = calloc(1, sizeof *u);

    if (!u)
        return eddis_fail(op_error(op), -ENOMEM, "no memory for a buffer's description");
    *u = (struct smb_user){ b->users, op->what.key.id, type, n, 1 };
    b->users = u;
    return 0;
}

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

static void part_add(struct smb *b, struct op *op, enum work_kind kind, int stripe)
{
    struct part *p = &op->part[op->n_parts++];
    const struct smb_request *w = &op->what;

    *p = (struct part){ .op = op, .stripe = stripe };
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

/* Every stripe that holds some of the elements first .. first + count - 1 of n; beginning, for
 * what moves elements, with this node's, or with one chosen by rank if it has none, so that not all
 * ranks ask the same server first.
 */
static void part_each(struct smb *b, struct op *op, enum work_kind kind, size_t n, size_t first,
                      size_t count)
{
    bool moving = kind == WORK_READ || kind == WORK_WRITE;
    int begin = !moving ? 0 : b->own >= 0 ? b->own : b->place.rank % b->n_servers;

    for (int i = 0; i < b->n_servers; i++) {
        struct part *p = &op->part[op->n_parts];
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

/* This rank's memory of the part's element. */
static char *part_data(const struct part *p, size_t at)
{
    const struct smb_request *w = &p->op->what;

    return w->data ? (char *)w->data + (p->work.order.first - w->first + at) * p->op->element
                   : NULL;
}

static int piece_done(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err)
{
    struct part *p = m->who;
    char *to = part_data(p, m->at);

    (void)out;
    (void)err;
    if (to && p->window.reading)
        memcpy(to, chunk_window_elements(&p->window, m), m->n * p->window.element);
    chunk_window_moved(b, &p->window, m);
    return 0;
}

/* Copy what is to be written, or say that it is gone. */
static void piece_fill(struct part *p, const struct message *m)
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

static int part_post(struct smb *b, struct part *p, struct outbox *out, struct eddis_error *err)
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

/* An answer: it may be another order's than the one that was sent with the receive. */
static int part_answered(struct smb *b, struct message *m, struct outbox *out,
                         struct eddis_error *err)
{
    struct work_result result;
    int stripe = (int)m->n;

    (void)out;
    memcpy(&result, m->data, sizeof result);
    message_free(b, m);
    for (struct op *op = b->first; op; op = op->next)
        for (int i = 0; i < op->n_parts; i++) {
            struct part *p = &op->part[i];

            if (!p->remote || p->answered || p->stripe != stripe || p->work.order.seq != result.seq)
                continue;
            p->work.result = result;
            p->answered = true;
            return 0;
        }
    return eddis_fail(err, -EPROTO, "rank %d answers order %u, which it was not asked",
                      b->server[stripe], result.seq);
}

static int part_send(struct smb *b, struct part *p, struct outbox *out, struct eddis_error *err)
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

/* Go on with an order to a server: send it, as soon as it may be under way; post pieces. */
static int part_turn_remote(struct smb *b, struct part *p, struct outbox *out,
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

/* Go on with an order.  Sets over. */
static int part_turn(struct smb *b, struct part *p, int64_t now_ns, size_t *budget,
                     struct outbox *out, struct eddis_error *err)
{
    bool moving = p->window.count > 0;

    if (moving && !p->op->what.data && !p->sent) { /* given up, and not sent */
        p->over = true;
        p->op->rc = -ECANCELED;
        return 0;
    }
    if (p->remote)
        return part_turn_remote(b, p, out, err);
    p->over = work_turn(&p->work, b->memory, moving ? part_data(p, 0) : NULL, now_ns, budget);
    return 0;
}

/* ---- what a request needs to be right ---- */

static int check_elements(struct op *op, const struct smb_user *u)
{
    const struct smb_request *w = &op->what;
    size_t count = w->kind == SMB_FETCH_ADD ? 1 : w->count;

    if (count > u->n || w->first > u->n - count)
        return eddis_fail(op_error(op), -EINVAL,
                          "a %s of %zu elements from element %zu on, but buffer %llx has %zu",
                          names[w->kind], count, w->first, key_number(w->key), u->n);
    if (w->kind == SMB_FETCH_ADD && u->type != COMM_INT64)
        return eddis_fail(op_error(op), -EINVAL,
                          "buffer %llx holds %s; only int64 can be counted with",
                          key_number(w->key), type_name(u->type));
    if (w->kind != SMB_FETCH_ADD && count && !w->data)
        return eddis_fail(op_error(op), -EINVAL, "the memory of a %s is NULL", names[w->kind]);
    return 0;
}

static int check_source(struct smb *b, struct op *op, const struct smb_user *u)
{
    const struct smb_user *s = user_find(b, op->what.source);

    if (!s)
        return eddis_fail(op_error(op), -EINVAL,
                          "this worker is not attached to buffer %llx, which is to be added",
                          key_number(op->what.source));
    if (s == u)
        return eddis_fail(op_error(op), -EINVAL, "buffer %llx cannot be added to itself",
                          key_number(op->what.key));
    if (s->type != u->type || s->n != u->n)
        return eddis_fail(op_error(op), -EINVAL,
                          "buffer %llx holds %zu %s and buffer %llx %zu %s; only like ones can be "
                          "added",
                          key_number(op->what.source), s->n, type_name(s->type),
                          key_number(op->what.key), u->n, type_name(u->type));
    return 0;
}

static int check_create(struct op *op)
{
    const struct smb_request *w = &op->what;

    if (w->type != COMM_FLOAT32 && w->type != COMM_FLOAT64 && w->type != COMM_INT64)
        return eddis_fail(op_error(op), -EINVAL,
                          "a buffer cannot hold type %d, only float32, float64 and int64", w->type);
    if (w->n < 1 || w->n > (size_t)1 << 44)
        return eddis_fail(op_error(op), -EINVAL, "a buffer cannot have %zu elements", w->n);
    return 0;
}

/* ---- stages ---- */

static void begin_create(struct smb *b, struct op *op)
{
    size_t n = op->what.n;

    op->element = comm_type_bytes(op->what.type);
    part_each(b, op, WORK_CREATE, n, 0, n);
    op->part[0].work.order.users = 1;
}

/* Data is wanted: all in one place gives the notice along with it. */
static void begin_data(struct smb *b, struct op *op, const struct smb_user *u)
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

/* Returns 0 when there are orders, 1 when it is over at once, or a failure of the request. */
static int begin_detach(struct smb *b, struct op *op, struct smb_user *u)
{
    op->what.n = u->n;
    op->what.type = u->type;
    if (--u->count)
        return 1;
    user_remove(b, u);
    part_add(b, op, WORK_DETACH, 0);
    return 0;
}

static int begin_attach(struct smb *b, struct op *op, struct smb_user *u)
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

static int op_orders(struct smb *b, struct op *op)
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
        return eddis_fail(op_error(op), -EINVAL,
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

/* A buffer that could not be made, or that nobody waits for any more, is freed where it was made.
 */
static void next_undo(struct smb *b, struct op *op)
{
    int n = op->n_parts;

    op->n_parts = 0;
    for (int i = 0; i < n; i++) /* the i-th is read before it can be written over */
        if (op->part[i].work.result.rc == 0)
            part_add(b, op, WORK_FREE, op->part[i].stripe);
}

static void next_create(struct smb *b, struct op *op)
{
    if (op->rc == 0 && op->r)
        op->rc = user_add(b, op, op->what.type, op->what.n);
    if (op->rc < 0 || !op->r)
        next_undo(b, op);
    else
        op->n_parts = 0;
}

/* One that timed out is taken back. */
static void next_attach(struct smb *b, struct op *op)
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

static void next_detach(struct smb *b, struct op *op)
{
    bool last = op->part[0].work.result.last;

    op->n_parts = 0;
    if (op->rc == 0 && last)
        part_each(b, op, WORK_FREE, op->what.n, 0, op->what.n);
}

/* Only now, when all stripes are done, may others be told; never of data that did not leave. */
static void next_data(struct smb *b, struct op *op)
{
    bool told = op->n_parts == 1 && op->part[0].stripe == 0;

    op->n_parts = 0;
    if (op->rc == 0 && !told)
        part_add(b, op, WORK_NOTIFY, 0);
}

static void next_values(struct op *op)
{
    const struct work_result *got = &op->part[0].work.result;

    if (op->r && op->what.kind == SMB_FETCH_ADD)
        op->r->value = got->before;
    else if (op->r && (op->what.kind == SMB_WAIT || op->what.kind == SMB_NOTIFY))
        op->r->version = got->version;
    op->n_parts = 0;
}

/* The orders of a stage are carried out: make those of the next; none when it was the last. */
static void op_next(struct smb *b, struct op *op)
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

/* ---- the list of operations ---- */

static bool op_touches(const struct op *op, smb_key key)
{
    return key.id && (op->what.key.id == key.id ||
                      (op->what.kind == SMB_ACCUMULATE && op->what.source.id == key.id));
}

/* Whether an earlier one has to be over first.  Waits for notices let others pass. */
static bool op_blocked(const struct smb *b, const struct op *op)
{
    if (b->near == NEAR_UNKNOWN)
        return true;
    for (const struct op *o = b->first; o != op; o = o->next)
        if (o->what.kind != SMB_WAIT &&
            (op_touches(o, op->what.key) ||
             (op->what.kind == SMB_ACCUMULATE && op_touches(o, op->what.source))))
            return true;
    return false;
}

/* Returns 1 when the operation is over. */
static int op_turn(struct smb *b, struct op *op, int64_t now_ns, size_t *budget, struct outbox *out,
                   struct eddis_error *err)
{
    int rc = 0;

    if (!op->begun) {
        if (op_blocked(b, op))
            return 0;
        op->begun = true;
        rc = op_orders(b, op);
        if (rc != 0) {
            op_report(b, op, rc < 0 ? rc : 0);
            return 1;
        }
    }
    for (;;) {
        bool over = true;

        for (int i = 0; i < op->n_parts && rc >= 0; i++) {
            struct part *p = &op->part[i];

            if (!p->over)
                rc = part_turn(b, p, now_ns, budget, out, err);
            over &= p->over;
        }
        if (rc < 0 || !over)
            return rc;
        op_next(b, op);
        if (!op->n_parts)
            break;
    }
    op_report(b, op, op->rc < 0 && op->r ? op_explain(op) : op->rc);
    return 1;
}

static int op_peer(const struct smb *b, const struct op *op)
{
    for (int i = 0; i < op->n_parts; i++)
        if (op->part[i].remote && !op->part[i].over)
            return b->server[op->part[i].stripe];
    return -1;
}

/* Tell the caller; what is under way goes on. */
static int op_time_out(struct smb *b, struct op *op, struct outbox *out, struct eddis_error *err)
{
    const struct smb_request *w = &op->what;
    unsigned long long key = key_number(w->key);
    struct part *p = &op->part[0];
    int peer = op_peer(b, op), rc = 0;
    struct work_order cancel;

    if (b->near == NEAR_UNKNOWN)
        eddis_fail(op_error(op), -ETIMEDOUT,
                   "%s: rank %d has not opened the Soft Memory Box of this node yet",
                   names[w->kind], b->server[b->own]);
    else if (w->kind == SMB_WAIT)
        eddis_fail(op_error(op), -ETIMEDOUT, "no notice of buffer %llx after number %llu", key,
                   (unsigned long long)w->version);
    else if (peer >= 0)
        eddis_fail(op_error(op), -ETIMEDOUT, "%s of buffer %llx still waits for rank %d",
                   names[w->kind], key, peer);
    else
        eddis_fail(op_error(op), -ETIMEDOUT,
                   "%s of buffer %llx still waits for earlier ones in this node's memory",
                   names[w->kind], key);
    if (w->kind == SMB_WAIT && op->begun && p->remote && !p->over) {
        cancel = p->work.order;
        cancel.kind = WORK_CANCEL;
        rc = message_send(b, b->server[p->stripe], SMB_TAG_ORDER, &cancel, sizeof cancel, out, err);
    }
    op_report(b, op, -ETIMEDOUT);
    return rc;
}

/* Whether nobody but the caller would miss it. */
static bool op_droppable(const struct op *op)
{
    return !op->begun || (op->what.kind == SMB_WAIT && !op->part[0].remote);
}

int smb_client_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    size_t budget = SMB_TURN;
    int over = 0;

    for (struct op **at = &b->first; *at;) {
        struct op *op = *at;
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
    struct op *op = calloc(1, sizeof *op + (size_t)b->n_servers * sizeof op->part[0]);
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
    for (const struct op *op = b->first; op; op = op->next)
        for (int i = 0; i < op->n_parts; i++)
            if (!op->part[i].remote && !op->part[i].over)
                return true;
    return false;
}

int smb_client_waits_for(const struct smb *b, const struct smb_request *r)
{
    for (const struct op *op = b->first; op; op = op->next)
        if (op->r == r && op->what.kind != SMB_WAIT)
            return b->near == NEAR_UNKNOWN ? b->server[b->own] : op_peer(b, op);
    return -1;
}

void smb_client_fini(struct smb *b)
{
    while (b->first) {
        struct op *op = b->first;

        b->first = op->next;
        free(op);
    }
    while (b->users)
        user_remove(b, b->users);
}
