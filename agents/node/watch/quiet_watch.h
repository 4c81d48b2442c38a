/* SPDX-License-Identifier: Apache-2.0 */
/* quiet_watch.h - whether a program of which no step is known does anything: prints, or computes
 *
 * One that waits for others in a collective operation of gloo, or for a lock, uses no processor
 * time; one that waits in a loop, as NCCL's and MPI's do, does, and cannot be told from one that
 * computes.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_QUIET_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_QUIET_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct quiet_watch {
    int64_t since_ns;  /* it does nothing; 0: nobody has looked yet */
    int64_t looked_ns; /* at its processor time, which was then ... */
    int64_t used;      /* ... so many clock ticks */
    bool told;
};

/* It has printed something. */
void quiet_watch_heard(struct quiet_watch *q, int64_t now_ns);

/* Look at the processes below a wrapper, at most every tenth of limit_ns.  Returns 1 when they have
 * done nothing for limit_ns, -1 when they do again, 0: no news.
 */
int quiet_watch_look(struct quiet_watch *q, pid_t wrapper, int64_t limit_ns, int64_t now_ns);

/* The same with `used` clock ticks of processor time, for tests. */
int quiet_watch_take(struct quiet_watch *q, int64_t used, int64_t limit_ns, int64_t now_ns);

/* Write in what the first thread of pid waits in the kernel, "futex_wait_queue"; "": unknown. */
void quiet_watch_where(pid_t pid, char *ret, size_t size);

#endif
