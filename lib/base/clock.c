/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - read the kernel's clocks, sleep until a time, and format wall time */
#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

/* Return the present time of clock `id` in ns. */
static int64_t read_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return t.tv_sec * CLOCK_S + t.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t clock_thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_after_ns(int64_t now_ns, int64_t ns)
{
    if (ns == CLOCK_NEVER || (ns > 0 && now_ns > CLOCK_NEVER - ns))
        return CLOCK_NEVER;
    return ns < -now_ns ? 0 : now_ns + ns;
}

int64_t clock_of_seconds(double s)
{
    double ns = s * 1e9;

    if (!(ns > 0))
        return 0;
    return ns < 9.2e18 ? (int64_t)ns : CLOCK_NEVER;
}

int64_t clock_of_timespec(const struct timespec *t)
{
    const int64_t most_s = INT64_MAX / CLOCK_S - 1;

    if (t->tv_sec > most_s || t->tv_sec < -most_s)
        return t->tv_sec > 0 ? INT64_MAX : -INT64_MAX;
    return t->tv_sec * CLOCK_S + t->tv_nsec;
}

int clock_poll_ms(int64_t deadline_ns)
{
    int64_t left;

    if (deadline_ns == CLOCK_NEVER)
        return -1;
    left = deadline_ns - clock_now_ns();
    if (left <= 0)
        return 0;
    left = (left + CLOCK_MS - 1) / CLOCK_MS;
    return left > INT_MAX ? INT_MAX : (int)left;
}

void clock_sleep_until_ns(int64_t deadline_ns)
{
    struct timespec t = { .tv_sec = deadline_ns / CLOCK_S, .tv_nsec = deadline_ns % CLOCK_S };

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

void clock_wait_until_ns(int64_t deadline_ns)
{
    if (clock_now_ns() < deadline_ns - CLOCK_SPIN_NS)
        clock_sleep_until_ns(deadline_ns - CLOCK_SPIN_NS);
    while (clock_now_ns() < deadline_ns)
        sched_yield();
}

int clock_cond_wait(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t deadline_ns)
{
    const struct timespec until = { .tv_sec = deadline_ns / CLOCK_S,
                                    .tv_nsec = deadline_ns % CLOCK_S };

    if (deadline_ns == CLOCK_NEVER)
        return pthread_cond_wait(changed, lock);
    return pthread_cond_clockwait(changed, lock, CLOCK_MONOTONIC, &until);
}

void clock_wall_text(int64_t wall_ns, char *ret, size_t n)
{
    time_t s = wall_ns / CLOCK_S;
    struct tm tm;
    char day[32];

    gmtime_r(&s, &tm);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret, n, "%s.%03dZ", day, (int)(wall_ns % CLOCK_S / CLOCK_MS));
}
