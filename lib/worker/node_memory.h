/* SPDX-License-Identifier: Apache-2.0 */
/* node_memory.h - gradients in memory that the ranks of a node share
 *
 * Made at eddis_commit, once for all, for the group of ranks that train one model.  Where a rank
 * cannot share memory, all go on with messages.
 *
 * No lock: the thread that commits makes it, and it stays as it is.  Called without any lock held.
 */
#ifndef EDDIS_WORKER_NODE_MEMORY_H
#define EDDIS_WORKER_NODE_MEMORY_H

#include "collectives.h"
#include "lib/comm/node_groups.h"
#include "lib/comm/shm.h"
#include "node_numbers.h"

struct node_memory {
    struct collectives *all;            /* borrowed */
    const struct node_numbers *numbers; /* borrowed */
    struct comm_place *group;           /* that trains one model; borrowed, gets `nodes` */
    struct node_groups *nodes;          /* NULL: messages only */
    struct comm_shm *node;
    size_t bytes;            /* of each rank's arena; 0: messages only */
    struct request *request; /* the agreement, until it is over */
    struct eddis_error why;  /* code 0, or why nothing could be shared */
};

struct node_memory_size {
    size_t arena_bytes;
    int n_parameters;
};

/* Share memory for gradients of this size.  On success the group's place tells of it, unless it
 * cannot be; then `why` has the reason and all go on with messages, or with `must` fail with it.
 * Another failure is of the communication.  Collective.
 */
int node_memory_open(struct node_memory *s, const struct node_memory_size *n, bool must,
                     struct eddis_error *err);

/* Go back to messages.  On all ranks of the group. */
void node_memory_drop(struct node_memory *s);

/* After the engine and the communication thread. */
void node_memory_close(struct node_memory *s);

#endif
