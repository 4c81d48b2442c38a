/* SPDX-License-Identifier: Apache-2.0 */
/* memory_watch.h - how many samples a generation's workers can hold, by the peaks that they report
 *
 * scheduler/memory_model makes bounds of peaks; here it is fed from reports.  A worker that failed
 * for lack of memory is not trusted with more than was made of that, whatever its peaks say.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MEMORY_WATCH_H
#define EDDIS_AGENTS_DRIVER_PLAN_MEMORY_WATCH_H

#include "agents/driver/history/past.h"

#include "agents/protocol/protocol.h"
#include "scheduler/memory_model.h"

struct watched_memory {
    int64_t device_bytes; /* of its device; 0: it computes in the node's memory */
    int64_t before;       /* bound that the plan began with; INT64_MAX: none */
    int64_t failed;       /* bound by a failure; likewise */
    int beside;           /* first worker on the same device, or itself */
    int pool;             /* worker for whom the limit is named that it shares; -1: its own */
    bool on_device;       /* that is its device's limit, not its node's */
    int first[2]; /* of the pools that are named for it, of a node and of a device; scratch */
};

struct memory_watch {
    struct watched_memory *watched; /* [n], as are all of these; NULL: there is no generation */
    struct memory_worker *worker;
    int64_t *measured; /* bound by its peaks */
    int64_t *most;     /* what comes of all bounds, as of memory_watch_look */
    int n;
    bool fresh; /* peaks have come since */
};

/* Begin with a generation's plan, the profiles of its nodes, and what is known of its workers. */
int memory_watch_begin(struct memory_watch *m, const struct plan *p,
                       const struct node_profile *const *node, const struct learned_memory *known,
                       struct eddis_error *err);

/* Take what a worker of the generation has reported; plan: the generation's newest. */
void memory_watch_progress(struct memory_watch *m, const struct plan *plan,
                           const struct progress *p);

/* Bring `most` up to date; returns whether there is anything new. */
bool memory_watch_look(struct memory_watch *m);

/* Put the bounds of the workers of p that bind, and whose line is known, into *ret; without memory
 * some are measured again.
 */
void memory_watch_learnt(const struct memory_watch *m, const struct plan *p,
                         const struct node_profile *const *node, struct learned_memory *ret);

void memory_watch_end(struct memory_watch *m); /* of the generation */

#endif
