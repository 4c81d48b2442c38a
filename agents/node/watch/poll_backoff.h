/* SPDX-License-Identifier: Apache-2.0 */
/* poll_backoff.h - how often the boards are looked at for a step that the driver waits for
 *
 * What happens there wakes nobody.  Looks come fast when something has just been seen, a page that
 * was opened or a step, and ever more slowly while nothing is: so what is seen next is late by a
 * small part of the time that it took, and a program that never opens libeddis is soon looked at no
 * more often than it is reported on.
 */
#ifndef EDDIS_AGENTS_NODE_WATCH_POLL_BACKOFF_H
#define EDDIS_AGENTS_NODE_WATCH_POLL_BACKOFF_H

#include <stdint.h>

/* All zero before the first look. */
struct poll_backoff {
    int64_t next_ns;  /* when to look again */
    int64_t since_ns; /* when something was seen last, or the first look */
    int64_t seen;     /* pages and steps by then */
};

/* Set the time of the next look, after one that has seen `seen` pages and steps; at most most_ns,
 * the time between two reports, from now.
 */
void poll_backoff_taken(struct poll_backoff *l, int64_t seen, int64_t most_ns, int64_t now_ns);

#endif
