/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.h - collectives of all ranks, a group or a node, as requests to the communication
 * thread
 *
 * Any thread may start requests and wait for them; only one thread at a time waits for a request.
 * `lock` guards the list of requests and their timed_out marks.  `lock` is taken last, and no other
 * lock while it is held.  All functions are called without any lock held, since the communication
 * thread takes its own.
 */
#ifndef EDDIS_WORKER_COLLECTIVES_H
#define EDDIS_WORKER_COLLECTIVES_H

#include "lib/base/clock.h"
#include "lib/comm/collective.h"
#include "lib/eddis.h"
#include "waiter.h"

#include <pthread.h>

/* Timeout of the library's own collectives: commit, initial broadcast, checkpoints. */
#define COLLECTIVES_TIMEOUT_NS (INT64_C(600) * CLOCK_S)

struct node_numbers;

struct collectives {
    struct waiter waiter;
    struct comm_place place;        /* this rank among all ranks */
    const struct comm_place *group; /* borrowed; read when a request of scope EDDIS_GROUP starts */
    const struct node_numbers *numbers; /* borrowed */
    int64_t timeout_ns;                 /* timeout of the calls that have no timeout argument */
    pthread_mutex_t lock;
    struct eddis_request *requests; /* list of the requests not yet waited for */
};

/* Create the lock. */
void collectives_init(struct collectives *c);

/* Destroy the lock and free the requests that nobody waited for. */
void collectives_fini(struct collectives *c);

/* Wait for a request and free it.  Return 0 or its failure; after -ETIMEDOUT the request is still
 * under way and not freed.
 */
int collectives_wait(struct collectives *c, struct eddis_request *q, int64_t timeout_ns,
                     struct eddis_error *err);

/* Wait for all requests that nobody has waited for, until the deadline.  Return 0 or the first
 * failure; the rest is then not waited for.
 */
int collectives_wait_all(struct collectives *c, int64_t deadline_ns, struct eddis_error *err);

/* Wait for a request of the library itself and free it.  Return 0 or its failure; a timeout
 * (c->timeout_ns, -ETIMEDOUT) ends all communication.
 */
int collectives_request_wait(struct collectives *c, struct eddis_request *q,
                             struct eddis_error *err);

/* Combine *a over all ranks, in place, for the library itself.  Return 0 or a negative errno; a
 * timeout (-ETIMEDOUT) ends all communication.  Collective.
 */
int collectives_allreduce(struct collectives *c, const struct allreduce *a,
                          struct eddis_error *err);

/* Copy `buffer` from rank root to all, for the library itself.  Return 0 or a negative errno; a
 * timeout (-ETIMEDOUT) ends all communication.  Collective.
 */
int collectives_broadcast(struct collectives *c, void *buffer, size_t bytes, int root,
                          struct eddis_error *err);

/* Gather in [bytes] of every rank in out [n_ranks * bytes], for the library itself.  Return 0 or a
 * negative errno; a timeout (-ETIMEDOUT) ends all communication.  Collective.
 */
int collectives_allgather(struct collectives *c, const void *in, void *out, size_t bytes,
                          struct eddis_error *err);

/* Wait for all ranks, for the library itself.  Return 0 or a negative errno; a timeout (-ETIMEDOUT)
 * ends all communication.  Collective.
 */
int collectives_barrier(struct collectives *c, struct eddis_error *err);

/* Wait for all ranks, at most timeout_ns.  Return 0 or a negative errno.  After -ETIMEDOUT call it
 * again to continue: *under_way, NULL before the first call, keeps the barrier between the calls,
 * apart from any barrier of the program.
 */
int collectives_barrier_until(struct collectives *c, struct eddis_request **under_way,
                              int64_t timeout_ns, struct eddis_error *err);

/* Replace each of x [n] by its minimum over all ranks.  Collective.  Return 0 or a negative errno,
 * as collectives_allreduce.
 */
int collectives_least(struct collectives *c, int64_t *x, size_t n, struct eddis_error *err);

/* Return the same result on all ranks: rc and err of the lowest rank that failed, or 0; or a
 * failure of the communication.  Collective.
 */
int collectives_agree(struct collectives *c, int rc, struct eddis_error *err);

/* Run the collective `taken` of some ranks to its end, and take ownership of it.  what: its name in
 * the error message after a timeout.  Return 0 or a negative errno; a timeout (-ETIMEDOUT) ends all
 * communication.
 */
int collectives_run(struct collectives *c, const char *what, enum request_level level,
                    struct collective *taken, struct eddis_error *err);

/* Start a request, store it in *ret and return 0, or a negative errno: nothing was started.
 * Buffers are borrowed until the request has been waited for.
 */
int collectives_start(struct collectives *c, const struct eddis_collective *k,
                      struct eddis_request **ret, struct eddis_error *err);

#endif
