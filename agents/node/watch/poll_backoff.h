/* SPDX-License-Identifier: Apache-2.0 */
/* poll_backoff.h - sets how often a board is polled for a step that the driver waits for
 *
 * A board wakes no process, so it is polled: often just after something new, an opened progress
 * page or a step, and ever more slowly while nothing happens.  So an event is seen late by a small
 * part of the time that it took.  A program that never opens libeddis is soon polled no more often
 * than it is reported on.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_POLL_BACKOFF_H
#define EDDIS_AGENTS_NODE_WATCH_POLL_BACKOFF_H

#include <stdint.h>

/* A polling interval; all zero before the first poll. */
struct poll_backoff {
    int64_t next_ns;  /* time of the next poll */
    int64_t since_ns; /* time of the last new event, or of the first poll */
    int64_t seen;     /* progress pages and steps seen by then */
};

/* Set the time of the next poll after one that saw `seen` pages and steps; at most most_ns, the
 * time between two reports, from now.
 */
void poll_backoff_taken(struct poll_backoff *l, int64_t seen, int64_t most_ns, int64_t now_ns);

/* Return when to read again what this thread has computed since begun_ns (clock_thread_ns): after a
 * pause in which that takes one hundredth of the time, and at least a second.
 */
int64_t poll_backoff_cost_ns(int64_t begun_ns);

#endif
