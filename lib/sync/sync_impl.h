/* SPDX-License-Identifier: Apache-2.0 */
/* sync_impl.h - the operations that each algorithm implements
 *
 * An algorithm never blocks and never reads a clock, because both the communication thread over
 * MPI and the in-process loop run it.  sync.h documents the functions.
 */
#ifndef EDDIS_SYNC_SYNC_IMPL_H
#define EDDIS_SYNC_SYNC_IMPL_H

#include "sync.h"

/* The operations of an algorithm. */
struct sync_ops {
    const char *name; /* lib/model/algorithm.c describes the algorithm of this name */

    int (*open)(const struct sync_setup *o, struct sync **ret, struct eddis_error *err);
    /* NULL: the buffers never change after open. */
    int (*lay_out)(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                   struct eddis_error *err);
    int (*begin)(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err);
    int (*receive)(struct sync *s, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                   struct eddis_error *err);
    /* NULL: the algorithm never waits for shared memory. */
    bool (*polls)(const struct sync *s);
    int (*poll)(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err);
    int (*waits_for)(const struct sync *s, int buffer);
    /* NULL: results are always in the buffers themselves. */
    const void *(*result)(const struct sync *s, int buffer);
    /* exchange, box and exchange_waits_for are NULL if the algorithm has one model.  exchange and
     * box return 1 if the exchange is over.  If a message ends the exchange, receive calls
     * sync_exchange_over.
     */
    int (*exchange)(struct sync *s, const struct sync_turn *t, int64_t now_ns, struct outbox *out,
                    struct eddis_error *err);
    int (*box)(struct sync *s, struct smb_request *r, int64_t now_ns, struct outbox *out,
               struct eddis_error *err);
    int (*exchange_waits_for)(const struct sync *s);
    const struct sync_trailer *(*agreed)(const struct sync *s); /* NULL: has no rounds */
    /* Free s.  Accept a half-built instance: open uses close to clean up after a failure. */
    void (*close)(struct sync *s);
};

/* The first member of every algorithm's instance. */
struct sync {
    const struct sync_ops *ops;
    bool exchanging;
    int64_t since; /* number of steps begun since the newest exchange; exchange sets it to 0 */
};

/* Record that the exchange under way is over. */
void sync_exchange_over(struct sync *s);

/* Return the 16-bit type in which buffers of this type travel between hosts; 0: in their own type.
 * Only float32 is converted, if the wire option asks for 16 bits, and never within a host.
 */
enum comm_type sync_wire_type(const struct comm_place *p, enum sync_wire wire, enum comm_type type);

extern const struct sync_ops sync_allreduce, sync_easgd, sync_hsgd, sync_local, sync_diloco,
    sync_external;

#endif
