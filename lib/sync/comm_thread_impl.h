/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread_impl.h - what comm_thread.c, the thread, shares with comm_thread_wait.c, the callers
 * that wait */
#ifndef EDDIS_SYNC_COMM_THREAD_IMPL_H
#define EDDIS_SYNC_COMM_THREAD_IMPL_H

#include "comm_thread.h"

#include <pthread.h>

enum {
    COMM_THREAD_POLL = 64, /* completed operations taken at a time */
    /* While messages are awaited: poll without a pause for a moment after something moved, then
     * nap for a sixteenth of the time since, so that a waiting thread costs a few per cent of a
     * core and answers within a few per cent of what it waited.
     */
    COMM_THREAD_SPIN_NS = 100 * 1000,
    COMM_THREAD_NAP_MIN_NS = 20 * 1000,
    COMM_THREAD_NAP_MAX_NS = 200 * 1000,
    /* Where a message ends the nap it may be longer, and the polls before it are counted. */
    COMM_THREAD_LISTEN_TURNS = 8,
    COMM_THREAD_LISTEN_MIN_NS = 1000 * 1000,
    COMM_THREAD_LISTEN_MAX_NS = 20 * 1000 * 1000,
    /* With nothing under way only what others push through this process needs a look, the more
     * rarely the longer nothing has moved: a step of 100 ms costs five of them.
     */
    COMM_THREAD_IDLE_MIN_NS = 1000 * 1000,
    COMM_THREAD_IDLE_MAX_NS = 50 * 1000 * 1000,
};

struct comm_thread {
    pthread_mutex_t lock;
    pthread_cond_t mailed;   /* wakes the communication thread */
    pthread_cond_t answered; /* wakes waiting callers */
    pthread_t thread;
    bool threaded;

    /* Guarded by lock. */
    struct mail *first, **last;
    bool opened, stop, orderly;
    /* Transport and engine have one user at a time: the thread between two locks (`busy`), or a
     * caller as long as it waits (`calling`), and then the thread stands back.  The caller drives
     * because waking the thread and being woken by it would double the delay of a small message.
     */
    bool busy, calling;
    bool listens;               /* the one that drives naps in transport_wait */
    struct eddis_error failure; /* code 0: none */
    comm_thread_failure_fn on_failure;
    void *on_failure_arg;
    struct engine *engine;
    int64_t *done_step; /* [n_buckets], room for one a parameter */
    int *peer;          /* [n_buckets] */
    int *bucket_of;     /* [n_parameters] */
    int n_buckets, n_parameters;
    int layouts;                 /* engine_layouts of these */
    struct smb *box;             /* NULL: none */
    bool left;                   /* the box */
    struct comm_wait *box_waits; /* of kind WAIT_BOX, under way */
    int64_t exchanges, staleness;
    int exchange_peer;
    unsigned requests[REQUEST_LEVELS]; /* sent so far */
    int64_t sent_bytes;
    int close_rc;
    struct eddis_error close_err;

    /* Of the one that drives. */
    bool unheard; /* nothing ended its last nap: a message that is there now was missed */
    int turns;    /* since something moved or was heard */

    /* The communication thread's own; the transport's pointer does not change once opened. */
    comm_thread_open_fn open;
    void *open_arg;
    struct comm_place place;
    struct transport *transport;
    struct outbox out;
    struct request *active;
    struct mail_box *boxed; /* requests to the box that are done and not published */
    bool polls;             /* something waits for shared memory */
};

/* All but comm_thread_turn with the lock held. */

struct mail *comm_thread_take_mail(struct comm_thread *d);

/* Handle mail and take what has come, without the lock unless there is one rank only.  Returns
 * whether anything moved, or a failure.
 */
int comm_thread_turn(struct comm_thread *d, struct engine *e, struct mail *m,
                     struct eddis_error *err);

/* Make known what is done, or a failure. */
void comm_thread_publish(struct comm_thread *d);
void comm_thread_fail(struct comm_thread *d, int rc, const struct eddis_error *err);

/* The failure as err. */
int comm_thread_failed(const struct comm_thread *d, struct eddis_error *err);

/* Until the thread is at no turn and in no nap; `calling` is set, so it begins none. */
void comm_thread_hold(struct comm_thread *d);

/* Wake the one that drives, which waits on this condition or for messages. */
void comm_thread_rouse(struct comm_thread *d, pthread_cond_t *cond);

/* Sleep until woken, or for a time that grows with how long nothing has moved. */
void comm_thread_nap(struct comm_thread *d, pthread_cond_t *woken, int64_t moved_ns,
                     int64_t deadline_ns);

/* Wait for the condition; CLOCK_NEVER: for good. */
void comm_thread_timed_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t deadline_ns);

#endif
