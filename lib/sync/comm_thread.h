/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread.h - the communication thread: engines and general collectives over a transport
 *
 *     program's threads                       communication thread
 *     comm_thread_send(mail) ---- queue ---------> engine, collectives --> outbox --> transport
 *     comm_thread_wait <--------- published ------ done buckets, requests <-- poll <-'
 *
 * Engine and transport have one user at a time: the communication thread, which works beside the
 * program, or a caller for as long as it waits, which spares two switches of threads.  So the
 * engine's hooks may run in a caller: it must not wait with a lock held that they take.  With one
 * rank there is no thread and no transport: mail is handled by whoever sends it.
 *
 * The workers of one process share a hub, the thread with MPI behind it, since several threads in
 * MPI at once are slow: each has its end of it, with mail, engine and messages of its own, and
 * fails for itself.
 *
 * All functions may be called from any thread.
 */
#ifndef EDDIS_SYNC_COMM_THREAD_H
#define EDDIS_SYNC_COMM_THREAD_H

#include "mail.h"

#include "lib/comm/transport.h"

struct comm_hub;
struct comm_thread; /* a worker's end */

typedef int (*comm_thread_open_fn)(void *arg, struct transport **ret, struct eddis_error *err);

/* Start a thread, which opens a transport by open(arg), and closes it.  Blocks until it is open. */
int comm_hub_open(comm_thread_open_fn open, void *arg, struct comm_hub **ret,
                  struct eddis_error *err);

/* Whether it must be kept until the process ends: what it stands on cannot be started again. */
bool comm_hub_lasts(const struct comm_hub *h);

/* End the thread and free h, which has no ends any more.  orderly: see transport_close. */
int comm_hub_close(struct comm_hub *h, bool orderly, struct eddis_error *err);

/* Open another end, with a transport that is derived from the hub's.  Collective, in the same order
 * on all ranks.  Blocks until it can be used; the other ends go on meanwhile.
 */
int comm_thread_join(struct comm_hub *h, struct comm_thread **ret, struct eddis_error *err);

/* Open an end with a hub of its own, and the hub's transport.  open NULL: one rank. */
int comm_thread_open(comm_thread_open_fn open, void *arg, struct comm_thread **ret,
                     struct eddis_error *err);

/* Return this rank's place among all ranks. */
struct comm_place comm_thread_place(const struct comm_thread *t);

/* Hand over the engine, before the first mail that needs one.  Borrows it until comm_thread_close.
 * Waits for a turn under way to end, and so does each of the next two.
 */
int comm_thread_set_engine(struct comm_thread *t, struct engine *e, struct eddis_error *err);

/* Hand over this rank's end of the Soft Memory Box, before the first mail that needs it and before
 * comm_thread_set_engine.  Borrows it until comm_thread_close.
 */
void comm_thread_set_box(struct comm_thread *t, struct smb *box);

/* Forget the engine again, when no mail that needs one was sent. */
void comm_thread_drop_engine(struct comm_thread *t);

/* Queue a mail.  Never blocks for long: the lock is held for a few instructions. */
void comm_thread_send(struct comm_thread *t, struct mail *m);

/* The same of some, each but the last one linked to the next, at once. */
void comm_thread_send_all(struct comm_thread *t, struct mail *first);

enum comm_wait_kind {
    WAIT_ROUND,    /* until a parameter of a set, or every one, is combined in a round */
    WAIT_REQUEST,  /* until a request is done */
    WAIT_BOX,      /* until a request to the box is done */
    WAIT_LEFT,     /* until the box is left, after MAIL_LEAVE */
    WAIT_EXCHANGE, /* until a number of exchanges are over */
    WAIT_READY,    /* until the end's transport can be used */
};

/* What a caller waits for, and for whom it did in vain. */
struct comm_wait {
    enum comm_wait_kind kind;
    int set, parameter; /* WAIT_ROUND; -1: every one of the set */
    int64_t round;      /* of the set, from 1 */
    const struct request *request;
    const struct mail_box *box;
    int64_t exchanges; /* how many, since the first */

    /* Set when the wait times out. */
    int peer; /* rank; -1: nobody; WAIT_ROUND: this worker's own gradients are missing */
    int bucket, n_buckets; /* WAIT_ROUND: the first one that is missing, of how many */

    struct comm_wait *next; /* the communication thread's */
};

/* Wait until what w names has happened.  -ETIMEDOUT: w says for whom.  Another failure is for good.
 */
int comm_thread_wait(struct comm_thread *t, struct comm_wait *w, int64_t deadline_ns,
                     struct eddis_error *err);

/* Return the parameter's bucket, which it is until the layout changes. */
int comm_thread_bucket_of(struct comm_thread *t, int parameter);

/* Return sync_staleness (sync.h), in steps, as published last. */
int64_t comm_thread_staleness(struct comm_thread *t);

/* Return the bytes that this rank has sent so far. */
int64_t comm_thread_sent_bytes(struct comm_thread *t);

/* Return the failure that ended the communication, or 0. */
int comm_thread_failure(struct comm_thread *t, struct eddis_error *err);

/* Have fn called once, with the communication thread's lock held, when a failure ends the
 * communication, or now when one has.  It must not call the communication thread.
 */
typedef void (*comm_thread_failure_fn)(void *arg, const struct eddis_error *why);
void comm_thread_on_failure(struct comm_thread *t, comm_thread_failure_fn fn, void *arg);

/* End the communication of this rank with -ECONNABORTED and this sentence, unless it has failed.
 * When it returns nothing that is under way is gone on with: no caller's memory is used.
 */
void comm_thread_give_up(struct comm_thread *t, const char *why);

/* End all ranks at once.  May return. */
void comm_thread_abort(struct comm_thread *t, int code);

/* Close the end, with its hub if that is its own, and free t.  orderly: see transport_close;
 * nothing may be under way then.  Accepts NULL.
 */
int comm_thread_close(struct comm_thread *t, bool orderly, struct eddis_error *err);

#endif
