/* SPDX-License-Identifier: Apache-2.0 */
/* poll_backoff.c - waits a fixed part of the time since something new was last seen */
#include "poll_backoff.h"

#include "lib/base/clock.h"

enum { PART = 64 };   /* an event is seen late by at most a PARTth of the time it took */
enum { TIMES = 100 }; /* the pause between readings is this many times as long as one computes */

/* Minimum interval between two polls. */
static const int64_t least_ns = 5 * CLOCK_MS;

void poll_backoff_taken(struct poll_backoff *l, int64_t seen, int64_t most_ns, int64_t now_ns)
{
    int64_t wait_ns;

    if (l->since_ns == 0 || seen > l->seen) {
        l->since_ns = now_ns;
        l->seen = seen;
    }
    wait_ns = (now_ns - l->since_ns) / PART;
    if (wait_ns > most_ns)
        wait_ns = most_ns;
    l->next_ns = now_ns + (wait_ns > least_ns ? wait_ns : least_ns);
}

int64_t poll_backoff_cost_ns(int64_t begun_ns)
{
    int64_t pause_ns = (clock_thread_ns() - begun_ns) * TIMES;

    return clock_after_ns(clock_now_ns(), pause_ns > CLOCK_S ? pause_ns : CLOCK_S);
}
