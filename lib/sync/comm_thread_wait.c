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

/* Wait until the bucket's or the request's result is published. */
static int caller_wait(struct comm_thread *d,
                       bool (*done)(const struct comm_thread *d, const void *what),
                       const void *what, int64_t deadline_ns, struct eddis_error *err)
{
    int64_t moved_ns = clock_now_ns();
    bool driving = false;
    int rc = 0;

    while (rc == 0 && !done(d, what)) {
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

struct parameter_step {
    int parameter; /* -1: all */
    int64_t step;
};

/* First bucket that is waited for; -1: none. */
static int bucket_missing(const struct comm_thread *d, const struct parameter_step *p)
{
    int b = p->parameter < 0 ? 0 : d->bucket_of[p->parameter];
    int end = p->parameter < 0 ? d->n_buckets : b + 1;

    while (b < end && d->done_step[b] >= p->step)
        b++;
    return b < end ? b : -1;
}

static bool step_done(const struct comm_thread *d, const void *what)
{
    return bucket_missing(d, what) < 0;
}

static bool request_done(const struct comm_thread *d, const void *what)
{
    (void)d;
    return ((const struct request *)what)->done;
}

int comm_thread_wait_step(struct comm_thread *d, int parameter, int64_t step, int64_t deadline_ns,
                          struct comm_thread_waits *ret, struct eddis_error *err)
{
    const struct parameter_step what = { parameter, step };
    int rc;

    pthread_mutex_lock(&d->lock);
    rc = caller_wait(d, step_done, &what, deadline_ns, err);
    if (rc == -ETIMEDOUT) {
        ret->bucket = bucket_missing(d, &what);
        ret->n_buckets = d->n_buckets;
        ret->peer = d->peer[ret->bucket];
    }
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

int comm_thread_wait_request(struct comm_thread *d, struct request *r, int64_t deadline_ns,
                             int *ret_peer, struct eddis_error *err)
{
    int rc;

    pthread_mutex_lock(&d->lock);
    rc = caller_wait(d, request_done, r, deadline_ns, err);
    if (rc == -ETIMEDOUT)
        *ret_peer = r->peer;
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static bool mail_box_done(const struct comm_thread *d, const void *what)
{
    (void)d;
    return ((const struct mail_box *)what)->done;
}

static void box_wait_over(struct comm_thread *d, const struct box_wait *w)
{
    struct box_wait **at = &d->box_waits;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
}

int comm_thread_wait_box(struct comm_thread *d, struct mail_box *m, int64_t deadline_ns,
                         int *ret_peer, struct eddis_error *err)
{
    struct box_wait w = { .r = &m->r, .peer = -1 };
    int rc;

    pthread_mutex_lock(&d->lock);
    w.next = d->box_waits;
    d->box_waits = &w;
    rc = caller_wait(d, mail_box_done, m, deadline_ns, err);
    box_wait_over(d, &w);
    if (rc == -ETIMEDOUT)
        *ret_peer = w.peer;
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static bool box_left(const struct comm_thread *d, const void *what)
{
    (void)what;
    return d->left;
}

int comm_thread_wait_left(struct comm_thread *d, int64_t deadline_ns, int *ret_peer,
                          struct eddis_error *err)
{
    int rc;

    pthread_mutex_lock(&d->lock);
    rc = caller_wait(d, box_left, NULL, deadline_ns, err);
    if (rc == -ETIMEDOUT)
        *ret_peer = -1;
    pthread_mutex_unlock(&d->lock);
    return rc;
}

static bool exchange_done(const struct comm_thread *d, const void *what)
{
    return d->exchanges >= *(const int64_t *)what;
}

int comm_thread_wait_exchange(struct comm_thread *d, int64_t n, int64_t deadline_ns, int *ret_peer,
                              struct eddis_error *err)
{
    int rc;

    pthread_mutex_lock(&d->lock);
    rc = caller_wait(d, exchange_done, &n, deadline_ns, err);
    if (rc == -ETIMEDOUT)
        *ret_peer = d->exchange_peer;
    pthread_mutex_unlock(&d->lock);
    return rc;
}

int64_t comm_thread_staleness(struct comm_thread *d)
{
    int64_t n;

    pthread_mutex_lock(&d->lock);
    n = d->staleness;
    pthread_mutex_unlock(&d->lock);
    return n;
}
