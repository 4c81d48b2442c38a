/* SPDX-License-Identifier: Apache-2.0 */
/* smb_server.c - carry out orders of ranks that do not use this node's memory themselves
 *
 * An order becomes a task.  Each turn continues every task, a little each and beginning with
 * another one, until the turn's bytes are used up.
 */
#include "smb_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A client's order that is being carried out. */
struct task {
    struct task *next;
    int client; /* rank that sent the order */
    struct work work;
    struct chunk_window window; /* READ, WRITE */
    bool abandoned;             /* WRITE: its data is gone; WAIT: its client cancelled it */
    struct message *arrived;    /* WRITE: list of the received chunks that are not written yet */
};

static int smb_server_listen(struct smb *b, int client, struct outbox *out,
                             struct eddis_error *err);

/* ---- orders ---- */

/* Check whether the task is a READ or WRITE, which moves elements in chunks. */
static bool task_moves(const struct task *t)
{
    return t->work.order.kind == WORK_READ || t->work.order.kind == WORK_WRITE;
}

/* Append task t to the end of b's list of tasks. */
static void task_add(struct smb *b, struct task *t)
{
    struct task **at = &b->tasks;

    while (*at)
        at = &(*at)->next;
    t->next = NULL;
    *at = t;
}

/* Mark the client's wait for notices whose order has number seq as cancelled, if it still waits. */
static void smb_server_cancel(struct smb *b, int client, uint32_t seq)
{
    for (struct task *t = b->tasks; t; t = t->next)
        if (t->client == client && t->work.order.seq == seq && t->work.order.kind == WORK_WAIT)
            t->abandoned = true;
}

/* Handle the order in message m: make a task of it, or handle a hello, goodbye or cancellation.
 * Unless it is the client's last order, post the receive of its next one.  The `done` function of
 * m.  Return 0 or -ENOMEM.
 */
static int smb_server_order(struct smb *b, struct message *m, struct outbox *out,
                            struct eddis_error *err)
{
    struct work_order o;
    struct task *t;
    int rc;

    memcpy(&o, m->data, sizeof o);
    message_free(b, m);
    if (o.kind == WORK_BYE || (o.kind == WORK_HELLO && o.first)) {
        b->clients--;
        return 0;
    }
    rc = smb_server_listen(b, o.rank, out, err);
    if (rc < 0 || o.kind == WORK_HELLO)
        return rc;
    if (o.kind == WORK_CANCEL) {
        smb_server_cancel(b, o.rank, o.seq);
        return 0;
    }
    t = calloc(1, sizeof *t);
    if (!t)
        return message_no_memory(err);
    t->client = o.rank;
    t->work.order = o;
    if (task_moves(t))
        t->window = (struct chunk_window){
            .peer = o.rank, .seq = o.seq, .reading = o.kind == WORK_READ, .count = o.count
        };
    task_add(b, t);
    return 0;
}

/* Post the receive of the client's next order.  Return 0 or -ENOMEM. */
static int smb_server_listen(struct smb *b, int client, struct outbox *out, struct eddis_error *err)
{
    struct message *m = message_new(b, sizeof(struct work_order));

    if (!m)
        return message_no_memory(err);
    m->done = smb_server_order;
    message_post(b, COMM_RECEIVE, client, SMB_TAG_ORDER, m, sizeof(struct work_order), out);
    return 0;
}

int smb_server_start(struct smb *b, struct outbox *out, struct eddis_error *err)
{
    struct work_result where = { 0 };
    int rc = 0;

    memory_where(b->memory, &where.pid, &where.fd);
    for (int r = 0; r < b->place.n_ranks && rc == 0; r++) {
        if (r == b->place.rank)
            continue;
        b->clients++;
        rc = smb_server_listen(b, r, out, err);
        if (rc == 0 && b->same[r])
            rc = message_send(b, r, SMB_TAG_ANSWER, &where, sizeof where, out, err);
    }
    return rc;
}

/* ---- chunks ---- */

/* Count a chunk that was sent, and free message m; the `done` function of m.  Return 0. */
static int piece_sent(struct smb *b, struct message *m, struct outbox *out, struct eddis_error *err)
{
    struct task *t = m->who;

    chunk_window_moved(b, &t->window, m);
    return 0;
}

/* Add a received chunk to the list of those that task_write writes, and return 0; the `done`
 * function of m.
 */
static int piece_arrived(struct smb *b, struct message *m, struct outbox *out,
                         struct eddis_error *err)
{
    struct task *t = m->who;

    m->next = t->arrived;
    t->arrived = m;
    return 0;
}

/* Post the next chunk of task t: for READ the send of its elements, which are copied from buffer m,
 * for WRITE their receive.  Return 0 or -ENOMEM.
 */
static int task_post(struct smb *b, struct task *t, struct memory_buffer *m, struct outbox *out,
                     struct eddis_error *err)
{
    bool reading = t->window.reading;
    struct message *p = chunk_window_next(b, &t->window);

    if (!p)
        return message_no_memory(err);
    p->who = t;
    p->done = reading ? piece_sent : piece_arrived;
    if (reading)
        memory_read(m, t->work.order.first + p->at, p->n, chunk_window_elements(&t->window, p));
    chunk_window_post(b, &t->window, reading ? COMM_SEND : COMM_RECEIVE, p, out);
    return 0;
}

/* Write the received chunks to buffer m and subtract their bytes from *budget, until that is 0 or
 * the lock is taken.  Once a chunk is abandoned, free it and all later ones without writing.
 */
static void task_write(struct smb *b, struct task *t, struct memory_buffer *m, size_t *budget)
{
    while (t->arrived && *budget) {
        struct message *p = t->arrived;
        size_t bytes = p->n * t->window.element;

        t->abandoned |= chunk_window_head(p)->abandoned;
        if (!t->abandoned && memory_write(m, t->work.order.first + p->at, p->n,
                                          chunk_window_elements(&t->window, p)) < 0)
            return;
        *budget -= *budget < bytes ? *budget : bytes;
        t->arrived = p->next;
        chunk_window_moved(b, &t->window, p);
    }
}

/* Check whether all elements of order o are in the stripe s of this node. */
static bool task_in_range(const struct work_order *o, const struct memory_shape *s)
{
    return o->first >= s->first && o->count <= s->count &&
           o->first - s->first <= s->count - o->count;
}

/* Continue a READ or WRITE: write received chunks, post further chunks, and give a WRITE's notice
 * after the last one.  Return 1 once the task is done, 0 if not, or a failure.  -EPROTO: the
 * elements are not on this node; -ENOMEM: they cannot be mapped.
 */
static int task_move(struct smb *b, struct task *t, size_t *budget, struct outbox *out,
                     struct eddis_error *err)
{
    const struct work_order *o = &t->work.order;
    int rc = -ENOENT;
    struct memory_buffer *m = memory_find(b->memory, o->id, &rc);

    if (!m && rc != -ENOENT)
        return eddis_fail_errno(err, rc, "cannot map buffer %llx, which rank %d asks for",
                                (unsigned long long)o->id, t->client);
    if (!m || !task_in_range(o, memory_shape(m)))
        return eddis_fail(err, -EPROTO,
                          "rank %d asks for elements of buffer %llx that are not here", t->client,
                          (unsigned long long)o->id);
    t->window.element = comm_type_bytes(memory_shape(m)->type);
    task_write(b, t, m, budget);
    while (chunk_window_has_room(&t->window) && *budget) {
        rc = task_post(b, t, m, out, err);
        if (rc < 0)
            return rc;
        if (o->kind == WORK_READ)
            *budget -= *budget < SMB_CHUNK ? *budget : SMB_CHUNK;
    }
    if (!chunk_window_over(&t->window))
        return 0;
    if (o->notify && !t->abandoned && memory_notify(m, &t->work.result.version) < 0)
        return 0;
    t->work.result.seq = o->seq;
    return 1;
}

/* ---- turns ---- */

/* Continue a task, and send the answer to its client once it is done.  Return 1 if it is done, 0 if
 * not, or a failure.
 */
static int task_turn(struct smb *b, struct task *t, int64_t now_ns, size_t *budget,
                     struct outbox *out, struct eddis_error *err)
{
    const struct work_order *o = &t->work.order;
    int rc;

    if (task_moves(t)) {
        rc = task_move(b, t, budget, out, err);
    } else {
        rc = work_turn(&t->work, b->memory, NULL, now_ns, budget);
        if (rc == 0 && o->kind == WORK_WAIT && t->abandoned) {
            t->work.result = (struct work_result){ .seq = o->seq, .rc = -ECANCELED };
            rc = 1;
        }
    }
    if (rc <= 0)
        return rc;
    rc = message_send(b, t->client, SMB_TAG_ANSWER, &t->work.result, sizeof t->work.result, out,
                      err);
    return rc < 0 ? rc : 1;
}

/* Free a task (an order of a client that is carried out) and its arrived chunks. */
static void task_free(struct task *t)
{
    while (t->arrived) {
        struct message *p = t->arrived;

        t->arrived = p->next;
        free(p);
    }
    free(t);
}

int smb_server_poll(struct smb *b, int64_t now_ns, struct outbox *out, struct eddis_error *err)
{
    size_t budget = SMB_TURN;
    struct task *first = b->tasks;
    int over = 0;

    for (struct task **at = &b->tasks; *at;) {
        struct task *t = *at;
        int rc = task_turn(b, t, now_ns, &budget, out, err);

        if (rc < 0)
            return rc;
        if (rc == 0) {
            at = &t->next;
            continue;
        }
        *at = t->next;
        task_free(t);
        over = 1;
    }
    if (b->tasks == first && first->next) { /* let the next turn begin with the second task */
        b->tasks = first->next;
        task_add(b, first);
    }
    return over || budget < SMB_TURN;
}

/* Check whether the task can continue before a message arrives.  A READ or WRITE can only if chunks
 * have been received, may be posted, or are all in place.
 */
static bool task_awaits_memory(const struct task *t)
{
    return !task_moves(t) || t->arrived || chunk_window_over(&t->window) ||
           chunk_window_has_room(&t->window);
}

bool smb_server_awaits_memory(const struct smb *b)
{
    const struct task *t = b->tasks;

    while (t && !task_awaits_memory(t))
        t = t->next;
    return t != NULL;
}

void smb_server_fini(struct smb *b)
{
    while (b->tasks) {
        struct task *t = b->tasks;

        b->tasks = t->next;
        task_free(t);
    }
}
