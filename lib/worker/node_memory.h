/* SPDX-License-Identifier: Apache-2.0 */
/* node_memory.h - gradients in memory that the ranks of a node share
 *
 * Made once in eddis_commit, for the group of ranks that train one model.  If a rank cannot share
 * memory, all use messages.
 *
 * No lock: the thread that commits makes it, and it does not change later.  Called without any lock
 * held.
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
    struct comm_place *group;  /* the ranks that train one model; borrowed, `nodes` is set there */
    struct node_groups *nodes; /* NULL: messages only */
    struct comm_shm *node;
    size_t bytes;            /* size of each rank's arena; 0: messages only */
    struct request *request; /* the request for sharing, until it is done */
    struct eddis_error why;  /* why nothing could be shared; code 0: it could */
};

/* Memory that the gradients need. */
struct node_memory_size {
    size_t arena_bytes;
    int n_parameters;
};

/* Share memory for gradients of this size and set it in the group's place.  If that is impossible,
 * `why` has the reason and all use messages, or fail if `must` is set.  Any other failure is of the
 * communication.  Collective.
 */
int node_memory_open(struct node_memory *s, const struct node_memory_size *n, bool must,
                     struct eddis_error *err);

/* Stop using the shared memory and use messages.  Call it on all ranks of the group. */
void node_memory_drop(struct node_memory *s);

/* Free everything; call it after the engine and the communication thread are closed. */
void node_memory_close(struct node_memory *s);

#endif
