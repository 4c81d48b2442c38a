/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - time as 64-bit nanoseconds
 *
 * Deadlines and durations use the monotonic clock.  Wall time is for people and file names only.
 */
#ifndef EDDIS_BASE_CLOCK_H
#define EDDIS_BASE_CLOCK_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct timespec;

#define CLOCK_MS    INT64_C(1000000)
#define CLOCK_S     INT64_C(1000000000)
#define CLOCK_NEVER INT64_MAX /* no deadline */

/* Return monotonic time in ns since a fixed moment of this boot.  Times of different processes of
 * one node can be compared.
 */
int64_t clock_now_ns(void);

/* Return wall time in ns since 1970 UTC. */
int64_t clock_wall_ns(void);

/* Return the processor time that the calling thread has used, in ns.  Unlike wall time it does not
 * grow while other threads have the core.
 */
int64_t clock_thread_ns(void);

/* Return now_ns + ns, limited to 0 .. CLOCK_NEVER. now_ns is at least 0; ns may be negative.  If ns
 * is CLOCK_NEVER, the result is CLOCK_NEVER.
 */
int64_t clock_after_ns(int64_t now_ns, int64_t ns);

/* Return seconds as ns, limited to 0 .. CLOCK_NEVER.  NaN gives 0. */
int64_t clock_of_seconds(double s);

/* Return a file's time as ns since 1970 UTC.  Times more than 292 years from 1970 give INT64_MAX or
 * -INT64_MAX.
 */
int64_t clock_of_timespec(const struct timespec *t);

/* Return the milliseconds until the deadline as a timeout for poll(2): rounded up, 0 if it has
 * passed, -1 for CLOCK_NEVER.
 */
int clock_poll_ms(int64_t deadline_ns);

/* Sleep until this monotonic time.  Return immediately if it has passed. */
void clock_sleep_until_ns(int64_t deadline_ns);

/* Wait until this monotonic time, to within microseconds if a core is free.  Spend the last
 * CLOCK_SPIN_NS in sched_yield() instead of a sleep, because a halted core, above all a virtual
 * one, may wake up so much later.
 */
#define CLOCK_SPIN_NS (CLOCK_MS / 5)
void clock_wait_until_ns(int64_t deadline_ns);

/* Wait, with the lock held, until the condition is signalled or this monotonic time, CLOCK_NEVER:
 * without a limit.  Return 0, or ETIMEDOUT.
 */
int clock_cond_wait(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t deadline_ns);

/* Format wall time as "2026-11-21T14:07:12.345Z" (UTC) in ret [n]; n is at least 25. */
void clock_wall_text(int64_t wall_ns, char *ret, size_t n);

#endif
