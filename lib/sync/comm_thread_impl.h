/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread_impl.h - the progress token of the communication thread, and a turn of its holder
 *
 * The holder of the token makes progress for all workers of the hub.  It takes commands, passes
 * completed operations of the transport to engine, box and collectives, and posts their messages.
 * The thread holds the token, or a caller while it waits: waking the thread and being woken by it
 * would double the delay of a small message.
 *
 *                         command, or time to poll            a caller waits
 *             thread holds <--------------------- nobody holds --------------> caller holds
 *                  |                                ^      ^                        |
 *                  '---- after every turn ----------'      '------- its wait ends --'
 *
 * The three states:
 *     nobody holds   the thread sleeps on `event`, until a command or for the time given by
 *                    transport_rest; so a caller usually finds the token free
 *     thread holds   one turn without the lock; if nothing moved it rests.  While it rests in the
 *                    transport, still with the token, `listens` is set
 *     caller holds   turns without the lock until its wait is over; rests in the same way, but
 *                    sleeps on `event` with the token, so that it loses no time to take it again
 *
 * Handing over: a caller is counted in `callers` from the beginning to the end of its wait.  While
 * there are callers, the thread does not take the token and gives it as soon as its turn is over;
 * if it listens, it is woken.  The caller yields until then, since a wake-up would come later:
 * sleeping doubled the time of a small sum between hosts.  If another caller holds the token, the
 * caller sleeps on `event`.  During a halt, in which engine and box are set, the holder gives the
 * token after its turn and nobody takes it.
 *
 * No wake-up is lost.  All state that a thread may sleep for changes under the lock: commands,
 * failure, stop, callers, halts, holder, published values.  comm_thread_rouse follows before the
 * lock is released.  A thread that goes to sleep has checked this state under the lock and not
 * released it since.  A wait on `event` releases the lock atomically.  `listens` is set before the
 * lock is released; from then on comm_thread_rouse wakes the transport, which remembers a wake-up
 * that comes before its wait.
 *
 * No deadlock.  The holder waits for no other thread except for locks that the engine's hooks take;
 * nobody may wait for the token while holding one of those.
 *
 * With one rank there is no thread and no transport.  Turns are made under the lock, which then
 * alone keeps callers that wait and callers that send commands apart.
 */
#ifndef EDDIS_SYNC_COMM_THREAD_IMPL_H
#define EDDIS_SYNC_COMM_THREAD_IMPL_H

#include "comm_thread.h"

#include <pthread.h>

/* The holder of the progress token. */
enum holder { HOLDER_NOBODY, HOLDER_THREAD, HOLDER_CALLER };

/* The thread and the token, shared by the workers of a process. */
struct comm_hub {
    pthread_mutex_t lock; /* guards the hub and all its ends */
    pthread_cond_t event; /* signals a change of state for which a thread may sleep */
    pthread_t thread;
    bool threaded; /* false: one rank */

    /* The token and the threads that want it, guarded by lock. */
    enum holder holder;
    /* the transport in which the holder rests; NULL: the holder does not rest in a transport */
    struct transport *listens;
    int callers; /* number of waiting callers */
    /* halts under way: nobody takes the token, so that the holder's state can be changed */
    int halts;

    /* Guarded by lock. */
    bool opened, stop, orderly;
    struct eddis_error open_err; /* failure to open the transport; code 0: none */
    int close_rc;
    struct eddis_error close_err;

    /* Used by the holder of the token; other threads change them during a halt. */
    struct comm_thread *ends;
    /* the transport from which those of the ends are derived, or the transport of the only end */
    struct transport *root;

    comm_thread_open_fn open;
    void *open_arg;
};

/* The published state of a set's newest round.  Bucket numbers count over all sets. */
struct published_set {
    int first, end; /* the set's buckets are first .. end - 1 */
    int64_t round;  /* engine_rounds_begun of the set when published */
    int left;       /* in that round: number of the first bucket that has not left */
    int combined;   /* in that round: number of the first bucket that is not combined */
    int held_peer;  /* rank for which the buckets wait that have not left; -1: none */
};

/* One worker's end of a hub. */
struct comm_thread {
    struct comm_hub *hub;
    struct comm_thread *next_end;
    bool own_hub; /* the hub has no other end */

    /* Guarded by the hub's lock. */
    struct command *first, **last;
    struct eddis_error failure; /* failure that ended the communication; code 0: none */
    comm_thread_failure_fn on_failure;
    void *on_failure_arg;
    unsigned requests[REQUEST_LEVELS]; /* number of requests of each level sent so far */
    struct comm_wait *box_waits;       /* waits of kind WAIT_BOX under way */

    /* Published, guarded by the hub's lock. */
    bool ready;          /* the transport is usable */
    int64_t *done_round; /* [n_buckets] newest round in which each was combined; room for one bucket
                          * a parameter */
    int *peer;           /* [n_buckets] rank for which a bucket waits that has left; -1: none */
    int *bucket_of;      /* [n_parameters] bucket of each parameter */
    int n_buckets, n_parameters;
    struct published_set *set; /* [n_sets] */
    int n_sets;
    int layouts; /* number of the published layout, as engine_layouts counts them */
    bool left;   /* the box was left */
    int64_t exchanges, staleness;
    int exchange_peer;
    int64_t sent_bytes;

    /* Used by the holder of the token; other threads change them during a halt.  `transport` does
     * not change after it was opened.
     */
    struct engine *engine; /* NULL: none */
    struct smb *box;       /* NULL: none */
    struct transport *transport;
    bool usable; /* the transport can be used */
    struct outbox out;
    struct request *active;
    struct command_queue *boxed; /* requests to the box that are done but not yet published */
    bool polls;                  /* some operation waits for shared memory */

    /* State of the present turn. */
    bool in_turn; /* the end had not failed when the turn began */
    struct command *taken;
    int moved; /* 1: something made progress, 0: nothing did; below 0: a failure */
    struct eddis_error turn_err;

    struct comm_place place;
};

/* Check whether the ends' transports are derived from the hub's transport, which then carries no
 * messages itself.
 */
static inline bool comm_hub_derives(const struct comm_hub *h)
{
    return h->root && h->root->ops->derive;
}

/* All functions from here on are called with the hub's lock held. */

/* Make one turn for all ends, as the holder, and rest if nothing moved, until deadline_ns at most;
 * both without the lock unless there is one rank.  Return 0, or the ns that the holder may sleep on
 * `event` before the next turn; the lock was then held since commands were last checked.
 */
int64_t comm_thread_turn(struct comm_hub *h, int64_t deadline_ns);

/* Publish, as the holder, which operations are done and which ranks the remaining operations wait
 * for.
 */
void comm_thread_publish(struct comm_thread *t);

/* Publish the engine's layout, which may have changed. */
void comm_thread_publish_layout(struct comm_thread *t);

/* End the communication with this failure, unless it has ended already. */
void comm_thread_fail(struct comm_thread *t, int rc, const struct eddis_error *err);

/* Return the code of the failure that ended the communication and copy it to err; 0: none. */
int comm_thread_failed(const struct comm_thread *t, struct eddis_error *err);

/* Wake all sleeping threads, and the holder if it rests in a transport. */
void comm_thread_rouse(struct comm_hub *h);

/* Give the token back and wake all sleeping threads. */
void comm_thread_give(struct comm_hub *h);

/* Sleep until the next event, at most until deadline_ns; CLOCK_NEVER: without a limit. */
void comm_thread_sleep(struct comm_hub *h, int64_t deadline_ns);

#endif
