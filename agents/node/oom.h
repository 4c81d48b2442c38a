/* SPDX-License-Identifier: Apache-2.0 */
/* oom.h - detects whether the kernel killed a process for lack of memory
 *
 * Two sources: the oom_kill counter of our own control group (version 2 or 1), and the kernel's
 * log, if it may be read.  Without either the answer is no.  The counter is for all processes of
 * the group, so it is evidence for one process only if it rose in the process's last second.
 */
#ifndef EDDIS_AGENTS_NODE_OOM_H
#define EDDIS_AGENTS_NODE_OOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct oom_watch {
    char counter[512]; /* path of its file; "": none */
    int64_t count[2];  /* at the poll before the last, and at the last; -1: unknown */
    int64_t looked_ns; /* time of the last poll */
    int64_t rose_ns;   /* time of the last poll that saw it rise; 0: never */
    int kmsg;          /* kernel's log, read up to now; -1: not readable */
};

/* Record the counter and the end of the log before a program starts. */
void oom_begin(struct oom_watch *w);

/* Poll the counter if oom_next_ns has come.  Polls stop while pid is ending, because the kernel may
 * take long to free its memory.
 */
void oom_look(struct oom_watch *w, pid_t pid, int64_t now_ns);
/* Return the time of the next poll; CLOCK_NEVER: there is no counter. */
int64_t oom_next_ns(const struct oom_watch *w);

/* Check whether pid, which ended by SIGKILL, was killed for memory. *ret_ago_ns: how long ago
 * another process of the group was; 0: none since oom_begin.
 */
bool oom_killed(struct oom_watch *w, pid_t pid, int64_t now_ns, int64_t *ret_ago_ns);

/* Close the kernel's log. */
void oom_end(struct oom_watch *w);

#endif
