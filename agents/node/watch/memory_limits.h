/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limits.h - reads how much memory a node's workers may use */
#ifndef EDDIS_AGENTS_NODE_WATCH_MEMORY_LIMITS_H
#define EDDIS_AGENTS_NODE_WATCH_MEMORY_LIMITS_H

#include "process_load.h"

#include "agents/protocol/protocol.h"

struct memory_limits_worker {
    pid_t pid;                           /* pid on this node; 0: unknown */
    const struct process_memory *memory; /* memory that the process holds */
    /* report with rank and memory_bytes, in which the limit is filled in */
    struct progress *report;
};

/* Set memory_limit_bytes and memory_pool in the reports of all n workers of this node. The limit is
 * that of the control group or the machine, minus the memory that other processes use.
 */
void memory_limits_fill(const struct memory_limits_worker *w, int n);

#endif
