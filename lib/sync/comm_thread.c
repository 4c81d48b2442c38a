/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread.c - the communication thread and the workers' ends of it: open, set engine and box,
 * fail, close; comm_thread_impl.h describes how thread and callers share the progress token
 */
#include "comm_thread_impl.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

/* ---- the thread ---- */

/* Check whether any end of the hub has queued commands.  Call with the lock held. */
static bool any_command(const struct comm_hub *h)
{
    for (const struct comm_thread *t = h->ends; t; t = t->next_end)
        if (t->first)
            return true;
    return false;
}

/* Take the token and make turns, until h->stop is set and no end has queued commands.  Call with
 * the lock held; it is released during turns and sleeps, and held on return.
 */
static void thread_loop(struct comm_hub *h)
{
    transport_moved(h->root);
    for (;;) {
        int64_t ns;

        while (h->callers || h->halts || h->holder != HOLDER_NOBODY)
            comm_thread_sleep(h, CLOCK_NEVER);
        if (h->stop && !any_command(h))
            return;
        h->holder = HOLDER_THREAD;
        ns = comm_thread_turn(h, CLOCK_NEVER);
        comm_thread_give(h);
        if (ns > 0)
            comm_thread_sleep(h, clock_now_ns() + ns);
    }
}

/* Record rc and err, the result of opening the transport, and wake hub_start.  Call with the lock
 * held.
 */
static void thread_opened(struct comm_hub *h, int rc, const struct eddis_error *err)
{
    h->open_err = *err;
    h->open_err.code = rc < 0 ? rc : 0;
    h->opened = true;
    comm_thread_rouse(h);
}

/* Run the communication thread of a hub, for pthread_create: open the transport, make turns, close
 * the transport.  All in one thread, because MPI must be ended by the thread that initialised it.
 * Results are in the hub: open_err, close_rc, close_err; return NULL.
 */
static void *thread_main(void *arg)
{
    struct comm_hub *h = arg;
    struct eddis_error err = { 0 };
    int rc;

    /* With the kernel's default timer slack each short sleep would take 50 us longer. */
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    rc = h->open(h->open_arg, &h->root, &err);
    pthread_mutex_lock(&h->lock);
    thread_opened(h, rc, &err);
    if (rc >= 0)
        thread_loop(h);
    pthread_mutex_unlock(&h->lock);
    if (rc >= 0)
        h->close_rc = transport_close(h->root, h->orderly, &h->close_err);
    return NULL;
}

/* ---- the hub ---- */

/* Return a new hub with a lock and an event, but no thread yet; NULL: no memory. */
static struct comm_hub *hub_new(void)
{
    struct comm_hub *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->event, NULL);
    return h;
}

/* Free a hub without a running thread. */
static void hub_free(struct comm_hub *h)
{
    pthread_cond_destroy(&h->event);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* Start the hub's thread and wait until the thread has opened the transport.  The thread blocks all
 * signals: they are for the program's threads.  Return 0 or a negative errno, that of opening or
 * creating the thread; after a failure no thread is left.
 */
static int hub_start(struct comm_hub *h, struct eddis_error *err)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&h->thread, NULL, thread_main, h);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc)
        return eddis_fail_errno(err, -rc, "no communication thread");
    pthread_mutex_lock(&h->lock);
    while (!h->opened)
        comm_thread_sleep(h, CLOCK_NEVER);
    rc = h->open_err.code;
    pthread_mutex_unlock(&h->lock);
    if (rc < 0) {
        if (err)
            *err = h->open_err;
        pthread_join(h->thread, NULL);
    }
    return rc;
}

int comm_hub_open(comm_thread_open_fn open, void *arg, struct comm_hub **ret,
                  struct eddis_error *err)
{
    struct comm_hub *h = hub_new();
    int rc;

    if (!h)
        return eddis_fail(err, -ENOMEM, "no memory for a communication thread");
    h->open = open;
    h->open_arg = arg;
    h->threaded = open != NULL;
    rc = open ? hub_start(h, err) : 0;
    if (rc < 0)
        hub_free(h);
    else
        *ret = h;
    return rc;
}

bool comm_hub_lasts(const struct comm_hub *h)
{
    return h->root && h->root->lasts;
}

int comm_hub_close(struct comm_hub *h, bool orderly, struct eddis_error *err)
{
    int rc = 0;

    if (h->threaded) {
        pthread_mutex_lock(&h->lock);
        h->stop = true;
        h->orderly = orderly;
        comm_thread_rouse(h);
        pthread_mutex_unlock(&h->lock);
        pthread_join(h->thread, NULL);
        rc = h->close_rc;
        if (rc < 0 && err)
            *err = h->close_err;
    }
    hub_free(h);
    return rc;
}

/* Begin a halt: lock the hub and wait until nobody holds the token.  Nobody takes the token until
 * resume, which also unlocks the hub.
 */
static void halt(struct comm_hub *h)
{
    pthread_mutex_lock(&h->lock);
    h->halts++;
    comm_thread_rouse(h);
    while (h->threaded && h->holder != HOLDER_NOBODY)
        comm_thread_sleep(h, CLOCK_NEVER);
}

/* End a halt and unlock the hub. */
static void resume(struct comm_hub *h)
{
    h->halts--;
    comm_thread_rouse(h);
    pthread_mutex_unlock(&h->lock);
}

/* ---- a worker's end ---- */

/* Return a new end of h, not yet in its list; NULL: no memory. */
static struct comm_thread *end_new(struct comm_hub *h)
{
    struct comm_thread *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->hub = h;
    t->last = &t->first;
    t->place.n_ranks = 1;
    return t;
}

/* Free an end and its published values. */
static void end_free(struct comm_thread *t)
{
    outbox_fini(&t->out);
    free(t->done_round);
    free(t->peer);
    free(t->bucket_of);
    free(t->set);
    free(t);
}

/* Add t to its hub's list and set its transport and place.  transport NULL: one rank.  Call in a
 * halt.
 */
static void end_add(struct comm_thread *t, struct transport *transport)
{
    t->transport = transport;
    if (transport)
        t->place = (struct comm_place){ transport->rank, transport->n_ranks, transport->hosts };
    t->next_end = t->hub->ends;
    t->hub->ends = t;
}

/* Remove t from its hub's list.  Call in a halt. */
static void end_remove(struct comm_thread *t)
{
    struct comm_thread **at = &t->hub->ends;

    while (*at != t)
        at = &(*at)->next_end;
    *at = t->next_end;
}

int comm_thread_open(comm_thread_open_fn open, void *arg, struct comm_thread **ret,
                     struct eddis_error *err)
{
    struct comm_hub *h;
    struct comm_thread *t;
    int rc = comm_hub_open(open, arg, &h, err);

    if (rc < 0)
        return rc;
    t = end_new(h);
    if (!t) {
        (void)comm_hub_close(h, false, NULL);
        return eddis_fail(err, -ENOMEM, "no memory for a communication thread");
    }
    halt(h);
    t->own_hub = t->usable = t->ready = true;
    end_add(t, h->root);
    resume(h);
    *ret = t;
    return 0;
}

int comm_thread_join(struct comm_hub *h, struct comm_thread **ret, struct eddis_error *err)
{
    struct comm_wait w = { .kind = WAIT_READY };
    struct comm_thread *t = end_new(h);
    struct transport *derived = NULL;
    int rc;

    if (!t)
        return eddis_fail(err, -ENOMEM, "no memory for a worker's communication");
    halt(h);
    rc = transport_derive(h->root, &derived, err);
    if (rc == 0)
        end_add(t, derived);
    resume(h);
    if (rc < 0) {
        end_free(t);
        return rc;
    }
    rc = comm_thread_wait(t, &w, CLOCK_NEVER, err);
    if (rc < 0)
        (void)comm_thread_close(t, false, NULL);
    else
        *ret = t;
    return rc;
}

struct comm_place comm_thread_place(const struct comm_thread *t)
{
    return t->place;
}

int comm_thread_set_engine(struct comm_thread *t, struct engine *e, struct eddis_error *err)
{
    size_t n = (size_t)engine_n_parameters(e) + 1;
    int rc = 0;

    halt(t->hub);
    t->done_round = calloc(n, sizeof *t->done_round);
    t->peer = malloc(n * sizeof *t->peer);
    t->bucket_of = malloc(n * sizeof *t->bucket_of);
    t->set = calloc((size_t)engine_n_sets(e), sizeof *t->set);
    if (t->done_round && t->peer && t->bucket_of && t->set) {
        for (size_t i = 0; i < n; i++)
            t->peer[i] = -1;
        t->n_parameters = engine_n_parameters(e);
        t->n_sets = engine_n_sets(e);
        t->engine = e;
        comm_thread_publish_layout(t);
    } else {
        rc = eddis_fail(err, -ENOMEM, "no memory for %zu buckets", n);
    }
    resume(t->hub);
    return rc;
}

void comm_thread_set_box(struct comm_thread *t, struct smb *box)
{
    halt(t->hub);
    t->box = box;
    t->polls = true; /* smb_poll opens the box, so turns must call it from now on */
    resume(t->hub);
}

void comm_thread_drop_engine(struct comm_thread *t)
{
    halt(t->hub);
    free(t->done_round);
    free(t->peer);
    free(t->bucket_of);
    free(t->set);
    t->done_round = NULL;
    t->peer = NULL;
    t->bucket_of = NULL;
    t->set = NULL;
    t->n_buckets = t->n_parameters = t->n_sets = 0;
    t->engine = NULL;
    resume(t->hub);
}

void comm_thread_on_failure(struct comm_thread *t, comm_thread_failure_fn fn, void *arg)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->hub->lock);

    t->on_failure = fn;
    t->on_failure_arg = arg;
    if (t->failure.code)
        fn(arg, &t->failure);
}

int64_t comm_thread_sent_bytes(struct comm_thread *t)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->hub->lock);

    return t->sent_bytes;
}

int comm_thread_failure(struct comm_thread *t, struct eddis_error *err)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&t->hub->lock);

    return comm_thread_failed(t, err);
}

void comm_thread_give_up(struct comm_thread *t, const char *why)
{
    struct eddis_error err = { 0 };
    int rc = eddis_fail(&err, -ECONNABORTED, "%s", why);

    halt(t->hub); /* no turn is under way; other waiting callers continue after the halt */
    transport_cancel(t->transport);
    comm_thread_fail(t, rc, &err);
    resume(t->hub);
}

void comm_thread_abort(struct comm_thread *t, int code)
{
    if (t->transport)
        transport_abort(t->transport, code);
}

int comm_thread_close(struct comm_thread *t, bool orderly, struct eddis_error *err)
{
    struct comm_hub *h;
    bool own_hub;
    int rc = 0;

    if (!t)
        return 0;
    h = t->hub;
    own_hub = t->own_hub;
    orderly = orderly && !t->failure.code;
    halt(h);
    end_remove(t);
    if (!own_hub)
        rc = transport_close(t->transport, orderly, err);
    resume(h);
    end_free(t);
    return own_hub ? comm_hub_close(h, orderly, err) : rc;
}
