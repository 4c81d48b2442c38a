/* SPDX-License-Identifier: Apache-2.0 */
/* oom.h - whether the kernel killed a process for lack of memory
 *
 * Two witnesses: the oom_kill counter of our own cgroup (version 2 or 1), and the kernel's log,
 * where it may be read.  Without either the answer is no.  The counter is that of all processes of
 * the group, so it speaks of one of them only where it rose in the last second of that one's life.
 */
#ifndef EDDIS_AGENTS_NODE_OOM_H
#define EDDIS_AGENTS_NODE_OOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct oom_watch {
    char counter[512]; /* file; "": none */
    int64_t count[2];  /* at the look before the last one, and at the last one; -1: unknown */
    int64_t looked_ns; /* when that was */
    int64_t rose_ns;   /* when the counter was last seen to have risen; 0: never */
    int kmsg;          /* at the end of the kernel's log; -1: not readable */
};

/* Remember what counter and log say before a program starts. */
void oom_begin(struct oom_watch *w);

/* Read the counter where it is time for that, which oom_next_ns returns, CLOCK_NEVER without a
 * counter.  The looks end when pid does: the kernel may take long to free what it held.
 */
void oom_look(struct oom_watch *w, pid_t pid, int64_t now_ns);
int64_t oom_next_ns(const struct oom_watch *w);

/* Return whether pid, which ended by SIGKILL, is known to have been killed for memory. *ret_ago_ns:
 * how long ago another process of the group was; 0: none was since oom_begin.
 */
bool oom_killed(struct oom_watch *w, pid_t pid, int64_t now_ns, int64_t *ret_ago_ns);

/* Close the kernel's log. */
void oom_end(struct oom_watch *w);

#endif
