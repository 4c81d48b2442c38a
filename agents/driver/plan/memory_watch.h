/* SPDX-License-Identifier: Apache-2.0 */
/* memory_watch.h - compute how many samples each worker can hold, from the memory peaks that
 * workers report
 *
 * scheduler/memory_model computes limits from peaks; this module passes it the peaks from reports.
 * A worker that ran out of memory never gets a higher limit than the failure set, or the plan that
 * raised it, even if its peaks allow more.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MEMORY_WATCH_H
#define EDDIS_AGENTS_DRIVER_PLAN_MEMORY_WATCH_H

#include "agents/driver/history/past.h"

#include "agents/protocol/protocol.h"
#include "scheduler/memory_model.h"

/* What is known of one worker's memory. */
struct watched_memory {
    int64_t device_bytes; /* memory of the worker's device; 0: the worker uses the node's memory */
    int64_t before;       /* limit that the worker had when the plan began; INT64_MAX: none */
    int64_t failed;       /* limit set by a failure, maybe raised; INT64_MAX: none */
    int64_t fitted;       /* most samples at the same time in finished steps; 0: none yet */
    int beside;           /* first worker on the same device, which may be this worker */
    /* number of a worker that identifies the limit shared with this worker; -1: not shared */
    int pool;
    bool on_device; /* the limit is that of the device, not of the node */
    /* scratch memory: first member of the node's, and of the device's, pool that this worker
     * identifies
     */
    int first[2];
};

/* The memory of a generation's workers. */
struct memory_watch {
    struct watched_memory *watched; /* [n], like the next three members; NULL: no generation */
    struct memory_worker *worker;
    int64_t *measured; /* limit of each worker by its peaks */
    int64_t *most;     /* smallest limit of each worker, set by memory_watch_look */
    int n;
    bool fresh; /* new peaks have arrived since the last memory_watch_look */
};

/* Start watching the memory of a generation's workers. p: the plan; node: the profiles of its
 * nodes; history: memory limits from earlier jobs. Return 0 or -ENOMEM; memory_watch_end is needed
 * in both cases.
 */
int memory_watch_begin(struct memory_watch *m, const struct plan *p,
                       const struct node_profile *const *node, const struct past_memory *history,
                       struct eddis_error *err);

/* Record the memory peak that a worker has reported; plan: the newest plan of the generation. */
void memory_watch_progress(struct memory_watch *m, const struct plan *plan,
                           const struct progress *p);

/* If new peaks have arrived, update each worker's limit (`most`). Return whether a limit may have
 * changed.
 */
bool memory_watch_look(struct memory_watch *m);

/* Return the most samples that worker `rank` can hold by a line through its peaks; INT64_MAX: its
 * peaks determine no line, or there is no such worker.
 */
int64_t memory_watch_line(struct memory_watch *m, int rank);

/* Return the most samples that worker `rank` held at the same time in a finished step; 0: unknown.
 */
int64_t memory_watch_fitted(const struct memory_watch *m, int rank);

/* Record in *ret the limits of those workers of p whose peaks determine a line, if the limit is
 * less than the global batch, and the lines of those on GPUs. If memory is lacking a limit is lost,
 * and the next job measures it again.
 */
void memory_watch_learnt(const struct memory_watch *m, const struct plan *p,
                         const struct node_profile *const *node, struct past_memory *ret);

/* Stop watching memory, and free and clear the members of *m. */
void memory_watch_end(struct memory_watch *m);

#endif
