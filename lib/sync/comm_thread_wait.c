/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread_wait.c - callers that wait and meanwhile hold the progress token */
#include "comm_thread_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <sched.h>

/* ---- conditions of waits, all on published values ---- */

/* Return the first bucket that the wait w of kind WAIT_ROUND still needs; -1: none. */
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

/* Check whether the published state satisfies the wait. */
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

/* Record in w, after a time-out, the rank that is missing, and for WAIT_ROUND the first missing
 * bucket.
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

/* Add w to the list of waits for the box, so that its peer is kept up to date. */
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

/* Return 1 if the wait is over, 0 if it must continue, -ETIMEDOUT after deadline_ns, or the failure
 * that ended the communication.
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

/* Unregister a waiting caller and give the token back if it holds it; otherwise wake the thread. */
static void wait_end(struct comm_thread *t, const struct comm_wait *w, bool holds)
{
    if (w->kind == WAIT_BOX)
        box_wait_end(t, w);
    t->hub->callers--;
    if (holds)
        comm_thread_give(t->hub);
    else
        comm_thread_rouse(t->hub); /* so that the thread takes the token again */
}

/* Let other threads run, with the lock released meanwhile. */
static void yield(struct comm_hub *h)
{
    pthread_mutex_unlock(&h->lock);
    sched_yield();
    pthread_mutex_lock(&h->lock);
}

/* Make a turn with the token; take it if it is free, else yield or sleep.  Give it back during a
 * halt.  Return whether the caller holds the token now.
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

/* Make turns until the wait is over.  Return like wait_look, but never 0.  Do not time out during
 * the thread's turn: that turn publishes which rank is missing.
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
    /* The rank that shared memory waits for may change although nothing moves here. */
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
