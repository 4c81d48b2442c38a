/* SPDX-License-Identifier: Apache-2.0 */
/* loop.c - the in-process loop: arrival of messages in virtual time, and the ranks' endpoints */
#include "loop.h"

#include "lib/base/random.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An operation that was posted and that poll has not returned yet. */
struct loop_item {
    struct loop_item *next;
    struct comm_op op;
    int rank;           /* the rank that posted it */
    int64_t arrival_ns; /* of a send: virtual time from which the receiver can get it */
    void *copy;         /* of a send that completed when it was posted: a copy of its data */
};

/* A list of operations, with a pointer to its last link. */
struct loop_list {
    struct loop_item *first, **last;
};

/* Messages and endpoints of all ranks. */
struct loop {
    pthread_mutex_t lock; /* guards all below */
    int n_ranks;
    uint64_t random;    /* state of the random stream; 0: no delays */
    int64_t now_ns;     /* virtual time */
    int64_t latency_ns; /* latency of a rank's link, which carries one message at a time ... */
    double bytes_per_s; /* ... at this rate; 0: there are no links */
    bool empty;         /* no data is transferred */
    int64_t *free_ns;   /* [n_ranks] time at which the rank's link is free again */
    /* [n_ranks] sends not yet delivered, by destination; those of one sender and tag in order of
     * arrival
     */
    struct loop_list *sends;
    struct loop_list *receives; /* [n_ranks] by receiver, posted and not yet matched */
    struct loop_list *done; /* [n_ranks] complete operations of each rank, to be returned by poll */
    struct wakeup **wakeup; /* [n_ranks] of open endpoints; NULL: the endpoint must be polled */
    int aborted;            /* exit code of the latest abort; 0: none */
};

/* One rank's endpoint. */
struct loop_end {
    struct transport base;
    struct loop *loop;
};

/* Make the list empty. */
static void list_init(struct loop_list *l)
{
    l->first = NULL;
    l->last = &l->first;
}

/* Append an item to the list. */
static void list_add(struct loop_list *l, struct loop_item *i)
{
    i->next = NULL;
    *l->last = i;
    l->last = &i->next;
}

/* Remove the item that *at points to from the list, and return it. */
static struct loop_item *list_take(struct loop_list *l, struct loop_item **at)
{
    struct loop_item *i = *at;

    *at = i->next;
    if (l->last == &i->next)
        l->last = at;
    return i;
}

/* Free all items of the list. */
static void list_fini(struct loop_list *l)
{
    while (l->first) {
        struct loop_item *i = list_take(l, &l->first);

        free(i->copy);
        free(i);
    }
}

int loop_new(int n_ranks, uint64_t seed, struct loop **ret, struct eddis_error *err)
{
    struct loop *l = calloc(1, sizeof *l);

    if (!l)
        return eddis_fail(err, -ENOMEM, "no memory for a loop");
    l->n_ranks = n_ranks;
    l->random = seed;
    l->sends = calloc(3 * (size_t)n_ranks, sizeof *l->sends);
    l->free_ns = calloc((size_t)n_ranks, sizeof *l->free_ns);
    l->wakeup = calloc((size_t)n_ranks, sizeof(struct wakeup *));
    if (!l->sends || !l->free_ns || !l->wakeup) {
        free(l->sends);
        free(l->free_ns);
        free(l->wakeup);
        free(l);
        return eddis_fail(err, -ENOMEM, "no memory for a loop of %d ranks", n_ranks);
    }
    l->receives = l->sends + n_ranks;
    l->done = l->receives + n_ranks;
    for (int i = 0; i < 3 * n_ranks; i++)
        list_init(&l->sends[i]);
    pthread_mutex_init(&l->lock, NULL);
    *ret = l;
    return 0;
}

/* Check whether two operations between the same ranks have equal channel and tag, so that their
 * messages keep their order.
 */
static bool op_same_stream(const struct comm_op *a, const struct comm_op *b)
{
    return a->channel == b->channel && a->tag == b->tag;
}

/* Return the arrival time of a message of so many bytes over the link of rank `from`, after all its
 * earlier messages; the link is busy until then.
 */
static int64_t loop_link_arrival(struct loop *l, int from, size_t bytes)
{
    int64_t *at = &l->free_ns[from];

    if (*at < l->now_ns)
        *at = l->now_ns;
    *at += l->latency_ns + (int64_t)((double)bytes / l->bytes_per_s * 1e9 + 0.5);
    return *at;
}

/* Return the arrival time of a new send: random, or by the link, but not before an earlier message
 * of the same stream.
 */
static int64_t loop_arrival(struct loop *l, int from, const struct comm_op *op)
{
    int64_t at = l->now_ns;

    if (l->bytes_per_s > 0)
        return loop_link_arrival(l, from, op->bytes);
    if (l->random)
        at += (int64_t)random_below(&l->random, 1000000);
    for (struct loop_item *i = l->sends[op->peer].first; i; i = i->next)
        if (i->rank == from && op_same_stream(&i->op, op) && i->arrival_ns > at)
            at = i->arrival_ns;
    return at;
}

/* Wake the rank's endpoint, if it waits.  Call with the lock held. */
static void loop_report(struct loop *l, int rank)
{
    if (l->wakeup[rank])
        wakeup_wake(l->wakeup[rank]);
}

/* Queue a send of this rank for its destination.  If it is small, or at random if there are random
 * delays, complete it immediately by a copy of its data; otherwise it completes when it is
 * delivered.  Takes item.  -ENOMEM: item stays the caller's.
 */
static int loop_post_send(struct loop *l, int rank, struct loop_item *item)
{
    const struct comm_op *op = &item->op;
    size_t carried = l->empty ? 0 : op->bytes;

    item->arrival_ns = loop_arrival(l, rank, op);
    if (l->random ? random_below(&l->random, 2) : op->bytes <= 4096) {
        struct loop_item *done = calloc(1, sizeof *done);

        item->copy = malloc(carried ? carried : 1);
        if (!done || !item->copy) {
            free(done);
            return -ENOMEM;
        }
        memcpy(item->copy, op->data, carried);
        done->op = *op;
        list_add(&l->done[rank], done);
    }
    list_add(&l->sends[op->peer], item);
    loop_report(l, op->peer);
    return 0;
}

/* Post an operation of this rank; transport_post. */
static int loop_post(struct transport *t, const struct comm_op *op, struct eddis_error *err)
{
    struct loop *l = ((struct loop_end *)t)->loop;
    struct loop_item *item = calloc(1, sizeof *item);
    int rc = 0;

    if (!item)
        return eddis_fail(err, -ENOMEM, "no memory for a message");
    item->op = *op;
    item->rank = t->rank;
    pthread_mutex_lock(&l->lock);
    if (op->kind == COMM_SEND)
        rc = loop_post_send(l, t->rank, item);
    else
        list_add(&l->receives[t->rank], item);
    pthread_mutex_unlock(&l->lock);
    if (rc < 0) {
        free(item->copy);
        free(item);
        return eddis_fail(err, rc, "no memory for a message of %zu bytes", op->bytes);
    }
    return 0;
}

/* Copy a message into its receive and mark both operations as complete.  The two items must be in
 * no list; they are freed or moved to the lists of completed ones.  -EMSGSIZE: their lengths
 * differ, and the message is lost.
 */
static int loop_deliver(struct loop *l, int rank, struct loop_item *send, struct loop_item *receive,
                        struct eddis_error *err)
{
    if (send->op.bytes != receive->op.bytes) {
        int rc = transport_fail_length(&receive->op, send->op.bytes, err);

        free(send->copy);
        free(send);
        free(receive);
        return rc;
    }
    if (!l->empty)
        memcpy(receive->op.data, send->copy ? send->copy : send->op.data, send->op.bytes);
    list_add(&l->done[rank], receive);
    if (send->copy) {
        free(send->copy);
        free(send);
    } else {
        list_add(&l->done[send->rank], send);
        loop_report(l, send->rank);
    }
    return 0;
}

/* Deliver all messages that have arrived for receives posted by this rank.  Stop at the first
 * failure.
 */
static int loop_match(struct loop *l, int rank, struct eddis_error *err)
{
    struct loop_item **at = &l->receives[rank].first;
    int rc;

    while (*at) {
        struct loop_item *receive = *at, **send = &l->sends[rank].first;

        while (*send &&
               ((*send)->rank != receive->op.peer || !op_same_stream(&(*send)->op, &receive->op)))
            send = &(*send)->next;
        if (!*send || (*send)->arrival_ns > l->now_ns) {
            at = &receive->next;
            continue;
        }
        list_take(&l->receives[rank], at);
        rc = loop_deliver(l, rank, list_take(&l->sends[rank], send), receive, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Deliver the messages that have arrived for this rank, and store its complete operations in ret,
 * at most max; transport_poll.  -ECONNABORTED: some rank called abort.
 */
static int loop_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err)
{
    struct loop *l = ((struct loop_end *)t)->loop;
    struct loop_list *done = &l->done[t->rank];
    int n = 0, rc, aborted;

    pthread_mutex_lock(&l->lock);
    rc = loop_match(l, t->rank, err);
    while (n < max && done->first) {
        struct loop_item *i = list_take(done, &done->first);

        ret[n++] = i->op;
        free(i);
    }
    aborted = l->aborted;
    pthread_mutex_unlock(&l->lock);
    if (aborted)
        return eddis_fail(err, -ECONNABORTED, "a worker ended the job with code %d", aborted);
    return rc < 0 ? rc : n;
}

/* Store the exit code, so that every rank's polls fail, and wake all ranks. */
static void loop_abort(struct transport *t, int code)
{
    struct loop *l = ((struct loop_end *)t)->loop;

    pthread_mutex_lock(&l->lock);
    l->aborted = code;
    for (int i = 0; i < l->n_ranks; i++)
        loop_report(l, i);
    pthread_mutex_unlock(&l->lock);
}

/* Close a rank's endpoint and free it. */
static int loop_close(struct transport *t, bool orderly, struct eddis_error *err)
{
    struct loop_end *e = (struct loop_end *)t;

    pthread_mutex_lock(&e->loop->lock);
    e->loop->wakeup[t->rank] = NULL;
    pthread_mutex_unlock(&e->loop->lock);
    wakeup_free(t->wakeup);
    free(e);
    return 0;
}

static const struct transport_ops loop_ops = {
    .name = "loop",
    .post = loop_post,
    .poll = loop_poll,
    .abort = loop_abort,
    .close = loop_close,
};

int loop_open(struct loop *l, int rank, struct transport **ret, struct eddis_error *err)
{
    struct loop_end *e = calloc(1, sizeof *e);
    int rc;

    if (!e)
        return eddis_fail(err, -ENOMEM, "no memory for an endpoint");
    e->base = (struct transport){ .ops = &loop_ops, .rank = rank, .n_ranks = l->n_ranks };
    rc = l->random ? 0 : wakeup_new(&e->base.wakeup, err);
    if (rc < 0) {
        free(e);
        return rc;
    }
    e->base.wakes = e->base.wakeup != NULL;
    e->loop = l;
    pthread_mutex_lock(&l->lock);
    l->wakeup[rank] = e->base.wakeup;
    pthread_mutex_unlock(&l->lock);
    *ret = &e->base;
    return 0;
}

/* Check whether rank `to` has posted a receive of the same stream as this send. */
static bool loop_wanted(const struct loop *l, int to, const struct loop_item *send)
{
    for (struct loop_item *r = l->receives[to].first; r; r = r->next)
        if (r->op.peer == send->rank && op_same_stream(&r->op, &send->op))
            return true;
    return false;
}

void loop_set_link(struct loop *l, int64_t latency_ns, double bytes_per_s)
{
    l->latency_ns = latency_ns;
    l->bytes_per_s = bytes_per_s;
}

void loop_set_empty(struct loop *l)
{
    l->empty = true;
}

/* Return the virtual time of the next possible delivery; INT64_MAX: none. */
static int64_t loop_next(const struct loop *l)
{
    int64_t next = INT64_MAX;

    for (int to = 0; to < l->n_ranks; to++)
        for (struct loop_item *s = l->sends[to].first; s; s = s->next)
            if (s->arrival_ns < next && loop_wanted(l, to, s))
                next = s->arrival_ns;
    return next;
}

bool loop_advance_to(struct loop *l, int64_t until_ns)
{
    int64_t next, to;

    pthread_mutex_lock(&l->lock);
    next = loop_next(l);
    to = next < until_ns ? next : until_ns;
    if (to != INT64_MAX && to > l->now_ns)
        l->now_ns = to;
    pthread_mutex_unlock(&l->lock);
    return next != INT64_MAX && next <= until_ns;
}

bool loop_advance(struct loop *l)
{
    return loop_advance_to(l, INT64_MAX);
}

int64_t loop_now_ns(const struct loop *l)
{
    return l->now_ns;
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    for (int i = 0; i < 3 * l->n_ranks; i++)
        list_fini(&l->sends[i]);
    free(l->sends);
    free(l->free_ns);
    free(l->wakeup);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
