/* SPDX-License-Identifier: Apache-2.0 */
/* quiet_watch.h - detects programs without known steps that neither print nor compute
 *
 * A program that waits in a collective operation of gloo, or for a lock, uses no processor time. A
 * program that waits in a loop, as in NCCL and MPI, uses processor time, and cannot be
 * distinguished from a program that computes.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_QUIET_WATCH_H
#define EDDIS_AGENTS_NODE_WATCH_QUIET_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct quiet_watch {
    int64_t since_ns;  /* time since which the program is quiet; 0: not polled yet */
    int64_t looked_ns; /* time of the last poll ... */
    int64_t used;      /* ... and processor time used until then, in clock ticks */
    bool reported;
};

/* Record that the program has printed something. */
void quiet_watch_heard(struct quiet_watch *q, int64_t now_ns);

/* Poll the processes below a wrapper, at most once in a tenth of limit_ns. Return 1 if they have
 * now been quiet for limit_ns, -1 if they work again after that, 0 if nothing has changed.
 */
int quiet_watch_look(struct quiet_watch *q, pid_t wrapper, int64_t limit_ns, int64_t now_ns);

/* Do as quiet_watch_look, with processes that have used `used` clock ticks of processor time; for
 * tests.
 */
int quiet_watch_take(struct quiet_watch *q, int64_t used, int64_t limit_ns, int64_t now_ns);

/* Write to ret [size] the kernel function in which the first thread of pid waits, such as
 * "futex_wait_queue"; "": unknown.
 */
void quiet_watch_where(pid_t pid, char *ret, size_t size);

#endif
