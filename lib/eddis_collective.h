/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_collective.h - a part of eddis.h, which includes it: collectives of any buffer, sent before
 * queued gradients
 */
#ifndef EDDIS_COLLECTIVE_H
#define EDDIS_COLLECTIVE_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* Threads: any thread may call these functions at any time, except during eddis_commit and
 * eddis_close.  Only one thread at a time may wait for a request, not necessarily the one that
 * started it.  All workers of a scope must begin their calls in the same order, whichever threads
 * make them.  So concurrent threads use different scopes or take turns.  All other calls marked
 * "Collective" count in the order of EDDIS_ALL.  So do, with several models, the first and the last
 * eddis_step_begin, and in local mode those at a round's end.
 */

/* Combine n elements of `buffer` over all workers, in place, with the same bits on every worker.
 * Collective.  Return 0 or a negative errno.
 *
 * A blocking call that ended with -ETIMEDOUT is still under way and keeps its buffers: repeat the
 * same call, only the timeout may differ, to go on waiting.  -EBUSY: a different call that timed
 * out still uses one of these buffers; nothing was begun.  -EMSGSIZE: another worker called another
 * collective, or the same one with another size; no communication is possible any more.
 */
int eddis_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                    enum eddis_op op, int64_t timeout_ns, struct eddis_error *err);

/* Copy `bytes` bytes of `buffer` from rank root to all workers.  Collective; return 0 or an error
 * as eddis_allreduce.
 */
int eddis_broadcast(struct eddis *e, void *buffer, size_t bytes, int root, int64_t timeout_ns,
                    struct eddis_error *err);

/* Gather `in` [bytes] of all workers in `out` [n_ranks * bytes], by rank, on every worker.
 * Collective; return 0 or an error as eddis_allreduce.
 */
int eddis_allgather(struct eddis *e, const void *in, void *out, size_t bytes, int64_t timeout_ns,
                    struct eddis_error *err);

/* Wait until all workers have called this.  Collective; return 0 or an error as eddis_allreduce. */
int eddis_barrier(struct eddis *e, int64_t timeout_ns, struct eddis_error *err);

/* Start an all-reduce without waiting.  *ret is for eddis_request_wait or _test; the library
 * borrows the buffers until the request is done.  Return 0 or a negative errno, and then nothing
 * was started.
 */
int eddis_allreduce_start(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                          enum eddis_op op, struct eddis_request **ret, struct eddis_error *err);

/* Start a broadcast without waiting; result and *ret as of eddis_allreduce_start. */
int eddis_broadcast_start(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_request **ret, struct eddis_error *err);

/* Start an allgather without waiting; result and *ret as of eddis_allreduce_start. */
int eddis_allgather_start(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_request **ret, struct eddis_error *err);

/* Start a barrier without waiting; result and *ret as of eddis_allreduce_start. */
int eddis_barrier_start(struct eddis *e, struct eddis_request **ret, struct eddis_error *err);

/* The workers that take part in a collective.  The calls of one scope are collective among its
 * workers, and all of these make them in the same order.  What other workers do, and how calls of
 * different scopes are ordered, does not matter.  So a worker may reduce in its group at a step
 * that other groups have not reached.
 */
enum eddis_scope {
    EDDIS_ALL = 0,   /* all workers */
    EDDIS_GROUP = 1, /* the worker's group, which trains one model; in sync mode all workers */
    EDDIS_NODE = 2,  /* the workers of its node, in any group */
};

enum eddis_collective_kind {
    EDDIS_ALLREDUCE = 1,
    EDDIS_BROADCAST = 2,
    EDDIS_ALLGATHER = 3,
    EDDIS_BARRIER = 4,
};

/* Arguments of a collective in any scope.  The member root is an index within the scope, from 0 in
 * the order of ranks: eddis_world.group_rank in a group, local_rank on a node.
 */
struct eddis_collective {
    size_t size; /* sizeof (struct eddis_collective) */
    enum eddis_collective_kind kind;
    enum eddis_scope scope;
    void *buffer;           /* allreduce, broadcast: in place; allgather: the result */
    const void *in;         /* allgather: this worker's block */
    size_t n;               /* allreduce: number of elements; broadcast: of bytes; allgather: of
                             * bytes of `in` */
    enum eddis_dtype dtype; /* allreduce: type of the elements */
    enum eddis_op op;       /* allreduce: operation */
    int root;               /* broadcast: index of the sender in the scope */
};

/* Run the collective that *c describes and wait for it; *c is not used after the call.  Return 0;
 * timeouts and errors are those of eddis_allreduce.
 */
int eddis_collective(struct eddis *e, const struct eddis_collective *c, int64_t timeout_ns,
                     struct eddis_error *err);

/* Start the collective that *c describes without waiting; result and *ret as of
 * eddis_allreduce_start.
 */
int eddis_collective_start(struct eddis *e, const struct eddis_collective *c,
                           struct eddis_request **ret, struct eddis_error *err);

/* Wait for the request.  Return 0 when it is done; r is freed then.  -ETIMEDOUT: still under way,
 * wait again.
 */
int eddis_request_wait(struct eddis *e, struct eddis_request *r, int64_t timeout_ns,
                       struct eddis_error *err);

/* Poll the request.  Return 1 when it is done, and r is freed; 0 while it is under way. */
int eddis_request_test(struct eddis *e, struct eddis_request *r, struct eddis_error *err);

#endif
