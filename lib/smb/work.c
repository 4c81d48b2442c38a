/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - carry out an order in this node's memory, a turn at a time */
#include "work.h"

#include <errno.h>

enum { WORK_PIECE = 256 * 1024 }; /* limit of the bytes written while the lock is held */

/* Return the smaller of a and b. */
static size_t work_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Continue a read to `data` or a write from it, and subtract the bytes moved from *budget, until
 * that is 0.  Give the notice at the end if the order asks for it.  Return 0 once all is done,
 * -EAGAIN if not: *budget is 0 or the lock is taken.
 */
static int work_move(struct work *w, struct memory_buffer *b, char *data, size_t *budget)
{
    size_t bytes = comm_type_bytes(memory_shape(b)->type);

    while (w->moved < w->order.count && *budget) {
        size_t n =
            work_min(w->order.count - w->moved, work_min(*budget + bytes - 1, WORK_PIECE) / bytes);
        size_t at = w->order.first + w->moved;
        int rc = 0;

        if (w->order.kind == WORK_READ)
            memory_read(b, at, n, data + w->moved * bytes);
        else
            rc = memory_write(b, at, n, data + w->moved * bytes);
        if (rc < 0)
            return rc;
        w->moved += n;
        *budget -= work_min(*budget, n * bytes);
    }
    if (w->moved < w->order.count)
        return -EAGAIN;
    return w->order.notify ? memory_notify(b, &w->result.version) : 0;
}

/* Count one more user of b, and store the buffer's type and length in the result.  -ENOENT: its
 * last user has left; -EAGAIN: a lock is taken.
 */
static int work_attach(struct work *w, struct memory *m, struct memory_buffer *b)
{
    int rc = memory_attach(m, b);

    w->result.type = memory_shape(b)->type;
    w->result.n = memory_shape(b)->n;
    return rc;
}

/* Count one user of b less, and set `last` of the result: that user was the last one.  -EAGAIN: the
 * lock is taken.
 */
static int work_detach(struct work *w, struct memory_buffer *b)
{
    bool last = false;
    int rc = memory_detach(b, &last);

    w->result.last = last;
    return rc;
}

/* Store the buffer's number of notices in the result.  Return 0 if it is larger than the number in
 * the order, -EAGAIN if not yet.
 */
static int work_wait(struct work *w, const struct memory_buffer *b)
{
    w->result.version = memory_version(b);
    return w->result.version > w->order.version ? 0 : -EAGAIN;
}

/* Continue to create a buffer's stripe.  Return 0 once it is created, -EAGAIN if not yet, -ENOSPC
 * or -ENOMEM without memory.
 */
static int work_create(struct work *w, struct memory *m)
{
    const struct work_order *o = &w->order;
    struct memory_shape shape = { (enum comm_type)o->type, o->n, o->first, o->count };

    return memory_create(m, o->id, &shape, o->users, &w->creation, NULL);
}

/* Continue the order of w in memory m.  Return the order's final result (0 or a failure), or
 * -EAGAIN if it is not done yet.
 */
static int work_do(struct work *w, struct memory *m, void *data, int64_t now_ns, size_t *budget)
{
    const struct work_order *o = &w->order;
    struct memory_buffer *b;
    int rc = -ENOENT;

    if (o->kind == WORK_CREATE)
        return work_create(w, m);
    if (o->kind == WORK_FREE)
        return memory_free(m, o->id, &w->creation);
    b = memory_find(m, o->id, &rc);
    if (!b)
        return rc;
    switch (o->kind) {
    case WORK_ATTACH:
        return work_attach(w, m, b);
    case WORK_DETACH:
        return work_detach(w, b);
    case WORK_READ:
    case WORK_WRITE:
        return work_move(w, b, data, budget);
    case WORK_ACCUMULATE:
        return memory_accumulate(m, b, o->source, o->rank, o->notify, now_ns, &w->sum, budget);
    case WORK_NOTIFY:
        return memory_notify(b, &w->result.version);
    case WORK_WAIT:
        return work_wait(w, b);
    case WORK_FETCH_ADD:
        return memory_fetch_add(b, o->first, o->add, &w->result.before);
    }
    return -EINVAL;
}

int work_turn(struct work *w, struct memory *m, void *data, int64_t now_ns, size_t *budget)
{
    int rc = work_do(w, m, data, now_ns, budget);

    if (rc == -EAGAIN)
        return 0;
    w->result.seq = w->order.seq;
    w->result.rc = rc;
    return 1;
}
