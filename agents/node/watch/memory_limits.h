/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limits.h - how much memory a node's workers may come to hold */
#ifndef EDDIS_AGENTS_NODE_WATCH_MEMORY_LIMITS_H
#define EDDIS_AGENTS_NODE_WATCH_MEMORY_LIMITS_H

#include "process_load.h"

#include "agents/protocol/protocol.h"

struct memory_limits_worker {
    pid_t pid;                           /* here; 0: not known */
    const struct process_memory *memory; /* it holds */
    struct progress *report;             /* with its rank and memory_bytes, to be filled */
};

/* Fill in memory_limit_bytes and memory_pool of all workers [n] of this node: what the control
 * group or the machine has, less what others use of it.
 */
void memory_limits_fill(const struct memory_limits_worker *w, int n);

#endif
