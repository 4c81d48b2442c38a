/* SPDX-License-Identifier: Apache-2.0 */
/* process_load.h - what the kernel knows of a worker's process: time in the run queue, memory
 *
 * Read by the agent, not by the worker: these are system calls, of which a step has none for its
 * progress.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_PROCESS_LOAD_H
#define EDDIS_AGENTS_NODE_WATCH_PROCESS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A worker's process as this node knows it.  Where the program runs in a container with a PID
 * namespace of its own, the numbers that it tells of itself are those of others here.
 */
struct process_load {
    pid_t told_pid, told_thread; /* as it tells them */
    int tries;                   /* to find those */
    pid_t pid, thread;           /* here; 0: not found */
    int64_t start;               /* see struct proctree_process */
};

/* Find the descendant of root that tells these numbers of itself; it is looked for again when they
 * change or it has ended.  root 0: it is not there.  Zero *p before the first call.  Returns
 * whether it is known.
 */
bool process_load_find(struct process_load *p, pid_t root, pid_t pid, pid_t thread);

/* Return how long a thread of pid could have run but had no processor, in ns since its start; -1
 * where that is not known.
 */
int64_t process_load_queued_ns(pid_t pid, pid_t thread);

/* What a process holds; 0 where that is not known. */
struct process_memory {
    int64_t peak_bytes; /* at most since its start, or since it set the mark anew itself */
    int64_t now_bytes;
    int64_t file_bytes; /* of that, what is in files, too: the kernel can take it back */
};

void process_load_memory(pid_t pid, struct process_memory *ret);

/* Write the control groups of a process, as the kernel names them, to ret; returns whether they are
 * known.
 */
bool process_load_group(pid_t pid, char *ret, size_t size);

#endif
