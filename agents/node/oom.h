/* SPDX-License-Identifier: Apache-2.0 */
/* oom.h - detects whether the kernel killed a process for lack of memory
 *
 * There are two sources: the oom_kill counter of this process's control group (version 2 or 1), and
 * the kernel's log, if this user may read it. Without either the answer is no. The counter counts
 * all processes of the group, so it is evidence for one process only if it rose in the last second
 * of the process.
 */
#ifndef EDDIS_AGENTS_NODE_OOM_H
#define EDDIS_AGENTS_NODE_OOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct oom_watch {
    char counter[512]; /* path of the counter's file; "": none */
    /* value of the counter at the last poll but one, and at the last poll; -1: unknown */
    int64_t count[2];
    int64_t looked_ns; /* time of the last poll */
    int64_t rose_ns;   /* time of the last poll at which the counter had risen; 0: never */
    int kmsg;          /* descriptor of the kernel's log, at its present end; -1: not readable */
};

/* Record the counter and the end of the kernel's log, before a program starts. */
void oom_begin(struct oom_watch *w);

/* Poll the counter if oom_next_ns has passed. While pid is ending do not poll, because the kernel
 * may take long to free its memory.
 */
void oom_look(struct oom_watch *w, pid_t pid, int64_t now_ns);
/* Return the time of the next poll; CLOCK_NEVER: there is no counter. */
int64_t oom_next_ns(const struct oom_watch *w);

/* Check whether pid, which ended by SIGKILL, was killed for lack of memory. Store in *ret_ago_ns
 * how long ago another process of the group was killed so; 0: none since oom_begin.
 */
bool oom_killed(struct oom_watch *w, pid_t pid, int64_t now_ns, int64_t *ret_ago_ns);

/* Close the kernel's log. */
void oom_end(struct oom_watch *w);

#endif
