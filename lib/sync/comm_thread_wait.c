/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread_wait.c - callers that wait, and drive the communication meanwhile */
#include "comm_thread_impl.h"

#include "lib/base/clock.h"

#include <errno.h>

/* A caller begins to wait: from here it drives.  Returns false when another one does already.  With
 * the lock held, here and below.
 */
static bool caller_enter(struct comm_thread *d)
{
    if (!d->threaded || d->calling)
        return false;
    d->calling = true;
    comm_thread_hold(d);
    return true;
}

static void caller_leave(struct comm_thread *d)
{
    d->calling = false;
    pthread_cond_signal(&d->mailed);
}

/* One turn of the caller that drives, or a nap when nothing moved. */
static void caller_turn(struct comm_thread *d, int64_t *moved_ns, int64_t deadline_ns)
{
    struct eddis_error err = { 0 };
    struct engine *e = d->engine;
    struct mail *m = comm_thread_take_mail(d);
    int rc;

    pthread_mutex_unlock(&d->lock);
    rc = comm_thread_turn(d, e, m, &err);
    pthread_mutex_lock(&d->lock);
    if (rc < 0) {
        comm_thread_fail(d, rc, &err);
    } else if (rc > 0) {
        *moved_ns = clock_now_ns();
        comm_thread_publish(d);
    } else if (!d->first) {
        comm_thread_nap(d, &d->answered, *moved_ns, deadline_ns);
    }
}

/* One rank: nobody else looks after the box. */
static void caller_poll(struct comm_thread *d)
{
    struct eddis_error err = { 0 };
    int rc = comm_thread_turn(d, d->engine, NULL, &err);

    if (rc < 0)
        comm_thread_fail(d, rc, &err);
    comm_thread_publish(d);
    if (rc == 0)
        comm_thread_timed_wait(&d->answered, &d->lock, clock_now_ns() + COMM_THREAD_NAP_MIN_NS);
}

/* ---- what is waited for; all of it published ---- */

/* First bucket that is waited for; -1: none. */
static int bucket_missing(const struct comm_thread *d, const struct comm_wait *w)
{
    int b = w->parameter < 0 ? 0 : d->bucket_of[w->parameter];
    int end = w->parameter < 0 ? d->n_buckets : b + 1;

    while (b < end && d->done_step[b] >= w->step)
        b++;
    return b < end ? b : -1;
}

static bool wait_done(const struct comm_thread *d, const struct comm_wait *w)
{
    switch (w->kind) {
    case WAIT_STEP:
        return bucket_missing(d, w) < 0;
    case WAIT_REQUEST:
        return w->request->done;
    case WAIT_BOX:
        return w->box->done;
    case WAIT_LEFT:
        return d->left;
    case WAIT_EXCHANGE:
        break;
    }
    return d->exchanges >= w->exchanges;
}

/* After a time-out: for whom. */
static void wait_tell(const struct comm_thread *d, struct comm_wait *w)
{
    switch (w->kind) {
    case WAIT_STEP:
        w->bucket = bucket_missing(d, w);
        w->n_buckets = d->n_buckets;
        w->peer = d->peer[w->bucket];
        break;
    case WAIT_REQUEST:
        w->peer = w->request->peer;
        break;
    case WAIT_EXCHANGE:
        w->peer = d->exchange_peer;
        break;
    case WAIT_BOX: /* is told as it goes */
    case WAIT_LEFT:
        break;
    }
}

static void box_wait_begin(struct comm_thread *d, struct comm_wait *w)
{
    w->next = d->box_waits;
    d->box_waits = w;
}

static void box_wait_end(struct comm_thread *d, const struct comm_wait *w)
{
    struct comm_wait **at = &d->box_waits;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
}

/* ---- waiting ---- */

static int caller_wait(struct comm_thread *d, struct comm_wait *w, int64_t deadline_ns,
                       struct eddis_error *err)
{
    int64_t moved_ns = clock_now_ns();
    bool driving = false;
    int rc = 0;

    while (rc == 0 && !wait_done(d, w)) {
        int64_t now = clock_now_ns();

        rc = comm_thread_failed(d, err);
        if (rc == 0 && now >= deadline_ns)
            rc = -ETIMEDOUT;
        if (rc < 0)
            break;
        if (!driving)
            driving = caller_enter(d);
        if (driving)
            caller_turn(d, &moved_ns, deadline_ns);
        else if (!d->threaded)
            caller_poll(d);
        else /* the other caller publishes, or leaves and it is our turn */
            comm_thread_timed_wait(&d->answered, &d->lock, now + COMM_THREAD_NAP_MAX_NS);
    }
    /* Whom shared memory waits for changes without anything moving here. */
    if (driving && rc == -ETIMEDOUT)
        comm_thread_publish(d);
    if (driving)
        caller_leave(d);
    return rc;
}

int comm_thread_wait(struct comm_thread *d, struct comm_wait *w, int64_t deadline_ns,
                     struct eddis_error *err)
{
    int rc;

    w->peer = -1;
    pthread_mutex_lock(&d->lock);
    if (w->kind == WAIT_BOX)
        box_wait_begin(d, w);
    rc = caller_wait(d, w, deadline_ns, err);
    if (w->kind == WAIT_BOX)
        box_wait_end(d, w);
    if (rc == -ETIMEDOUT)
        wait_tell(d, w);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

int comm_thread_bucket_of(struct comm_thread *d, int parameter)
{
    int b;

    pthread_mutex_lock(&d->lock);
    b = d->bucket_of[parameter];
    pthread_mutex_unlock(&d->lock);
    return b;
}

int64_t comm_thread_staleness(struct comm_thread *d)
{
    int64_t n;

    pthread_mutex_lock(&d->lock);
    n = d->staleness;
    pthread_mutex_unlock(&d->lock);
    return n;
}
