/* SPDX-License-Identifier: Apache-2.0 */
/* poll_backoff.h - sets how often a board is polled for a step that the driver waits for
 *
 * A board wakes no process, so the agent polls it: often just after an event (an opened progress
 * page, or a step), and at growing intervals while there is no event. So the delay until an event
 * is seen is a small fraction of the time since the previous event. A program that never opens
 * libeddis is soon polled only once a report.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_POLL_BACKOFF_H
#define EDDIS_AGENTS_NODE_WATCH_POLL_BACKOFF_H

#include <stdint.h>

/* A polling interval; zeroed before the first poll */
struct poll_backoff {
    int64_t next_ns;  /* time of the next poll */
    int64_t since_ns; /* time of the last event, or of the first poll */
    int64_t seen;     /* number of progress pages and steps seen at since_ns */
};

/* Set the time of the next poll, after a poll that saw `seen` progress pages and steps: at most
 * most_ns, the time between two reports, after now_ns.
 */
void poll_backoff_taken(struct poll_backoff *l, int64_t seen, int64_t most_ns, int64_t now_ns);

/* Return when to read again what this thread has computed since begun_ns (clock_thread_ns): after a
 * pause in which that takes one hundredth of the time, and at least a second.
 */
int64_t poll_backoff_cost_ns(int64_t begun_ns);

#endif
