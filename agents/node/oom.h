/* SPDX-License-Identifier: Apache-2.0 */
/* oom.h - whether the kernel killed a process for lack of memory
 *
 * Two witnesses: the oom_kill counter of our own cgroup (version 2 or 1), and the kernel's log,
 * where it may be read.  Without either the answer is no.
 */
#ifndef EDDIS_AGENTS_NODE_OOM_H
#define EDDIS_AGENTS_NODE_OOM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct oom_watch {
    char counter[512]; /* file; "": none */
    int64_t before;
    int kmsg; /* at the end of the kernel's log; -1: not readable */
};

/* Remember what counter and log say before a program starts. */
void oom_begin(struct oom_watch *w);

/* Whether pid, which ended by SIGKILL, is known to have been killed for memory. */
bool oom_killed(const struct oom_watch *w, pid_t pid);

/* Close the kernel's log. */
void oom_end(struct oom_watch *w);

#endif
