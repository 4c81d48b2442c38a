/* SPDX-License-Identifier: Apache-2.0 */
/* node_memory.h - gradients in memory that the ranks of a node share
 *
 * eddis_commit makes this memory, for the group of ranks that train one model.  If a rank cannot
 * share memory, all use messages.
 *
 * No lock: the thread that calls eddis_commit sets struct node_memory, which does not change later.
 * The functions are called without any lock held.
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
    struct comm_place *group;  /* the ranks that train one model; borrowed; node_memory_open sets
                                * its `nodes` */
    struct node_groups *nodes; /* NULL: messages only */
    struct comm_shm *node;
    size_t bytes;            /* size of each rank's arena; 0: messages only */
    struct request *request; /* request that shares the memory; NULL when it is done */
    struct eddis_error why;  /* why memory could not be shared; code 0: it is shared */
};

/* Memory that the gradients need. */
struct node_memory_size {
    size_t arena_bytes;
    int n_parameters;
};

/* Share memory for gradients of this size and set it in s->group.  If sharing is impossible, s->why
 * has the reason and all ranks use messages, or fail if `must` is set; else return 0.  Any other
 * failure is one of the communication.  Collective.
 */
int node_memory_open(struct node_memory *s, const struct node_memory_size *n, bool must,
                     struct eddis_error *err);

/* Stop using the shared memory and use messages.  Call it on all ranks of the group. */
void node_memory_drop(struct node_memory *s);

/* Free everything; call it after the engine and the communication thread are closed. */
void node_memory_close(struct node_memory *s);

#endif
