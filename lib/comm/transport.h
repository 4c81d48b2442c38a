/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - what carries messages between ranks: MPI, or an in-process loop
 *
 * One endpoint belongs to one rank.  All calls but transport_abort and transport_wake come from one
 * thread at a time, for all that are derived from one together; what starts MPI is closed by the
 * thread that opened it (MPI wants to be finalised by the thread that initialised it).
 */
#ifndef EDDIS_COMM_TRANSPORT_H
#define EDDIS_COMM_TRANSPORT_H

#include "op.h"

#include "lib/base/error.h"

#include <stdint.h>

struct transport;

/* What the policy of waiting (transport_rest) remembers. */
struct transport_quiet {
    int64_t moved_ns; /* when something moved last */
    int rests;        /* since something moved, or came in */
    bool unheard;     /* nothing ended the last wait: what is complete now was missed by it */
};

struct transport_ops {
    const char *name;
    int (*post)(struct transport *t, const struct comm_op *op, struct eddis_error *err);
    int (*poll)(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err);
    /* Only where messages come in without a poll of this endpoint. */
    void (*cancel)(struct transport *t);
    void (*abort)(struct transport *t, int code);
    int (*close)(struct transport *t, bool orderly, struct eddis_error *err);
    /* The next three only where `wakes` may be set.  Sleep for at most ns; return whether something
     * came in or `wake` ended it.
     */
    bool (*wait)(struct transport *t, int64_t ns);
    /* A wait that nothing ended has missed a message; return whether to wait again all the same. */
    bool (*missed)(struct transport *t);
    /* End the present wait, or the next one; from any thread. */
    void (*wake)(struct transport *t);
    /* The next two only where others can be derived from this one, see transport_derive. */
    int (*derive)(struct transport *t, struct transport **ret, struct eddis_error *err);
    int (*ready)(struct transport *t, struct eddis_error *err);
};

struct transport {
    const struct transport_ops *ops;
    int rank, n_ranks;
    bool hosts;         /* the ranks are on several hosts */
    int64_t sent_bytes; /* of all sends posted so far */
    int under_way;      /* operations posted and not yet returned by transport_poll */
    bool wakes;         /* a wait ends when a message comes in; else it must be polled */
    bool lasts;         /* once closed it cannot be opened again in this process */
    struct transport_quiet quiet;
};

/* Begin every operation of the outbox and clear it. */
int transport_post(struct transport *t, struct outbox *out, struct eddis_error *err);

/* Take completed operations, at most max.  Returns how many; never blocks. */
int transport_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err);

/* After a failure: take back every receive, so that nothing is written to its memory any more, for
 * others' polls may move messages of t as well.  One whose message is on its way comes to its end,
 * if its sender goes on within a tenth of a second.  Behind it t can only be closed.  Accepts NULL.
 */
void transport_cancel(struct transport *t);

/* For the authors of transports: a message has not the length of the receive that it met.  got:
 * bytes; SIZE_MAX: more than were expected.  Returns -EMSGSIZE.
 */
int transport_fail_length(const struct comm_op *op, size_t got, struct eddis_error *err);

/* How to rest between two polls. */
enum transport_rest_kind {
    REST_YIELD,  /* by transport_wait, which lets others have the core for a moment */
    REST_LISTEN, /* by transport_wait, until something comes in, or transport_wake */
    REST_NAP,    /* by the caller's own means: nothing that comes in would end it */
};

struct transport_rest {
    enum transport_rest_kind kind;
    int64_t ns; /* at most; not of REST_YIELD */
};

/* Say how to rest when nothing has moved, at most until the deadline.  polls: something is awaited
 * in shared memory, of which no message tells.  Accepts NULL: one rank, which awaits nothing else.
 */
struct transport_rest transport_rest(struct transport *t, bool polls, int64_t deadline_ns);

void transport_wait(struct transport *t, struct transport_rest r);

/* End the present REST_LISTEN, or the next one.  From any thread. */
void transport_wake(struct transport *t);

/* Something has moved, or somebody has begun to wait for it: rests are short again.  Accepts NULL.
 */
void transport_moved(struct transport *t);

/* End all ranks at once with this exit code.  From any thread; may return. */
void transport_abort(struct transport *t, int code);

/* Leave.  orderly: all ranks do so after a barrier; otherwise nobody is waited for.  Frees t.
 * Accepts NULL.
 */
int transport_close(struct transport *t, bool orderly, struct eddis_error *err);

/* Begin another endpoint of the same ranks, whose messages meet none of t's.  It must be closed
 * before t, which it keeps moving.  Collective, in the same order on all ranks; blocks for the
 * first one only.  -ENOTSUP: this kind has one endpoint.
 */
int transport_derive(struct transport *t, struct transport **ret, struct eddis_error *err);

/* Whether an endpoint that was derived can be used: 1, or 0 when it is to be asked again. */
int transport_ready(struct transport *t, struct eddis_error *err);

/* MPI itself (mpi.c), started with threads unless the program has, and ended by transport_close if
 * it was started here: it carries no messages, others are derived from it.  -ENODEV: MPI cannot be
 * used, with its own words.
 */
int transport_mpi_start(struct transport **ret, struct eddis_error *err);

/* An endpoint over MPI which has MPI to itself, and ends it when it is closed.  Collective.  Fails
 * as transport_mpi_start.
 */
int transport_mpi_open(struct transport **ret, struct eddis_error *err);

/* The same on the communicator that is there already.  Sends nothing, so it works where two ranks
 * cannot reach each other.  Its channels share their tags.
 */
int transport_mpi_open_world(struct transport **ret, struct eddis_error *err);

#endif
