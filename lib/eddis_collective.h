/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_collective.h - a part of eddis.h, which includes it: collectives of any buffer,
 * which overtake queued gradients
 */
#ifndef EDDIS_COLLECTIVE_H
#define EDDIS_COLLECTIVE_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* Threads: any may call these, at any time but during eddis_commit and eddis_close; a request is
 * waited for by one at a time, not needfully the one that started it.  What must be alike on all
 * workers of a scope is the order in which the calls begin, whichever threads make them, so threads
 * beside one another take scopes of their own or turns.  All other calls that say "Collective", and
 * in async and hybrid mode the first eddis_step_begin and the last, have a place in the order of
 * EDDIS_ALL.
 */

/* Collective.  The non-blocking forms return a request to be given to eddis_request_wait or
 * _test; the buffers belong to the library until then.  n counts elements, bytes bytes.
 * allreduce works in place; the result is the same bits on every worker.
 * allgather: in [bytes] of each worker to out [n_ranks * bytes], in order of ranks.
 * A blocking form that ended with -ETIMEDOUT is still under way and has the buffers: the same call,
 * everything but the timeout as before, goes on with it.  -EBUSY: another call with one of these
 * buffers before that; nothing was begun.
 * -EMSGSIZE: another worker's call is of another size, or another call; communication is over.
 */
int eddis_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                    enum eddis_op op, int64_t timeout_ns, struct eddis_error *err);
int eddis_broadcast(struct eddis *e, void *buffer, size_t bytes, int root, int64_t timeout_ns,
                    struct eddis_error *err);
int eddis_allgather(struct eddis *e, const void *in, void *out, size_t bytes, int64_t timeout_ns,
                    struct eddis_error *err);
int eddis_barrier(struct eddis *e, int64_t timeout_ns, struct eddis_error *err);

int eddis_allreduce_start(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                          enum eddis_op op, struct eddis_request **ret, struct eddis_error *err);
int eddis_broadcast_start(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_request **ret, struct eddis_error *err);
int eddis_allgather_start(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_request **ret, struct eddis_error *err);
int eddis_barrier_start(struct eddis *e, struct eddis_request **ret, struct eddis_error *err);

/* The same of some of the workers.  Collective among these, in the order of their calls of this
 * scope; what others do, and in what order the scopes follow one another, does not matter.  So a
 * worker may reduce in its group at a step that other groups have not come to.
 */
enum eddis_scope {
    EDDIS_ALL = 0,   /* all workers */
    EDDIS_GROUP = 1, /* its group, whose workers train one model; all of them in sync mode */
    EDDIS_NODE = 2,  /* those of its node, of whatever group */
};

enum eddis_collective_kind {
    EDDIS_ALLREDUCE = 1,
    EDDIS_BROADCAST = 2,
    EDDIS_ALLGATHER = 3,
    EDDIS_BARRIER = 4,
};

/* Ranks of a scope are places in it, from 0 in the order of ranks: eddis_world.group_rank of a
 * group, local_rank of a node.
 */
struct eddis_collective {
    size_t size; /* sizeof (struct eddis_collective) */
    enum eddis_collective_kind kind;
    enum eddis_scope scope;
    void *buffer;           /* allreduce, broadcast: in place; allgather: the result */
    const void *in;         /* allgather: what to gather */
    size_t n;               /* allreduce: elements; broadcast: bytes; allgather: bytes of in */
    enum eddis_dtype dtype; /* allreduce */
    enum eddis_op op;       /* allreduce */
    int root;               /* broadcast: its place in the scope */
};

/* *c is read in the call only.  Time-outs, requests and errors are as above. */
int eddis_collective(struct eddis *e, const struct eddis_collective *c, int64_t timeout_ns,
                     struct eddis_error *err);
int eddis_collective_start(struct eddis *e, const struct eddis_collective *c,
                           struct eddis_request **ret, struct eddis_error *err);

/* Wait for the request; 0: done and freed.  -ETIMEDOUT: still under way, wait again. */
int eddis_request_wait(struct eddis *e, struct eddis_request *r, int64_t timeout_ns,
                       struct eddis_error *err);

/* 1: done and freed; 0: still under way. */
int eddis_request_test(struct eddis *e, struct eddis_request *r, struct eddis_error *err);

#endif
