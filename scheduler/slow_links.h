/* SPDX-License-Identifier: Apache-2.0 */
/* slow_links.h - whose way to the others has become slow
 *
 * Where workers train one model all of them wait for a slow link alike: their times do not tell
 * whose it is.  The connections do: those over it are busy for most of a step, and carry less than
 * before.  Each is known at the end that sends.  A machine with a slow link has its own connection
 * and those of others to it among them, so the one that is at most of their ends is named; where
 * only one is slow its sender is.  With two machines, or where it is several machines' doing,
 * nobody is: that is the network.
 *
 * Each connection is set against its own past.  Pure: time comes with each call, in seconds.
 */
#ifndef EDDIS_SCHEDULER_SLOW_LINKS_H
#define EDDIS_SCHEDULER_SLOW_LINKS_H

#include "lib/base/error.h"
#include "lib/model/link_load.h"

#include <stdbool.h>
#include <stdint.h>

/* A worker's connection as it is now; seconds of a step. */
struct slow_link {
    int rank; /* whose machine has the slow link */
    bool over;
    int from, to;      /* nodes at the ends of the slowest connection over it */
    int64_t since;     /* number of a step from about which on it is slow, or no more */
    double times;      /* as long as before its steps take */
    double confidence; /* 0 to 1: part of that in which it was busy */
    double busy_s, step_s;
    double bytes_per_s, usual_bytes_per_s; /* while it is busy */
};

struct slow_links;

/* node [n]: of each worker, 0 to n_nodes - 1; copied.  -EINVAL, -ENOMEM. */
int slow_links_new(const int *node, int n, int n_nodes, struct slow_links **ret,
                   struct eddis_error *err);
void slow_links_free(struct slow_links *s); /* accepts NULL */

/* What is known of a worker's busiest connection; peer: the node that it goes to.  One that goes
 * elsewhere (-1), as to a store of checkpoints, tells nothing.  step_s: a step of late, mean; step:
 * number of the last one.
 */
void slow_links_take(struct slow_links *s, int rank, const struct link_load *l, int peer,
                     double step_s, int64_t step);

/* Returns whether there is a worker whose link has been slow for long enough to be named, or that
 * was named and is over, and fills *ret.
 */
bool slow_links_next(struct slow_links *s, double now_s, struct slow_link *ret);

/* Take back that one was named just now: it is again when it still is one in a while. */
void slow_links_take_back(struct slow_links *s);

#endif
