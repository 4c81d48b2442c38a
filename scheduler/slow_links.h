/* SPDX-License-Identifier: Apache-2.0 */
/* slow_links.h - finds the machine whose link to the others has become slow
 *
 * If workers train one model, all of them wait for a slow link alike, so their times do not show
 * whose it is. The connections do: those over the link are busy for most of a step, and carry less
 * than before. Each is known at the sending end. A slow link shows in its machine's own connection
 * and in those of others to it. So the machine at most ends of slow connections is named. If only
 * one connection is slow, its sender is named. With two machines, or if several machines are
 * equally involved, none is named: then the whole network is slow.
 *
 * Each connection is compared with its own past. Pure: time comes with each call, in seconds.
 */
#ifndef EDDIS_SCHEDULER_SLOW_LINKS_H
#define EDDIS_SCHEDULER_SLOW_LINKS_H

#include "lib/base/error.h"
#include "lib/model/link_load.h"

#include <stdbool.h>
#include <stdint.h>

/* A slow link, as its slowest connection is now; seconds are per step. */
struct slow_link {
    int rank;          /* whose machine has the slow link */
    bool over;         /* it is no longer slow */
    int from, to;      /* nodes at the ends of the slowest connection over it */
    int64_t since;     /* about the number of the step since which it is slow, or no longer */
    double times;      /* duration of steps relative to before */
    double confidence; /* 0 to 1: fraction of the extra time in which it was busier */
    double busy_s, step_s;
    double bytes_per_s, usual_bytes_per_s; /* while it is busy */
};

struct slow_links;

/* Return a watch on the links of n workers in *ret; node [n]: the node of each, 0 to n_nodes - 1,
 * copied. Free it with slow_links_free. -EINVAL, -ENOMEM.
 */
int slow_links_new(const int *node, int n, int n_nodes, struct slow_links **ret,
                   struct eddis_error *err);
void slow_links_free(struct slow_links *s); /* accepts NULL */

/* Add a reading of a worker's busiest connection; peer: the node at its other end. A connection to
 * elsewhere (-1), such as a store of checkpoints, is ignored. step_s: mean duration of recent
 * steps; step: number of the last one.
 */
void slow_links_take(struct slow_links *s, int rank, const struct link_load *l, int peer,
                     double step_s, int64_t step);

/* Return whether there is news, and fill *ret: a link has been slow for long enough to be reported,
 * or a reported one is no longer slow.
 */
bool slow_links_next(struct slow_links *s, double now_s, struct slow_link *ret);

/* Forget that a link was just reported: it is reported again if it is still slow later. */
void slow_links_take_back(struct slow_links *s);

#endif
