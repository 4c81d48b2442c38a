/* SPDX-License-Identifier: Apache-2.0 */
/* process_load.h - reads the time in the run queue and the memory of a worker's process
 *
 * The agent reads both, not the worker, because a step makes no system calls for its progress.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_PROCESS_LOAD_H
#define EDDIS_AGENTS_NODE_WATCH_PROCESS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A worker's process, as numbered in this node's PID namespace. A program in a container with its
 * own PID namespace reports other numbers.
 */
struct process_load {
    /* process and thread id that the program reports of itself */
    pid_t reported_pid, reported_thread;
    int tries;         /* number of attempts to find the process */
    pid_t pid, thread; /* process and thread id on this node; 0: not found */
    int64_t start;     /* start time of the process, see struct proctree_process */
};

/* Find the descendant of root that reports pid and thread as its own ids, and fill *p; search again
 * if these ids change or the process has ended. root 0: there is no such process yet. *p must be
 * zeroed before the first call. Return whether the process is known.
 */
bool process_load_find(struct process_load *p, pid_t root, pid_t pid, pid_t thread);

/* Return how long a thread of pid has waited for a processor since it started, in ns; -1: unknown.
 */
int64_t process_load_queued_ns(pid_t pid, pid_t thread);

/* Memory of a process; 0: unknown. */
struct process_memory {
    int64_t peak_bytes; /* peak since the process started, or since it reset the peak */
    int64_t now_bytes;
    int64_t file_bytes; /* part of now_bytes that is file pages, which the kernel can reclaim */
};

/* Read the memory of a process; pid 0: unknown. */
void process_load_memory(pid_t pid, struct process_memory *ret);

/* Write the content of /proc/PID/cgroup, a process's control groups, to ret [size]. Return false if
 * it cannot be read.
 */
bool process_load_group(pid_t pid, char *ret, size_t size);

#endif
