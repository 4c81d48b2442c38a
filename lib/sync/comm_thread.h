/* SPDX-License-Identifier: Apache-2.0 */
/* comm_thread.h - the communication thread: engines and general collectives over a transport
 *
 *     program's threads                    communication thread
 *     comm_thread_send(m) ----- queue -------> engine, collectives --> send queue --> transport
 *     comm_thread_wait <------- published ---- done buckets, requests <-- poll <-----'
 *
 * Engine and transport have one user at a time: the communication thread, or a caller while it
 * waits, which saves two thread switches.  So the engine's hooks may run in a caller, which must
 * not wait while it holds a lock that they take.  With one rank there is no thread and no
 * transport: the sender of a command handles it.
 *
 * The workers of one process share a hub, the thread that calls MPI, because several threads inside
 * MPI at once are slow.  Each worker has its own endpoint of the hub, called an end here, with its
 * own commands, engine and messages.  A failure of one end does not affect the others.
 *
 * All functions may be called from any thread.
 */
#ifndef EDDIS_SYNC_COMM_THREAD_H
#define EDDIS_SYNC_COMM_THREAD_H

#include "command.h"

#include "lib/comm/transport.h"

struct comm_hub;
struct comm_thread; /* one worker's end (endpoint) of a hub */

/* Open a transport into *ret; called in the communication thread. */
typedef int (*comm_thread_open_fn)(void *arg, struct transport **ret, struct eddis_error *err);

/* Start a thread, which opens a transport by open(arg) and later closes it.  Block until the
 * transport is open.  open NULL: one rank, neither thread nor transport.  The caller frees *ret by
 * comm_hub_close.  Return 0 or a negative errno, also that of open.
 */
int comm_hub_open(comm_thread_open_fn open, void *arg, struct comm_hub **ret,
                  struct eddis_error *err);

/* Check whether the hub must be kept until the process ends because its transport cannot be opened
 * again.
 */
bool comm_hub_lasts(const struct comm_hub *h);

/* End the thread and free h, which must have no ends.  orderly: see transport_close.  Return 0 or a
 * negative errno of closing the transport; h is freed in either case.
 */
int comm_hub_close(struct comm_hub *h, bool orderly, struct eddis_error *err);

/* Open one more end of hub h; its transport is derived from the hub's transport.  Collective: call
 * it in the same order on all ranks.  Block until the new end can be used; the other ends of h
 * continue meanwhile.  The caller frees *ret by comm_thread_close.  Return 0 or a negative errno.
 */
int comm_thread_join(struct comm_hub *h, struct comm_thread **ret, struct eddis_error *err);

/* Open a hub and its only end, which uses the hub's transport.  open and arg: see comm_hub_open;
 * NULL: one rank.  The caller frees *ret by comm_thread_close.  Return 0 or a negative errno, as
 * comm_hub_open.
 */
int comm_thread_open(comm_thread_open_fn open, void *arg, struct comm_thread **ret,
                     struct eddis_error *err);

/* Return this rank's place among all ranks. */
struct comm_place comm_thread_place(const struct comm_thread *t);

/* Set the engine before the first command that needs one; borrow it until comm_thread_close.  Block
 * until no turn of the communication thread is under way.  Return 0 or -ENOMEM.  After a failure
 * call comm_thread_drop_engine.
 */
int comm_thread_set_engine(struct comm_thread *t, struct engine *e, struct eddis_error *err);

/* Set this rank's end of the Soft Memory Box before the first command that needs it, and before
 * comm_thread_set_engine.  Borrow it until comm_thread_close.  Block as comm_thread_set_engine
 * does.
 */
void comm_thread_set_box(struct comm_thread *t, struct smb *box);

/* Remove the engine again.  Call it only if no command that needs the engine has been sent.  Block
 * as comm_thread_set_engine does.
 */
void comm_thread_drop_engine(struct comm_thread *t);

/* Queue a command.  Never block for long: the lock is held for a few instructions.  With one rank,
 * handle the command before returning.
 */
void comm_thread_send(struct comm_thread *t, struct command *m);

/* Queue several commands together; each is linked to the next by `next`, and the last to NULL. */
void comm_thread_send_all(struct comm_thread *t, struct command *first);

/* The event that a caller waits for. */
enum comm_wait_kind {
    WAIT_ROUND,    /* one parameter of a set, or every parameter of it, is combined in a round */
    WAIT_REQUEST,  /* a request is done */
    WAIT_BOX,      /* a request to the box is done */
    WAIT_LEFT,     /* the box is left, after MAIL_LEAVE */
    WAIT_EXCHANGE, /* a number of exchanges are over */
    WAIT_READY,    /* the end's transport can be used */
};

/* What a caller waits for, and after a time-out the rank that was missing. */
struct comm_wait {
    enum comm_wait_kind kind;
    int set, parameter; /* WAIT_ROUND: set, and parameter in it; parameter -1: every one */
    int64_t round;      /* WAIT_ROUND: round of the set, from 1 */
    const struct request *request;
    const struct command_queue *box;
    int64_t exchanges; /* WAIT_EXCHANGE: how many exchanges must be over, from the first one on */

    /* Set when the wait times out. */
    int peer;              /* missing rank; -1: none, or WAIT_ROUND: this worker's own gradients */
    int bucket, n_buckets; /* WAIT_ROUND: the first missing bucket, and the number of buckets */

    struct comm_wait *next; /* used by the communication thread */
};

/* Wait until the event in w has happened.  Return 0 or a negative errno; -ETIMEDOUT: deadline_ns
 * has passed, w names the missing rank, and the wait may be repeated.  Any other failure is
 * permanent.
 */
int comm_thread_wait(struct comm_thread *t, struct comm_wait *w, int64_t deadline_ns,
                     struct eddis_error *err);

/* Return the parameter's bucket, valid until the layout changes. */
int comm_thread_bucket_of(struct comm_thread *t, int parameter);

/* Return the most recently published sync_staleness (sync.h), in steps. */
int64_t comm_thread_staleness(struct comm_thread *t);

/* Return the bytes that this rank has sent so far. */
int64_t comm_thread_sent_bytes(struct comm_thread *t);

/* Return the failure that ended the communication, with its text in err; 0: none. */
int comm_thread_failure(struct comm_thread *t, struct eddis_error *err);

/* Report the failure that ended the communication.  Called with the communication thread's lock
 * held, so it must not call the communication thread.
 */
typedef void (*comm_thread_failure_fn)(void *arg, const struct eddis_error *why);

/* Let fn(arg) be called one time, when a failure ends the communication; if one has ended it
 * already, call fn(arg) now.
 */
void comm_thread_on_failure(struct comm_thread *t, comm_thread_failure_fn fn, void *arg);

/* End this rank's communication with -ECONNABORTED and the text `why`, unless it has failed.
 * Afterwards nothing under way continues, so no caller's memory is used.
 */
void comm_thread_give_up(struct comm_thread *t, const char *why);

/* End all ranks immediately with this exit code.  The call may return before this process ends. */
void comm_thread_abort(struct comm_thread *t, int code);

/* Close the end and free t; if comm_thread_open has opened it, also close its hub.  orderly: see
 * transport_close; nothing may be under way then.  Accept NULL.  Return 0 or a negative errno of
 * closing the transport; t is freed in either case.
 */
int comm_thread_close(struct comm_thread *t, bool orderly, struct eddis_error *err);

#endif
