/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread_wait.c - callers that wait and meanwhile hold the progress token */
#include "comm_thread_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <sched.h>

/* ---- conditions of waits, all on published values ---- */

/* Return the first bucket that w, of kind WAIT_ROUND, still waits for; -1: none. */
static int bucket_missing(const struct comm_thread *t, const struct comm_wait *w)
{
    const struct published_set *s = &t->set[w->set];
    int all = w->round == s->round ? s->combined : s->first;
    int b = w->parameter < 0 ? all : t->bucket_of[w->parameter];
    int end = w->parameter < 0 ? s->end : b + 1;

    while (b < end && t->done_round[b] >= w->round)
        b++;
    return b < end ? b : -1;
}

/* Check whether the event that w waits for has been published. */
static bool wait_done(const struct comm_thread *t, const struct comm_wait *w)
{
    switch (w->kind) {
    case WAIT_ROUND:
        return bucket_missing(t, w) < 0;
    case WAIT_REQUEST:
        return w->request->done;
    case WAIT_BOX:
        return w->box->done;
    case WAIT_LEFT:
        return t->left;
    case WAIT_READY:
        return t->ready;
    case WAIT_EXCHANGE:
        break;
    }
    return t->exchanges >= w->exchanges;
}

/* Store in w->peer, after a time-out, the rank that is missing; for WAIT_ROUND also the first
 * missing bucket and the number of buckets in w.
 */
static void wait_report(const struct comm_thread *t, struct comm_wait *w)
{
    switch (w->kind) {
    case WAIT_ROUND:
        w->bucket = bucket_missing(t, w);
        w->n_buckets = t->n_buckets;
        w->peer = w->bucket < t->set[w->set].left ? t->peer[w->bucket] : t->set[w->set].held_peer;
        break;
    case WAIT_REQUEST:
        w->peer = w->request->peer;
        break;
    case WAIT_EXCHANGE:
        w->peer = t->exchange_peer;
        break;
    case WAIT_BOX: /* publish_box keeps w->peer up to date */
    case WAIT_LEFT:
    case WAIT_READY:
        break;
    }
}

/* Add w to the list of waits for the box, so that publish_box keeps w->peer up to date. */
static void box_wait_begin(struct comm_thread *t, struct comm_wait *w)
{
    w->next = t->box_waits;
    t->box_waits = w;
}

/* Remove w from the list of waits for the box. */
static void box_wait_end(struct comm_thread *t, const struct comm_wait *w)
{
    struct comm_wait **at = &t->box_waits;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
}

/* ---- waiting ---- */

/* Return 1 if the event that w waits for has happened, 0 if not yet, -ETIMEDOUT if deadline_ns has
 * passed, or the failure that ended the communication.  Do not block.
 */
static int wait_look(const struct comm_thread *t, const struct comm_wait *w, int64_t deadline_ns,
                     struct eddis_error *err)
{
    int rc;

    if (wait_done(t, w))
        return 1;
    rc = comm_thread_failed(t, err);
    return rc < 0 ? rc : clock_now_ns() >= deadline_ns ? -ETIMEDOUT : 0;
}

/* Register a waiting caller.  If the communication thread holds the token (only its holder may use
 * the transport), wake it, so that it hands the token to the caller.
 */
static void wait_begin(struct comm_thread *t, struct comm_wait *w)
{
    t->hub->callers++;
    if (t->hub->holder == HOLDER_THREAD)
        comm_thread_rouse(t->hub);
    if (w->kind == WAIT_BOX)
        box_wait_begin(t, w);
}

/* Undo wait_begin, and wake all sleeping threads, so that the thread or another caller takes the
 * token.  holds: this caller has the token and gives it back.
 */
static void wait_end(struct comm_thread *t, const struct comm_wait *w, bool holds)
{
    if (w->kind == WAIT_BOX)
        box_wait_end(t, w);
    t->hub->callers--;
    if (holds)
        comm_thread_give(t->hub);
    else
        comm_thread_rouse(t->hub);
}

/* Let other threads run, with the lock released meanwhile. */
static void yield(struct comm_hub *h)
{
    pthread_mutex_unlock(&h->lock);
    sched_yield();
    pthread_mutex_lock(&h->lock);
}

/* If this caller holds the token (holds) or nobody does, make a turn with the token.  Otherwise
 * yield to the thread, or sleep while another caller holds the token or during a halt.  If a halt
 * has begun, give the token back.  Return true if this caller holds the token afterwards.
 */
static bool wait_turn(struct comm_thread *t, bool holds, int64_t deadline_ns)
{
    struct comm_hub *h = t->hub;
    int64_t ns;

    if (!holds && h->holder == HOLDER_THREAD) {
        yield(h); /* the thread gives the token sooner than this caller would be woken */
    } else if (!holds && (h->holder == HOLDER_CALLER || h->halts)) {
        comm_thread_sleep(h, deadline_ns);
    } else {
        if (!holds)
            transport_moved(t->transport);
        h->holder = HOLDER_CALLER;
        holds = true;
        ns = comm_thread_turn(h, deadline_ns);
        if (ns > 0)
            comm_thread_sleep(h, clock_now_ns() + ns);
    }
    if (holds && h->halts) {
        comm_thread_give(h);
        holds = false;
    }
    return holds;
}

/* Make turns, or leave them to the token's holder, until the wait is over.  Return 1 if its event
 * has happened, -ETIMEDOUT after deadline_ns, or the failure that ended the communication.  While
 * the thread holds the token there is no time-out: its turn publishes which rank is missing.
 */
static int wait_until(struct comm_thread *t, struct comm_wait *w, int64_t deadline_ns,
                      struct eddis_error *err)
{
    bool holds = false;
    int rc;

    wait_begin(t, w);
    do {
        holds = wait_turn(t, holds, deadline_ns);
        rc = wait_look(t, w, t->hub->holder == HOLDER_THREAD ? CLOCK_NEVER : deadline_ns, err);
    } while (rc == 0);
    /* Which rank is missing in shared memory can change without anything having moved here. */
    if (rc == -ETIMEDOUT && (holds || t->hub->holder == HOLDER_NOBODY))
        comm_thread_publish(t);
    wait_end(t, w, holds);
    return rc;
}

int comm_thread_wait(struct comm_thread *t, struct comm_wait *w, int64_t deadline_ns,
                     struct eddis_error *err)
{
    int rc;

    w->peer = -1;
    pthread_mutex_lock(&t->hub->lock);
    rc = wait_look(t, w, deadline_ns, err);
    if (rc == 0)
        rc = wait_until(t, w, deadline_ns, err);
    if (rc == -ETIMEDOUT)
        wait_report(t, w);
    pthread_mutex_unlock(&t->hub->lock);
    return rc < 0 ? rc : 0;
}

int comm_thread_bucket_of(struct comm_thread *t, int parameter)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->hub->lock);

    return t->bucket_of[parameter];
}

int64_t comm_thread_staleness(struct comm_thread *t)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->hub->lock);

    return t->staleness;
}
