/* SPDX-License-Identifier: Apache-2.0 */
/* node_memory.h - a part of handle.h: gradients in memory that the ranks of a node share
 *
 * Made at eddis_commit, once for all, for the group of ranks that train one model.  Where a rank
 * cannot share memory, all go on with messages.
 */
#ifndef EDDIS_WORKER_NODE_MEMORY_H
#define EDDIS_WORKER_NODE_MEMORY_H

#include "lib/comm/shm.h"
#include "lib/sync/comm_thread.h"

struct eddis;

struct node_memory {
    struct node_groups *nodes; /* NULL: messages only */
    struct comm_shm *node;
    size_t bytes;            /* of each rank's arena; 0: messages only */
    struct request *request; /* the agreement, until it is over */
    struct eddis_error why;  /* code 0, or why nothing could be shared */
};

/* Share what gradients of so many bytes, in so many parameters at most, need.  On success the
 * group's place tells of it, unless it cannot be; then `why` has the reason and all go on with
 * messages, or with `must` fail with it.  Collective.  Another failure is of the communication.
 */
int node_memory_open(struct eddis *e, size_t arena_bytes, int n_parameters, bool must,
                     struct eddis_error *err);

/* Messages are better.  On all ranks of the group. */
void node_memory_drop(struct eddis *e);

/* After the engine and the communication thread. */
void node_memory_close(struct eddis *e);

#endif
