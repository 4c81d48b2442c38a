/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - carries messages between ranks: MPI, or an in-process loop
 *
 * One endpoint belongs to one rank.  All calls except transport_abort and transport_wake come from
 * one thread at a time; endpoints derived from one endpoint share this thread.  An endpoint that
 * starts MPI must be closed by the thread that opened it, because MPI must be finalised by the
 * thread that initialised it.
 */
#ifndef EDDIS_COMM_TRANSPORT_H
#define EDDIS_COMM_TRANSPORT_H

#include "op.h"
#include "wakeup.h"

#include "lib/base/error.h"

#include <stdint.h>

struct transport;

/* The state of the waiting policy (transport_rest). */
struct transport_quiet {
    int64_t moved_ns; /* time of the latest progress */
    int rests;        /* number of rests since the latest progress or arrival */
    bool unheard; /* the latest wait timed out: if an operation is complete now, the wait has missed
                   * its message */
};

/* The operations of a kind of transport; see the functions of the same names below. */
struct transport_ops {
    const char *name;
    int (*post)(struct transport *t, const struct comm_op *op, struct eddis_error *err);
    int (*poll)(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err);
    /* NULL: messages arrive only in a poll of this endpoint. */
    void (*cancel)(struct transport *t);
    void (*abort)(struct transport *t, int code);
    int (*close)(struct transport *t, bool orderly, struct eddis_error *err);
    /* The next two are needed only if endpoints can be derived from this one, see transport_derive.
     */
    int (*derive)(struct transport *t, struct transport **ret, struct eddis_error *err);
    int (*ready)(struct transport *t, struct eddis_error *err);
};

/* One rank's endpoint; the first member of every kind's own struct. */
struct transport {
    const struct transport_ops *ops;
    int rank, n_ranks;
    bool hosts;         /* the ranks are on several hosts */
    int64_t sent_bytes; /* bytes of all sends posted so far */
    int under_way;      /* number of operations posted and not yet returned by transport_poll */
    bool wakes;         /* a wait ends when a message arrives; false: the endpoint must be polled */
    bool lasts;         /* once closed it cannot be opened again in this process */
    struct wakeup *wakeup; /* to wait on; NULL: `wakes` is false */
    struct transport_quiet quiet;
};

/* Start every operation of the send queue and clear the queue.  Return 0 or a negative errno; the
 * operations before the failed one are then under way, and the queue is not cleared.
 */
int transport_post(struct transport *t, struct outbox *out, struct eddis_error *err);

/* Store completed operations in ret, at most max.  Return their number or a negative errno.  Never
 * block.
 */
int transport_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err);

/* Cancel every receive after a failure, so that its memory is not written any more; other
 * endpoints' polls may move messages of t too.  A receive whose message is in transit completes, if
 * its sender continues within a tenth of a second.  Afterwards t can only be closed.  Accept NULL.
 */
void transport_cancel(struct transport *t);

/* Fill err for a message whose length differs from its receive op, and return -EMSGSIZE; for
 * authors of transports.  got: its length in bytes; SIZE_MAX: longer than expected.
 */
int transport_fail_length(const struct comm_op *op, size_t got, struct eddis_error *err);

/* The ways to rest between two polls. */
enum transport_rest_kind {
    REST_YIELD,  /* transport_wait yields the core for a moment */
    REST_LISTEN, /* transport_wait sleeps until a message arrives or transport_wake is called */
    REST_NAP,    /* the caller sleeps by its own means: an arriving message would not end it */
};

/* How to rest, and for how long. */
struct transport_rest {
    enum transport_rest_kind kind;
    int64_t ns; /* longest rest; unused for REST_YIELD */
};

/* Return how to rest after a poll without progress, at most until deadline_ns.  polls: the caller
 * also waits for shared memory, which sends no messages.  Accept NULL: one rank, which only waits
 * for shared memory.
 */
struct transport_rest transport_rest(struct transport *t, bool polls, int64_t deadline_ns);

/* Rest as r says; r.kind is REST_YIELD or REST_LISTEN. */
void transport_wait(struct transport *t, struct transport_rest r);

/* End the present REST_LISTEN, or the next one.  Any thread may call it. */
void transport_wake(struct transport *t);

/* Record that there was progress, or that a caller begins to wait: rests are short again.  Accept
 * NULL.
 */
void transport_moved(struct transport *t);

/* End all ranks immediately with this exit code.  Any thread may call it.  The call may return
 * before this process ends.
 */
void transport_abort(struct transport *t, int code);

/* Close the endpoint and free t.  orderly: all ranks close it, after a barrier; false: do not wait
 * for anybody.  Accept NULL.  Return 0 or a negative errno; t is freed in any case.
 */
int transport_close(struct transport *t, bool orderly, struct eddis_error *err);

/* Begin to open another endpoint of the same ranks; its messages never match t's.  It must be
 * closed before t, and its polls make t progress.  Collective: call in the same order on all ranks.
 * Only the first call blocks.  The endpoint *ret can be used once transport_ready says so.  Return
 * 0 or a negative errno; -ENOTSUP: this kind has only one endpoint.
 */
int transport_derive(struct transport *t, struct transport **ret, struct eddis_error *err);

/* Return 1 if a derived endpoint can be used, 0 if the caller must ask again, or a negative errno.
 */
int transport_ready(struct transport *t, struct eddis_error *err);

/* Open MPI itself (mpi.c): start it with threads, unless the program has, and end it in
 * transport_close if it was started here.  It carries no messages; endpoints are derived from it.
 * Return 0 or a negative errno; transport_close frees *ret.  -ENODEV: MPI cannot be used; err gives
 * MPI's own message.
 */
int transport_mpi_start(struct transport **ret, struct eddis_error *err);

/* Open an endpoint over MPI with a root of its own, which transport_close of the endpoint closes
 * too.  Collective.  Return 0 or a negative errno; -ENODEV as transport_mpi_start.
 */
int transport_mpi_open(struct transport **ret, struct eddis_error *err);

/* Open an endpoint on MPI_COMM_WORLD itself.  This sends nothing, so it works even if two ranks
 * cannot reach each other.  All its channels share their tags.  Return 0 or a negative errno;
 * transport_close frees *ret.
 */
int transport_mpi_open_world(struct transport **ret, struct eddis_error *err);

#endif
