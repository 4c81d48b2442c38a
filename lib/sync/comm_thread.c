/* SPDX-License-Identifier: Apache-2.0 */
#include "comm_thread_impl.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* ---- handling, in the communication thread or, with one rank, under the lock ---- */

static int comm_thread_start_request(struct comm_thread *d, struct request *r,
                                     struct eddis_error *err)
{
    int rc = collective_start(r->collective, r->tag, &d->out, err);

    if (rc < 0)
        return rc;
    collective_set_user(r->collective, r);
    r->next_active = d->active;
    d->active = r;
    r->started = true;
    return 0;
}

/* With one rank there is nobody to send to. */
static int comm_thread_post(struct comm_thread *d, struct eddis_error *err)
{
    return d->transport ? transport_post(d->transport, &d->out, err) : 0;
}

/* A request to the box is done. */
static void comm_thread_boxed(struct comm_thread *d, struct smb_request *r)
{
    struct mail_box *m = r->user;

    m->next_done = d->boxed;
    d->boxed = m;
}

static int comm_thread_start_box(struct comm_thread *d, struct mail_box *m, int64_t now_ns,
                                 struct eddis_error *err)
{
    int rc;

    m->r.user = m;
    rc = smb_start(d->box, &m->r, now_ns, &d->out, err);
    if (rc == 1)
        comm_thread_boxed(d, &m->r);
    return rc < 0 ? rc : 0;
}

static int comm_thread_handle(struct comm_thread *d, struct engine *e, struct mail *m,
                              struct eddis_error *err)
{
    int64_t now = clock_now_ns();

    switch (m->kind) {
    case MAIL_BEGIN:
        engine_begin(e, &((struct mail_begin *)m)->step, now);
        return 0;
    case MAIL_WEIGHT:
        engine_set_weight(e, ((struct mail_weight *)m)->weight);
        return 0;
    case MAIL_ANNOUNCE:
        return engine_announce(e, &((struct mail_announce *)m)->what, now, &d->out, err);
    case MAIL_FINISH:
        return engine_finish(e, now, &d->out, err);
    case MAIL_EXCHANGE:
        return engine_exchange(e, ((struct mail_exchange *)m)->what,
                               ((struct mail_exchange *)m)->step, now, &d->out, err);
    case MAIL_BOX:
        return comm_thread_start_box(d, (struct mail_box *)m, now, err);
    case MAIL_LEAVE:
        smb_leave(d->box);
        return 0;
    case MAIL_REQUEST:
        break;
    }
    return comm_thread_start_request(d, (struct request *)m, err);
}

static int comm_thread_handle_all(struct comm_thread *d, struct engine *e, struct mail *m,
                                  struct eddis_error *err)
{
    while (m) {
        struct mail *next = m->next; /* m may be used again once it is handled */
        int rc = comm_thread_handle(d, e, m, err);

        if (rc == 0)
            rc = comm_thread_post(d, err);
        if (rc < 0)
            return rc;
        m = next;
    }
    return 0;
}

static int comm_thread_dispatch(struct comm_thread *d, struct engine *e, const struct comm_op *op,
                                struct eddis_error *err)
{
    switch (op->channel) {
    case COMM_REQUESTS:
        return collective_done(op->owner, op, &d->out, err);
    case COMM_BOX:
        return smb_receive(d->box, op, clock_now_ns(), &d->out, err);
    default:
        return engine_receive(e, op, clock_now_ns(), &d->out, err);
    }
}

/* Take what the transport has completed.  Returns how much, or a failure. */
static int comm_thread_receive(struct comm_thread *d, struct engine *e, struct eddis_error *err)
{
    struct comm_op op[COMM_THREAD_POLL];
    int n = transport_poll(d->transport, op, COMM_THREAD_POLL, err);

    for (int i = 0; i < n; i++) {
        int rc = comm_thread_dispatch(d, e, &op[i], err);

        if (rc >= 0)
            rc = transport_post(d->transport, &d->out, err);
        if (rc < 0)
            return rc;
    }
    return n;
}

/* What is done is the algorithm's, which goes on, or a caller's. */
static int comm_thread_poll_box(struct comm_thread *d, struct engine *e, struct eddis_error *err)
{
    struct smb_request *r;
    int rc = 0;

    if (smb_polls(d->box)) {
        rc = smb_poll(d->box, clock_now_ns(), &d->out, err);
        d->polls |= smb_awaits_memory(d->box);
    }
    while (rc >= 0 && (r = smb_take_done(d->box))) {
        int own = e ? engine_box(e, r, clock_now_ns(), &d->out, err) : 0;

        if (own == 0)
            comm_thread_boxed(d, r);
        rc = own < 0 ? own : 1;
    }
    return rc;
}

/* Look at what others did in shared memory.  Returns whether anything moved, or a failure. */
static int comm_thread_poll(struct comm_thread *d, struct engine *e, struct eddis_error *err)
{
    int rc = 0, moved = 0;

    d->polls = false;
    if (e && engine_polls(e)) {
        rc = moved = engine_poll(e, clock_now_ns(), &d->out, err);
        d->polls = engine_polls(e);
    }
    for (struct request *r = d->active; rc >= 0 && r; r = r->next_active) {
        if (!collective_polls(r->collective))
            continue;
        rc = collective_poll(r->collective, &d->out, err);
        moved |= rc > 0;
        d->polls |= collective_polls(r->collective);
    }
    if (rc >= 0 && d->box) {
        rc = comm_thread_poll_box(d, e, err);
        moved |= rc > 0;
    }
    if (rc >= 0)
        rc = comm_thread_post(d, err);
    return rc < 0 ? rc : moved;
}

/* ---- publishing, under the lock ---- */

/* Returns whether one is done. */
static bool comm_thread_publish_requests(struct comm_thread *d)
{
    struct request **at = &d->active;
    bool done = false;

    while (*at) {
        struct request *r = *at;

        r->peer = collective_waits_for(r->collective);
        if (r->peer < 0) {
            *at = r->next_active;
            r->done = true; /* from here on it is the caller's */
            done = true;
        } else {
            at = &r->next_active;
        }
    }
    return done;
}

static bool comm_thread_publish_boxed(struct comm_thread *d)
{
    bool done = d->boxed != NULL;

    while (d->boxed) {
        struct mail_box *m = d->boxed;

        d->boxed = m->next_done;
        m->done = true; /* from here on it is the caller's */
    }
    return done;
}

/* The engine's layout, which may have changed. */
static void comm_thread_publish_layout(struct comm_thread *d)
{
    d->layouts = engine_layouts(d->engine);
    d->n_buckets = engine_n_buckets(d->engine);
    for (int i = 0; i < d->n_parameters; i++)
        d->bucket_of[i] = engine_bucket_of(d->engine, i);
}

static bool comm_thread_publish_exchange(struct comm_thread *d)
{
    int64_t before = d->exchanges;

    d->exchanges = engine_exchanges(d->engine);
    d->exchange_peer = engine_exchange_waits_for(d->engine);
    d->staleness = engine_staleness(d->engine);
    return d->exchanges != before;
}

/* Callers are woken only by what one may wait for, not by every message. */
void comm_thread_publish(struct comm_thread *d)
{
    bool done = comm_thread_publish_requests(d);

    d->turns = 0;
    done |= comm_thread_publish_boxed(d);
    for (struct comm_wait *w = d->box_waits; w; w = w->next)
        w->peer = smb_waits_for(d->box, &w->box->r);
    if (d->box && smb_left(d->box) && !d->left)
        d->left = done = true;
    if (d->engine && d->layouts != engine_layouts(d->engine))
        comm_thread_publish_layout(d);
    for (int i = 0; i < d->n_buckets; i++) {
        int64_t step = engine_done_step(d->engine, i);

        done |= step != d->done_step[i];
        d->done_step[i] = step;
        d->peer[i] = engine_waits_for(d->engine, i);
    }
    if (d->engine)
        done |= comm_thread_publish_exchange(d);
    if (d->transport)
        d->sent_bytes = d->transport->sent_bytes;
    if (done)
        pthread_cond_broadcast(&d->answered);
}

void comm_thread_fail(struct comm_thread *d, int rc, const struct eddis_error *err)
{
    d->failure = *err;
    d->failure.code = rc;
    if (d->on_failure)
        d->on_failure(d->on_failure_arg, &d->failure);
    /* Nobody will look at it any more, and callers free theirs. */
    d->first = NULL;
    d->last = &d->first;
    pthread_cond_broadcast(&d->answered);
}

/* ---- the thread ---- */

void comm_thread_timed_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline_ns)
{
    struct timespec ts = { .tv_sec = deadline_ns / CLOCK_S, .tv_nsec = deadline_ns % CLOCK_S };

    if (deadline_ns == CLOCK_NEVER)
        pthread_cond_wait(cond, lock);
    else
        pthread_cond_timedwait(cond, lock, &ts);
}

static int64_t between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

void comm_thread_rouse(struct comm_thread *d, pthread_cond_t *cond)
{
    pthread_cond_broadcast(cond);
    if (d->listens)
        transport_wake(d->transport);
}

static void comm_thread_pause(struct comm_thread *d)
{
    pthread_mutex_unlock(&d->lock);
    sched_yield();
    pthread_mutex_lock(&d->lock);
}

void comm_thread_hold(struct comm_thread *d)
{
    while (d->busy || d->listens) {
        if (d->listens)
            transport_wake(d->transport);
        comm_thread_pause(d);
    }
}

/* MPI takes what has come in piece by piece, and whoever else wants the core has it in between: so
 * it is asked a few times before each nap, however long that takes.
 */
static void comm_thread_listen(struct comm_thread *d, int64_t ns)
{
    bool heard;

    d->listens = true;
    pthread_mutex_unlock(&d->lock);
    heard = transport_wait(d->transport, ns);
    pthread_mutex_lock(&d->lock);
    d->listens = false;
    d->unheard = !heard;
    if (heard)
        d->turns = 0;
}

void comm_thread_nap(struct comm_thread *d, pthread_cond_t *woken, int64_t moved_ns,
                     int64_t deadline_ns)
{
    int64_t now = clock_now_ns(), quiet = now - moved_ns, left = deadline_ns - now, ns;
    bool under_way = d->transport->under_way > 0 || d->polls;

    d->unheard = false;
    if (under_way && d->transport->wakes && !d->polls) {
        if (d->turns++ < COMM_THREAD_LISTEN_TURNS)
            comm_thread_pause(d);
        else
            comm_thread_listen(d, between(between(quiet / 16, COMM_THREAD_LISTEN_MIN_NS,
                                                  COMM_THREAD_LISTEN_MAX_NS),
                                          0, left > 0 ? left : 0));
        return;
    }
    if (under_way && quiet < COMM_THREAD_SPIN_NS) {
        comm_thread_pause(d);
        return;
    }
    ns = under_way ? between(quiet / 16, COMM_THREAD_NAP_MIN_NS, COMM_THREAD_NAP_MAX_NS)
                   : between(2 * quiet, COMM_THREAD_IDLE_MIN_NS, COMM_THREAD_IDLE_MAX_NS);
    comm_thread_timed_wait(woken, &d->lock, now + (ns < left ? ns : left));
}

struct mail *comm_thread_take_mail(struct comm_thread *d)
{
    struct mail *m = d->first;

    d->first = NULL;
    d->last = &d->first;
    return m;
}

int comm_thread_turn(struct comm_thread *d, struct engine *e, struct mail *m,
                     struct eddis_error *err)
{
    int rc = comm_thread_handle_all(d, e, m, err);
    int n = rc < 0 || !d->transport ? rc : comm_thread_receive(d, e, err);
    int polled = n < 0 ? n : comm_thread_poll(d, e, err);

    if (n > 0 && d->unheard)
        transport_missed(d->transport);
    d->unheard = false;
    return polled < 0 ? polled : m || n || polled;
}

/* The thread's turn: take all mail and the engine; sleeps first when nothing moved, and as long as
 * a caller drives.  Returns false when told to stop and nothing is left to do, or after a failure.
 */
static bool comm_thread_take(struct comm_thread *d, int64_t *moved_ns, bool moved,
                             struct mail **ret, struct engine **ret_engine)
{
    bool go_on;

    pthread_mutex_lock(&d->lock);
    d->busy = false;
    if (moved) {
        *moved_ns = clock_now_ns();
        comm_thread_publish(d);
    }
    if (!d->first && !moved && !d->stop && !d->calling)
        comm_thread_nap(d, &d->mailed, *moved_ns, CLOCK_NEVER);
    while (d->calling)
        pthread_cond_wait(&d->mailed, &d->lock);
    *ret = comm_thread_take_mail(d);
    *ret_engine = d->engine;
    go_on = (*ret || !d->stop) && !d->failure.code;
    d->busy = go_on;
    pthread_mutex_unlock(&d->lock);
    return go_on;
}

static int comm_thread_loop(struct comm_thread *d, struct eddis_error *err)
{
    int64_t moved_ns = clock_now_ns();
    struct engine *e;
    struct mail *m;
    int moved = 0;

    while (comm_thread_take(d, &moved_ns, moved > 0, &m, &e)) {
        moved = comm_thread_turn(d, e, m, err);
        if (moved < 0)
            return moved;
    }
    return 0;
}

static void comm_thread_opened(struct comm_thread *d, int rc, const struct eddis_error *err)
{
    pthread_mutex_lock(&d->lock);
    if (rc < 0) {
        d->failure = *err;
        d->failure.code = rc;
    }
    d->opened = true;
    pthread_cond_broadcast(&d->answered);
    pthread_mutex_unlock(&d->lock);
}

/* After a failure: wait for comm_thread_close. */
static bool comm_thread_wait_stop(struct comm_thread *d)
{
    bool orderly;

    pthread_mutex_lock(&d->lock);
    while (!d->stop)
        pthread_cond_wait(&d->mailed, &d->lock);
    orderly = d->orderly && !d->failure.code;
    pthread_mutex_unlock(&d->lock);
    return orderly;
}

static void *comm_thread_main(void *arg)
{
    struct comm_thread *d = arg;
    struct eddis_error err = { 0 };
    bool orderly;
    int rc;

    /* The kernel's default would stretch each nap by 50 us. */
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    rc = d->open(d->open_arg, &d->transport, &err);
    if (rc >= 0)
        d->place =
            (struct comm_place){ d->transport->rank, d->transport->n_ranks, d->transport->hosts };
    comm_thread_opened(d, rc, &err);
    if (rc < 0)
        return NULL;
    rc = comm_thread_loop(d, &err);
    if (rc < 0) {
        pthread_mutex_lock(&d->lock);
        d->busy = false;
        comm_thread_fail(d, rc, &err);
        pthread_mutex_unlock(&d->lock);
    }
    orderly = comm_thread_wait_stop(d);
    d->close_rc = transport_close(d->transport, orderly, &d->close_err);
    return NULL;
}

/* ---- callers ---- */

static void comm_thread_free(struct comm_thread *d)
{
    outbox_fini(&d->out);
    free(d->done_step);
    free(d->peer);
    free(d->bucket_of);
    pthread_cond_destroy(&d->answered);
    pthread_cond_destroy(&d->mailed);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

/* Signals are for the program's threads. */
static int comm_thread_start_thread(struct comm_thread *d, struct eddis_error *err)
{
    sigset_t all, old;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    rc = pthread_create(&d->thread, NULL, comm_thread_main, d);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc)
        return eddis_fail_errno(err, -rc, "no communication thread");
    pthread_mutex_lock(&d->lock);
    while (!d->opened)
        pthread_cond_wait(&d->answered, &d->lock);
    rc = d->failure.code;
    pthread_mutex_unlock(&d->lock);
    if (rc < 0) {
        if (err)
            *err = d->failure;
        pthread_join(d->thread, NULL);
    }
    return rc;
}

int comm_thread_open(comm_thread_open_fn open, void *arg, struct comm_thread **ret,
                     struct eddis_error *err)
{
    struct comm_thread *d = calloc(1, sizeof *d);
    pthread_condattr_t attr;
    int rc;

    if (!d)
        return eddis_fail(err, -ENOMEM, "no memory for a communication thread");
    pthread_mutex_init(&d->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&d->mailed, &attr);
    pthread_cond_init(&d->answered, &attr);
    pthread_condattr_destroy(&attr);
    d->last = &d->first;
    d->open = open;
    d->open_arg = arg;
    d->place.n_ranks = 1;
    d->threaded = open != NULL;
    rc = open ? comm_thread_start_thread(d, err) : 0;
    if (rc < 0) {
        comm_thread_free(d);
        return rc;
    }
    *ret = d;
    return 0;
}

struct comm_place comm_thread_place(const struct comm_thread *d)
{
    return d->place;
}

int comm_thread_set_engine(struct comm_thread *d, struct engine *e, struct eddis_error *err)
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
    pthread_mutex_lock(&d->lock);
    d->done_step = done_step;
    d->peer = peer;
    d->bucket_of = bucket_of;
    d->n_parameters = engine_n_parameters(e);
    d->engine = e;
    comm_thread_publish_layout(d);
    pthread_mutex_unlock(&d->lock);
    return 0;
}

void comm_thread_set_box(struct comm_thread *d, struct smb *box)
{
    pthread_mutex_lock(&d->lock);
    while (d->calling)
        comm_thread_pause(d);
    d->calling = d->threaded;
    comm_thread_hold(d);
    d->box = box;
    d->polls = true; /* it opens by being polled */
    d->calling = false;
    comm_thread_rouse(d, &d->mailed);
    pthread_mutex_unlock(&d->lock);
}

void comm_thread_drop_engine(struct comm_thread *d)
{
    pthread_mutex_lock(&d->lock);
    free(d->done_step);
    free(d->peer);
    free(d->bucket_of);
    d->done_step = NULL;
    d->peer = NULL;
    d->bucket_of = NULL;
    d->n_buckets = d->n_parameters = 0;
    d->engine = NULL;
    pthread_mutex_unlock(&d->lock);
}

/* See comm_thread.h; tags of unlike levels never meet. */
static void comm_thread_number(struct comm_thread *d, struct request *r)
{
    unsigned n = d->requests[r->level]++ % (ENGINE_TAGS / REQUEST_LEVELS);

    r->tag = (int)(n * REQUEST_LEVELS + r->level);
}

void comm_thread_send(struct comm_thread *d, struct mail *m)
{
    m->next = NULL;
    pthread_mutex_lock(&d->lock);
    if (m->kind == MAIL_REQUEST)
        comm_thread_number(d, (struct request *)m);
    if (d->failure.code) {
        /* The waits say it. */
    } else if (d->threaded) {
        *d->last = m;
        d->last = &m->next;
        comm_thread_rouse(d, d->calling ? &d->answered : &d->mailed);
    } else {
        struct eddis_error err = { 0 };
        int rc = comm_thread_handle_all(d, d->engine, m, &err);

        if (rc < 0)
            comm_thread_fail(d, rc, &err);
        comm_thread_publish(d);
    }
    pthread_mutex_unlock(&d->lock);
}

void comm_thread_on_failure(struct comm_thread *d, comm_thread_failure_fn fn, void *arg)
{
    pthread_mutex_lock(&d->lock);
    d->on_failure = fn;
    d->on_failure_arg = arg;
    if (d->failure.code)
        fn(arg, &d->failure);
    pthread_mutex_unlock(&d->lock);
}

int comm_thread_failed(const struct comm_thread *d, struct eddis_error *err)
{
    if (d->failure.code && err)
        *err = d->failure;
    return d->failure.code;
}

int64_t comm_thread_sent_bytes(struct comm_thread *d)
{
    int64_t n;

    pthread_mutex_lock(&d->lock);
    n = d->sent_bytes;
    pthread_mutex_unlock(&d->lock);
    return n;
}

int comm_thread_failure(struct comm_thread *d, struct eddis_error *err)
{
    int rc;

    pthread_mutex_lock(&d->lock);
    rc = comm_thread_failed(d, err);
    pthread_mutex_unlock(&d->lock);
    return rc;
}

void comm_thread_give_up(struct comm_thread *d, const char *why)
{
    struct eddis_error err = { 0 };
    int rc = eddis_fail(&err, -ECONNABORTED, "%s", why);

    pthread_mutex_lock(&d->lock);
    if (!d->failure.code)
        comm_thread_fail(d, rc, &err);
    comm_thread_rouse(d, &d->answered);
    while (d->busy || d->listens || d->calling) /* at most one turn, then both see it */
        comm_thread_pause(d);
    pthread_mutex_unlock(&d->lock);
}

void comm_thread_abort(struct comm_thread *d, int code)
{
    if (d->transport)
        transport_abort(d->transport, code);
}

int comm_thread_close(struct comm_thread *d, bool orderly, struct eddis_error *err)
{
    int rc = 0;

    if (!d)
        return 0;
    if (d->threaded) {
        pthread_mutex_lock(&d->lock);
        d->stop = true;
        d->orderly = orderly;
        comm_thread_rouse(d, &d->mailed);
        pthread_mutex_unlock(&d->lock);
        pthread_join(d->thread, NULL);
        rc = d->close_rc;
        if (rc < 0 && err)
            *err = d->close_err;
    }
    comm_thread_free(d);
    return rc;
}
