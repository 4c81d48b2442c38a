/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread_impl.h - the progress token of the communication thread, and a turn of its holder
 *
 * Whoever holds the token makes progress for all workers of the hub: takes the mail, hands engine,
 * box and collectives what the transport has completed, posts what they send.  The thread holds it,
 * or a caller as long as it waits: waking the thread and being woken by it would double the delay
 * of a small message.
 *
 *                           mail, or time to look             a caller waits
 *             thread holds <--------------------- nobody holds --------------> caller holds
 *                  |                                ^      ^                        |
 *                  '---- after every turn ----------'      '------- its wait ends --'
 *
 * What the three do:
 *     nobody holds   the thread sleeps by the event, until mail or for a time that transport_rest
 *                    says, which is why a caller mostly finds the token free
 *     thread holds   one turn without the lock; when nothing moved it rests, and when it rests in
 *                    the transport, still with the token, `listens` is set
 *     caller holds   turns without the lock until it has what it waits for; rests likewise, but
 *                    sleeps by the event with the token, so that it loses no time to take it again
 *
 * Handing over: a caller counts as one of `callers` from the begin of its wait to the end.  As long
 * as there are any the thread leaves the token alone, and gives it as soon as its turn is over; if
 * it listens it is woken.  The caller yields until then, since it would be woken later than that;
 * to sleep doubled the time of a small sum between hosts.  Where another caller holds the token it
 * sleeps by the event.  During a halt, which is how engine and box are set, the holder gives the
 * token after its turn and nobody takes it.
 *
 * No wake-up is lost.  All that somebody may sleep for (mail, failure, stop, callers, halts,
 * holder, what is published) changes under the lock, and comm_thread_rouse follows before the lock
 * is let go. Who goes to sleep has looked at it under the lock and not let go of it since: a wait
 * for the event does that in one, and `listens` is set before the lock is let go, from when on a
 * rouse wakes the transport, which keeps a wake-up that comes before its wait.
 *
 * No deadlock.  The holder waits for no other thread but for locks that the engine's hooks take;
 * nobody may wait for the token with one of those held.
 *
 * With one rank there is no thread and no transport, and turns are made under the lock, which then
 * is all that keeps two apart: of callers that wait and of those that send mail.
 */
#ifndef EDDIS_SYNC_COMM_THREAD_IMPL_H
#define EDDIS_SYNC_COMM_THREAD_IMPL_H

#include "comm_thread.h"

#include <pthread.h>

enum holder { HOLDER_NOBODY, HOLDER_THREAD, HOLDER_CALLER };

/* The thread and the token: what the workers of a process share. */
struct comm_hub {
    pthread_mutex_t lock; /* of the hub and of all its workers' ends */
    pthread_cond_t event; /* something has changed that somebody may sleep for */
    pthread_t thread;
    bool threaded; /* false: one rank */

    /* The token and who wants it, guarded by lock. */
    enum holder holder;
    struct transport *listens; /* that the holder rests in; NULL: it does not */
    int callers;               /* that wait */
    int halts;                 /* by those who change what is the holder's: nobody takes it */

    /* Guarded by lock. */
    bool opened, stop, orderly;
    struct eddis_error open_err; /* code 0: none */
    int close_rc;
    struct eddis_error close_err;

    /* The holder's; others change them in a halt. */
    struct comm_thread *ends;
    struct transport *root; /* the ends' own are derived from it, or it is the only end's */

    comm_thread_open_fn open;
    void *open_arg;
};

/* What is known of a set's last round; buckets by their numbers among all. */
struct published_set {
    int first, end; /* its buckets; end: behind the last */
    int64_t round;  /* engine_rounds_begun of these; for it ... */
    int left;       /* ... the buckets before this one have left ... */
    int combined;   /* ... and those before this one are combined */
    int held_peer;  /* whom the buckets wait for that have not left; -1: nobody */
};

struct comm_thread {
    struct comm_hub *hub;
    struct comm_thread *next_end;
    bool own_hub; /* made for this end alone */

    /* Guarded by the hub's lock. */
    struct mail *first, **last;
    struct eddis_error failure; /* code 0: none */
    comm_thread_failure_fn on_failure;
    void *on_failure_arg;
    unsigned requests[REQUEST_LEVELS]; /* sent so far */
    struct comm_wait *box_waits;       /* of kind WAIT_BOX, under way */

    /* Published, guarded by the hub's lock. */
    bool ready;          /* usable */
    int64_t *done_round; /* [n_buckets], room for one a parameter */
    int *peer;           /* [n_buckets] of those that have left */
    int *bucket_of;      /* [n_parameters] */
    int n_buckets, n_parameters;
    struct published_set *set; /* [n_sets] */
    int n_sets;
    int layouts; /* engine_layouts of these */
    bool left;   /* the box */
    int64_t exchanges, staleness;
    int exchange_peer;
    int64_t sent_bytes;

    /* The holder's; others change them in a halt.  The transport's pointer does not change once
     * opened.
     */
    struct engine *engine; /* NULL: none */
    struct smb *box;       /* NULL: none */
    struct transport *transport;
    bool usable; /* the transport */
    struct outbox out;
    struct request *active;
    struct mail_box *boxed; /* requests to the box that are done and not published */
    bool polls;             /* something waits for shared memory */

    /* Of the present turn. */
    bool in_turn; /* it had not failed when the turn began */
    struct mail *taken;
    int moved; /* whether anything has, or a failure */
    struct eddis_error turn_err;

    struct comm_place place;
};

/* Whether the hub's transport carries nothing itself. */
static inline bool comm_hub_derives(const struct comm_hub *h)
{
    return h->root && h->root->ops->derive;
}

/* All with the hub's lock held. */

/* Make one turn, for the holder, and rest when nothing moved, until deadline_ns at most; both
 * without the lock unless there is one rank.  Returns 0, or for how many ns the holder may sleep by
 * the event before the next turn; the lock was not let go of then since mail was looked for.
 */
int64_t comm_thread_turn(struct comm_hub *h, int64_t deadline_ns);

/* Make known what is done and for whom the rest waits; for the holder. */
void comm_thread_publish(struct comm_thread *t);

/* Take the engine's layout, which may have changed. */
void comm_thread_publish_layout(struct comm_thread *t);

/* End the communication with this failure unless it has ended. */
void comm_thread_fail(struct comm_thread *t, int rc, const struct eddis_error *err);

/* Return the failure as err. */
int comm_thread_failed(const struct comm_thread *t, struct eddis_error *err);

/* Wake all that sleep, the holder among them. */
void comm_thread_rouse(struct comm_hub *h);

/* Give the token back. */
void comm_thread_give(struct comm_hub *h);

/* Sleep until the next event, at most until deadline_ns; CLOCK_NEVER: until it comes. */
void comm_thread_sleep(struct comm_hub *h, int64_t deadline_ns);

#endif
