/* SPDX-License-Identifier: Apache-2.0 */
/* deadline.c - a thread that shuts down sockets whose deadline has passed */
#include "deadline.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

/* The deadline of one socket. */
struct deadline {
    struct deadline *next, *prev; /* neighbours in the ring */
    int fd;
    int64_t at_ns;           /* monotonic time of the deadline; CLOCK_NEVER: none */
    void (*wake)(void *ctx); /* called at the deadline; NULL: the socket is shut down then */
    void *ctx;               /* argument of wake */
};

/* The thread and its ring of deadlines, protected by `lock`. */
struct deadlines {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* nearest_ns or stop has changed; on the monotonic clock */
    pthread_cond_t woken;   /* `waking` has become 0 */
    struct deadline head;   /* head of the ring */
    int64_t nearest_ns;     /* monotonic time at which the thread wakes up next */
    bool stop, awake;       /* the thread must end; deadlines_wake was called, so none may wait */
    int waking;             /* number of calls of wake() that are running */
};

/* For every deadline that has passed and has a wake(), set the deadline to CLOCK_NEVER, remove its
 * wake() and call it.  Call with the lock held; it is released during each wake().  A connection
 * that waits cannot be closed meanwhile.
 */
static void wake_due(struct deadlines *d, int64_t now_ns)
{
    struct deadline *x = d->head.next;

    while (x != &d->head) {
        void (*wake)(void *ctx) = x->wake;
        void *ctx = x->ctx;

        if (!wake || x->at_ns > now_ns) {
            x = x->next;
            continue;
        }
        x->wake = NULL;
        x->at_ns = CLOCK_NEVER;
        d->waking++;
        pthread_mutex_unlock(&d->lock);
        wake(ctx);
        pthread_mutex_lock(&d->lock);
        if (--d->waking == 0)
            pthread_cond_broadcast(&d->woken);
        x = d->head.next;
    }
}

/* Call the wake() of every deadline that has passed, or shut its socket down if it has no wake().
 * Return the earliest of all remaining deadlines; CLOCK_NEVER: there is none.  Call with the lock
 * held; it is released during each wake().
 */
static int64_t sweep(struct deadlines *d, int64_t now_ns)
{
    int64_t nearest = CLOCK_NEVER;

    wake_due(d, now_ns);

    for (struct deadline *x = d->head.next; x != &d->head; x = x->next) {
        if (x->at_ns <= now_ns && !x->wake) {
            (void)shutdown(x->fd, SHUT_RDWR);
            x->at_ns = CLOCK_NEVER; /* the server reads the end of the stream and closes it */
        }
        if (x->at_ns < nearest)
            nearest = x->at_ns;
    }
    return nearest;
}

/* Run the thread of the deadlines, for pthread_create: call sweep at each deadline until d->stop.
 * Return NULL always.
 */
static void *deadlines_thread(void *arg)
{
    struct deadlines *d = arg;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&d->lock);

    while (!d->stop) {
        d->nearest_ns = sweep(d, clock_now_ns());
        clock_cond_wait(&d->changed, &d->lock, d->nearest_ns);
    }
    return NULL;
}

int deadlines_start(struct deadlines **ret, struct eddis_error *err)
{
    struct deadlines *d = calloc(1, sizeof *d);
    int e;

    if (!d)
        return eddis_fail(err, -ENOMEM, "no memory for the server's deadlines");
    d->head.next = d->head.prev = &d->head;
    d->nearest_ns = CLOCK_NEVER;
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    pthread_cond_init(&d->woken, NULL);
    e = pthread_create(&d->thread, NULL, deadlines_thread, d);
    if (e) {
        pthread_cond_destroy(&d->woken);
        pthread_cond_destroy(&d->changed);
        pthread_mutex_destroy(&d->lock);
        free(d);
        return eddis_fail_errno(err, -e, "cannot start the thread of the server's deadlines");
    }
    *ret = d;
    return 0;
}

void deadlines_stop(struct deadlines *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    while (d->head.next != &d->head)
        deadline_remove(d, d->head.next);
    pthread_cond_destroy(&d->woken);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* If at_ns is before the thread's next wake-up, let it wake up at at_ns.  Call with the lock held.
 */
static void wake(struct deadlines *d, int64_t at_ns)
{
    if (at_ns < d->nearest_ns) {
        d->nearest_ns = at_ns;
        pthread_cond_signal(&d->changed);
    }
}

struct deadline *deadline_add(struct deadlines *d, int fd, int64_t at_ns)
{
    struct deadline *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->fd = fd;
    x->at_ns = at_ns;
    pthread_mutex_lock(&d->lock);
    x->next = d->head.next;
    x->prev = &d->head;
    x->next->prev = x;
    d->head.next = x;
    wake(d, at_ns);
    pthread_mutex_unlock(&d->lock);
    return x;
}

void deadline_set(struct deadlines *d, struct deadline *x, int64_t at_ns)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&d->lock);

    x->at_ns = at_ns;
    wake(d, at_ns);
}

bool deadline_hold(struct deadlines *d, struct deadline *x, int64_t at_ns,
                   void (*wake_fn)(void *ctx), void *ctx)
{
    bool held;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&d->lock);

    held = !d->awake;
    if (held) {
        x->wake = wake_fn;
        x->ctx = ctx;
        x->at_ns = at_ns;
        wake(d, at_ns);
    }
    return held;
}

void deadlines_wake(struct deadlines *d)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&d->lock);

    d->awake = true;
    for (struct deadline *x = d->head.next; x != &d->head; x = x->next)
        if (x->wake)
            x->at_ns = 0;
    wake_due(d, 0);
    while (d->waking) /* the thread is calling a wake() */
        pthread_cond_wait(&d->woken, &d->lock);
}

void deadline_remove(struct deadlines *d, struct deadline *x)
{
    pthread_mutex_lock(&d->lock);
    x->next->prev = x->prev;
    x->prev->next = x->next;
    pthread_mutex_unlock(&d->lock);
    free(x);
}
