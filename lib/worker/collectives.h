/* SPDX-License-Identifier: Apache-2.0 */
/* collectives.h - collectives of all ranks, a group or a node, as requests to the communication
 * thread
 *
 * Any thread may start requests and wait for them, each request by one at a time.  `lock` guards
 * the list of requests and their marks; it is taken last, and no other with it.  All functions are
 * called without any lock held, since the communication thread takes its own.
 */
#ifndef EDDIS_WORKER_COLLECTIVES_H
#define EDDIS_WORKER_COLLECTIVES_H

#include "lib/base/clock.h"
#include "lib/comm/collective.h"
#include "lib/eddis.h"
#include "waiter.h"

#include <pthread.h>

/* Collectives without a timeout of their own: commit, initial broadcast, checkpoints. */
#define COLLECTIVES_TIMEOUT_NS (INT64_C(600) * CLOCK_S)

struct node_numbers;

struct collectives {
    struct waiter waiter;
    struct comm_place place;            /* among all ranks */
    const struct comm_place *group;     /* borrowed; read when a request of this scope is started */
    const struct node_numbers *numbers; /* borrowed */
    int64_t timeout_ns;                 /* of the calls below that take none */
    pthread_mutex_t lock;
    struct eddis_request *requests; /* not yet waited for */
};

/* Make the lock; destroy it, and free the requests that nobody waited for. */
void collectives_init(struct collectives *c);
void collectives_fini(struct collectives *c);

/* Wait for a request and free it; after -ETIMEDOUT it is still there. */
int collectives_wait(struct collectives *c, struct eddis_request *q, int64_t timeout_ns,
                     struct eddis_error *err);

/* Wait for all requests that nobody has waited for. */
int collectives_wait_all(struct collectives *c, int64_t deadline_ns, struct eddis_error *err);

/* For the library itself: a call that times out is the end of all communication. */
int collectives_request_wait(struct collectives *c, struct eddis_request *q,
                             struct eddis_error *err);
int collectives_allreduce(struct collectives *c, const struct allreduce *a,
                          struct eddis_error *err);
int collectives_broadcast(struct collectives *c, void *buffer, size_t bytes, int root,
                          struct eddis_error *err);
int collectives_allgather(struct collectives *c, const void *in, void *out, size_t bytes,
                          struct eddis_error *err);
int collectives_barrier(struct collectives *c, struct eddis_error *err);

/* A barrier that may time out, and is gone on with when it is called again: *under_way, NULL at
 * first, keeps it meanwhile, apart from any of the program's.
 */
int collectives_barrier_until(struct collectives *c, struct eddis_request **under_way,
                              int64_t timeout_ns, struct eddis_error *err);

/* Replace x [n] by the least that any rank has at each place. */
int collectives_least(struct collectives *c, int64_t *x, size_t n, struct eddis_error *err);

/* Make all ranks return the same: rc and err of the lowest rank that failed, or 0.  Collective. */
int collectives_agree(struct collectives *c, int rc, struct eddis_error *err);

/* Run a collective of some ranks, which is taken, to its end.  `what` is named when it does not
 * come.
 */
int collectives_run(struct collectives *c, const char *what, enum request_level level,
                    struct collective *taken, struct eddis_error *err);

/* Start a request, which is returned; buffers are borrowed until it has been waited for. */
int collectives_start(struct collectives *c, const struct eddis_collective *k,
                      struct eddis_request **ret, struct eddis_error *err);

#endif
