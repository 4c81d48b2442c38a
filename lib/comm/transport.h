/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - what carries messages between ranks: MPI, or an in-process loop
 *
 * One endpoint belongs to one rank.  All calls but transport_abort come from one thread, the one
 * that opened it (MPI wants to be finalised by the thread that initialised it).
 */
#ifndef EDDIS_COMM_TRANSPORT_H
#define EDDIS_COMM_TRANSPORT_H

#include "op.h"

#include "lib/base/error.h"

#include <stdint.h>

struct transport;

struct transport_ops {
    const char *name;
    int (*post)(struct transport *t, const struct comm_op *op, struct eddis_error *err);
    int (*poll)(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err);
    void (*abort)(struct transport *t, int code);
    int (*close)(struct transport *t, bool orderly, struct eddis_error *err);
};

struct transport {
    const struct transport_ops *ops;
    int rank, n_ranks;
    bool hosts;         /* the ranks are on several hosts */
    int64_t sent_bytes; /* of all sends posted so far */
    int under_way;      /* operations posted and not yet returned by transport_poll */
};

/* Begin every operation of the outbox and clear it. */
int transport_post(struct transport *t, struct outbox *out, struct eddis_error *err);

/* Take completed operations, at most max.  Returns how many; never blocks. */
int transport_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err);

/* For the authors of transports: a message has not the length of the receive that it met.  got:
 * bytes; SIZE_MAX: more than were expected.  Returns -EMSGSIZE.
 */
int transport_fail_length(const struct comm_op *op, size_t got, struct eddis_error *err);

/* End all ranks at once with this exit code.  From any thread; may return. */
void transport_abort(struct transport *t, int code);

/* Leave.  orderly: all ranks do so after a barrier; otherwise nobody is waited for.  Frees t.
 * Accepts NULL.
 */
int transport_close(struct transport *t, bool orderly, struct eddis_error *err);

/* An endpoint over MPI (mpi.c).  Starts MPI with threads when the program has not, and then ends
 * it in close; messages travel on a communicator of their own.  Collective.  -ENODEV: MPI cannot
 * be used, with its own words.
 */
int transport_mpi_open(struct transport **ret, struct eddis_error *err);

/* The same on the communicator that is there already, for a program that has MPI to itself.  Sends
 * nothing, so it works where two ranks cannot reach each other.  Its channels share their tags.
 */
int transport_mpi_open_world(struct transport **ret, struct eddis_error *err);

#endif
