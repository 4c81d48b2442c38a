/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - time as 64-bit nanoseconds
 *
 * Deadlines and durations are monotonic; wall time is for people and file names only.
 */
#ifndef EDDIS_BASE_CLOCK_H
#define EDDIS_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct timespec;

#define CLOCK_MS    INT64_C(1000000)
#define CLOCK_S     INT64_C(1000000000)
#define CLOCK_NEVER INT64_MAX /* a deadline that does not come */

/* Monotonic time, ns since some moment of this boot: comparable between processes of one node. */
int64_t clock_now_ns(void);

/* Wall time, ns since 1970 UTC. */
int64_t clock_wall_ns(void);

/* What the calling thread has computed, ns: on a busy machine work lasts longer than it costs. */
int64_t clock_thread_ns(void);

/* now, from 0 on, and ns, which may be below 0: at least 0, without overflow; CLOCK_NEVER stays
 * itself. */
int64_t clock_after_ns(int64_t now_ns, int64_t ns);

/* Seconds as ns, from 0 to CLOCK_NEVER; NaN is 0. */
int64_t clock_of_seconds(double s);

/* A file's time as ns since 1970 UTC; what is beyond 292 years before or after is that. */
int64_t clock_of_timespec(const struct timespec *t);

/* Milliseconds until deadline for poll(2): rounded up, 0 when past, -1 for CLOCK_NEVER. */
int clock_poll_ms(int64_t deadline_ns);

/* Sleep until the monotonic moment; returns at once when it is past.  Blocks. */
void clock_sleep_until_ns(int64_t deadline_ns);

/* As clock_sleep_until_ns, but within microseconds where a core is free: the last CLOCK_SPIN_NS are
 * not slept, since a core that halted, a virtual one above all, wakes that much late.  Yields
 * meanwhile.
 */
#define CLOCK_SPIN_NS (CLOCK_MS / 5)
void clock_wait_until_ns(int64_t deadline_ns);

/* Write wall time as "2026-11-21T14:07:12.345Z", in UTC; n at least 25. */
void clock_wall_text(int64_t wall_ns, char *ret, size_t n);

#endif
