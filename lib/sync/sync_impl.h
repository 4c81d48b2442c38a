/* SPDX-License-Identifier: Apache-2.0 */
/* sync_impl.h - for the authors of algorithms
 *
 * An algorithm never blocks and never asks the time: the communication thread over MPI and the
 * in-process loop both run it.  Functions are documented in sync.h.
 */
#ifndef EDDIS_SYNC_SYNC_IMPL_H
#define EDDIS_SYNC_SYNC_IMPL_H

#include "sync.h"

struct sync_ops {
    const char *name; /* the row of this name in lib/model/algorithm.c says the rest */

    int (*open)(const struct sync_setup *o, struct sync **ret, struct eddis_error *err);
    /* NULL: the buffers stay those it was opened with. */
    int (*lay_out)(struct sync *s, const struct sync_buffer *buffer, int n_buffers,
                   struct eddis_error *err);
    int (*begin)(struct sync *s, int buffer, int tag, int64_t now_ns, struct outbox *out,
                 struct eddis_error *err);
    int (*receive)(struct sync *s, const struct comm_op *op, int64_t now_ns, struct outbox *out,
                   struct eddis_error *err);
    /* NULL: nothing of it lies in shared memory. */
    bool (*polls)(const struct sync *s);
    int (*poll)(struct sync *s, int64_t now_ns, struct outbox *out, struct eddis_error *err);
    int (*waits_for)(const struct sync *s, int buffer);
    /* NULL: always in the buffer itself. */
    const void *(*result)(const struct sync *s, int buffer);
    /* NULL, and the two after it: there is one model.  exchange and box return 1 when the
     * exchange is over; where a message ends it, receive calls sync_exchange_over.
     */
    int (*exchange)(struct sync *s, const struct sync_turn *t, int64_t now_ns, struct outbox *out,
                    struct eddis_error *err);
    int (*box)(struct sync *s, struct smb_request *r, int64_t now_ns, struct outbox *out,
               struct eddis_error *err);
    int (*exchange_waits_for)(const struct sync *s);
    /* Accepts a half-built instance, which is how open cleans up. */
    void (*close)(struct sync *s);
};

/* First in every instance. */
struct sync {
    const struct sync_ops *ops;
    bool exchanging;
    int64_t since; /* steps begun since the last exchange, which sets it to 0 */
};

/* Note that the exchange under way is over. */
void sync_exchange_over(struct sync *s);

extern const struct sync_ops sync_allreduce;

#endif
