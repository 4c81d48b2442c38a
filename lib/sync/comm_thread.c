/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread.c - the communication thread itself: opening, what it works with, failure, closing;
 * comm_thread_impl.h says how thread and callers take turns
 */
#include "comm_thread_impl.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* ---- the thread ---- */

/* Until told to stop and nothing is left to do, or after a failure.  With the lock held. */
static void thread_loop(struct comm_thread *t)
{
    transport_moved(t->transport);
    for (;;) {
        int64_t ns;

        while (t->callers || t->halts || t->holder != HOLDER_NOBODY)
            comm_thread_sleep(t, CLOCK_NEVER);
        if (t->failure.code || (t->stop && !t->first))
            return;
        t->holder = HOLDER_THREAD;
        ns = comm_thread_turn(t, CLOCK_NEVER);
        comm_thread_give(t);
        if (ns > 0)
            comm_thread_sleep(t, clock_now_ns() + ns);
    }
}

static void thread_opened(struct comm_thread *t, int rc, const struct eddis_error *err)
{
    if (rc < 0)
        comm_thread_fail(t, rc, err);
    else
        t->place =
            (struct comm_place){ t->transport->rank, t->transport->n_ranks, t->transport->hosts };
    t->opened = true;
    comm_thread_rouse(t);
}

/* After a failure it waits for comm_thread_close: MPI ends in the thread that began it. */
static void *thread_main(void *arg)
{
    struct comm_thread *t = arg;
    struct eddis_error err = { 0 };
    bool orderly;
    int rc;

    /* The kernel's default would stretch each nap by 50 us. */
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    rc = t->open(t->open_arg, &t->transport, &err);
    pthread_mutex_lock(&t->lock);
    thread_opened(t, rc, &err);
    if (rc >= 0)
        thread_loop(t);
    while (rc >= 0 && !t->stop)
        comm_thread_sleep(t, CLOCK_NEVER);
    orderly = t->orderly && !t->failure.code;
    pthread_mutex_unlock(&t->lock);
    if (rc >= 0)
        t->close_rc = transport_close(t->transport, orderly, &t->close_err);
    return NULL;
}

/* ---- callers ---- */

static void thread_free(struct comm_thread *t)
{
    outbox_fini(&t->out);
    free(t->done_step);
    free(t->peer);
    free(t->bucket_of);
    pthread_cond_destroy(&t->event);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

/* Signals are for the program's threads. */
static int start_thread(struct comm_thread *t, struct eddis_error *err)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&t->thread, NULL, thread_main, t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc)
        return eddis_fail_errno(err, -rc, "no communication thread");
    pthread_mutex_lock(&t->lock);
    while (!t->opened)
        comm_thread_sleep(t, CLOCK_NEVER);
    rc = t->failure.code;
    pthread_mutex_unlock(&t->lock);
    if (rc < 0) {
        if (err)
            *err = t->failure;
        pthread_join(t->thread, NULL);
    }
    return rc;
}

int comm_thread_open(comm_thread_open_fn open, void *arg, struct comm_thread **ret,
                     struct eddis_error *err)
{
    struct comm_thread *t = calloc(1, sizeof *t);
    pthread_condattr_t attr;
    int rc;

    if (!t)
        return eddis_fail(err, -ENOMEM, "no memory for a communication thread");
    pthread_mutex_init(&t->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->event, &attr);
    pthread_condattr_destroy(&attr);
    t->last = &t->first;
    t->open = open;
    t->open_arg = arg;
    t->place.n_ranks = 1;
    t->threaded = open != NULL;
    rc = open ? start_thread(t, err) : 0;
    if (rc < 0) {
        thread_free(t);
        return rc;
    }
    *ret = t;
    return 0;
}

struct comm_place comm_thread_place(const struct comm_thread *t)
{
    return t->place;
}

/* Lock, and until resume nobody holds the token. */
static void halt(struct comm_thread *t)
{
    pthread_mutex_lock(&t->lock);
    t->halts++;
    comm_thread_rouse(t);
    while (t->threaded && t->holder != HOLDER_NOBODY)
        comm_thread_sleep(t, CLOCK_NEVER);
}

static void resume(struct comm_thread *t)
{
    t->halts--;
    comm_thread_rouse(t);
    pthread_mutex_unlock(&t->lock);
}

int comm_thread_set_engine(struct comm_thread *t, struct engine *e, struct eddis_error *err)
{
    size_t n = (size_t)engine_n_parameters(e) + 1;
    int64_t *done_step = malloc(n * sizeof *done_step);
    int *peer = malloc(n * sizeof *peer), *bucket_of = malloc(n * sizeof *bucket_of);

    if (!done_step || !peer || !bucket_of) {
        free(done_step);
        free(peer);
        free(bucket_of);
        return eddis_fail(err, -ENOMEM, "no memory for %zu buckets", n);
    }
    for (size_t i = 0; i < n; i++) {
        done_step[i] = -1;
        peer[i] = -1;
    }
    halt(t);
    t->done_step = done_step;
    t->peer = peer;
    t->bucket_of = bucket_of;
    t->n_parameters = engine_n_parameters(e);
    t->engine = e;
    comm_thread_publish_layout(t);
    resume(t);
    return 0;
}

void comm_thread_set_box(struct comm_thread *t, struct smb *box)
{
    halt(t);
    t->box = box;
    t->polls = true; /* it opens by being polled */
    resume(t);
}

void comm_thread_drop_engine(struct comm_thread *t)
{
    halt(t);
    free(t->done_step);
    free(t->peer);
    free(t->bucket_of);
    t->done_step = NULL;
    t->peer = NULL;
    t->bucket_of = NULL;
    t->n_buckets = t->n_parameters = 0;
    t->engine = NULL;
    resume(t);
}

void comm_thread_on_failure(struct comm_thread *t, comm_thread_failure_fn fn, void *arg)
{
    pthread_mutex_lock(&t->lock);
    t->on_failure = fn;
    t->on_failure_arg = arg;
    if (t->failure.code)
        fn(arg, &t->failure);
    pthread_mutex_unlock(&t->lock);
}

int64_t comm_thread_sent_bytes(struct comm_thread *t)
{
    int64_t n;

    pthread_mutex_lock(&t->lock);
    n = t->sent_bytes;
    pthread_mutex_unlock(&t->lock);
    return n;
}

int comm_thread_failure(struct comm_thread *t, struct eddis_error *err)
{
    int rc;

    pthread_mutex_lock(&t->lock);
    rc = comm_thread_failed(t, err);
    pthread_mutex_unlock(&t->lock);
    return rc;
}

void comm_thread_give_up(struct comm_thread *t, const char *why)
{
    struct eddis_error err = { 0 };
    int rc = eddis_fail(&err, -ECONNABORTED, "%s", why);

    pthread_mutex_lock(&t->lock);
    comm_thread_fail(t, rc, &err);
    while (t->threaded && t->holder != HOLDER_NOBODY) /* at most one turn, then it sees it */
        comm_thread_sleep(t, CLOCK_NEVER);
    pthread_mutex_unlock(&t->lock);
}

void comm_thread_abort(struct comm_thread *t, int code)
{
    if (t->transport)
        transport_abort(t->transport, code);
}

int comm_thread_close(struct comm_thread *t, bool orderly, struct eddis_error *err)
{
    int rc = 0;

    if (!t)
        return 0;
    if (t->threaded) {
        pthread_mutex_lock(&t->lock);
        t->stop = true;
        t->orderly = orderly;
        comm_thread_rouse(t);
        pthread_mutex_unlock(&t->lock);
        pthread_join(t->thread, NULL);
        rc = t->close_rc;
        if (rc < 0 && err)
            *err = t->close_err;
    }
    thread_free(t);
    return rc;
}
