/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limits.h - reads how much memory a node's workers may use */
#ifndef EDDIS_AGENTS_NODE_WATCH_MEMORY_LIMITS_H
#define EDDIS_AGENTS_NODE_WATCH_MEMORY_LIMITS_H

#include "process_load.h"

#include "agents/protocol/protocol.h"

struct memory_limits_worker {
    pid_t pid;                           /* pid on this node; 0: unknown */
    const struct process_memory *memory; /* memory that it holds */
    struct progress *report;             /* has rank and memory_bytes; the limit is filled in */
};

/* Set memory_limit_bytes and memory_pool of all n workers of this node: the limit of the control
 * group or the machine, less what others use of it.
 */
void memory_limits_fill(const struct memory_limits_worker *w, int n);

#endif
