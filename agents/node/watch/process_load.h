/* SPDX-License-Identifier: Apache-2.0 */
/* process_load.h - reads the time in the run queue and the memory of a worker's process
 *
 * The agent reads them, not the worker, because a step makes no system calls for its progress.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_PROCESS_LOAD_H
#define EDDIS_AGENTS_NODE_WATCH_PROCESS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A worker's process in this node's PID namespace.  A program in a container with its own PID
 * namespace reports other numbers.
 */
struct process_load {
    pid_t told_pid, told_thread; /* numbers that it reports of itself */
    int tries;                   /* tries to find it */
    pid_t pid, thread;           /* numbers on this node; 0: not found */
    int64_t start;               /* start time, see struct proctree_process */
};

/* Find the descendant of root that reports these numbers of itself; search again if they change or
 * it has ended. root 0: not there.  Zero *p before the first call.  Return whether it is known.
 */
bool process_load_find(struct process_load *p, pid_t root, pid_t pid, pid_t thread);

/* Return how long a thread of pid has waited for a processor since its start, in ns; -1: unknown.
 */
int64_t process_load_queued_ns(pid_t pid, pid_t thread);

/* Memory of a process; 0: unknown. */
struct process_memory {
    int64_t peak_bytes; /* peak since its start, or since it reset the peak itself */
    int64_t now_bytes;
    int64_t file_bytes; /* part of now_bytes that is file pages: the kernel can take it back */
};

/* Read the memory of a process; pid 0: unknown. */
void process_load_memory(pid_t pid, struct process_memory *ret);

/* Write the text of a process's control groups, from /proc/PID/cgroup, to ret; return false if
 * unknown.
 */
bool process_load_group(pid_t pid, char *ret, size_t size);

#endif
