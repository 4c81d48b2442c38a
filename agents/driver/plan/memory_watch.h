/* SPDX-License-Identifier: Apache-2.0 */
/* memory_watch.h - how many samples each worker can hold, from the memory peaks that workers report
 *
 * scheduler/memory_model computes limits from peaks; this module feeds it from reports.  A worker
 * that ran out of memory never gets a higher limit than that failure set, whatever its peaks show.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MEMORY_WATCH_H
#define EDDIS_AGENTS_DRIVER_PLAN_MEMORY_WATCH_H

#include "agents/driver/history/past.h"

#include "agents/protocol/protocol.h"
#include "scheduler/memory_model.h"

/* What is known of one worker's memory. */
struct watched_memory {
    int64_t device_bytes; /* memory of its device; 0: it uses the node's memory */
    int64_t before;       /* limit that the plan began with; INT64_MAX: none */
    int64_t failed;       /* limit set by a failure; INT64_MAX: none */
    int beside;           /* first worker on the same device, maybe itself */
    int pool;             /* worker that names the shared limit it is in; -1: its own limit */
    bool on_device;       /* that limit is its device's, not its node's */
    int first[2]; /* first member of the node's and of the device's pool named by this worker;
                   * scratch */
};

/* The memory of a generation's workers. */
struct memory_watch {
    struct watched_memory *watched; /* [n], like the next three; NULL: no generation */
    struct memory_worker *worker;
    int64_t *measured; /* limit by its peaks */
    int64_t *most;     /* smallest of all limits, set by memory_watch_look */
    int n;
    bool fresh; /* new peaks since memory_watch_look */
};

/* Start watching the memory of a generation's workers, with its plan, the profiles of its nodes and
 * the history of the workers.
 */
int memory_watch_begin(struct memory_watch *m, const struct plan *p,
                       const struct node_profile *const *node, const struct past_memory *history,
                       struct eddis_error *err);

/* Record the memory peak that a worker has reported; plan: the generation's newest. */
void memory_watch_progress(struct memory_watch *m, const struct plan *plan,
                           const struct progress *p);

/* Update each worker's limit (`most`) if new peaks have come; return whether it may have changed.
 */
bool memory_watch_look(struct memory_watch *m);

/* Record in *ret the limits of p's workers: those that bind and whose peaks determine a line.  A
 * limit that is lost for lack of memory is measured again.
 */
void memory_watch_learnt(const struct memory_watch *m, const struct plan *p,
                         const struct node_profile *const *node, struct past_memory *ret);

/* Stop watching memory and free everything. */
void memory_watch_end(struct memory_watch *m);

#endif
