/* SPDX-License-Identifier: Apache-2.0 */
/* slow_links.h - finds the machine whose link to the other machines has become slow
 *
 * If workers train one model, all of them wait for a slow link alike, so their times do not show
 * whose it is. The connections do: a connection over the slow link is busy for most of a step, and
 * carries fewer bytes per second than before. The sending machine measures each connection. A
 * machine's slow link shows in its own connection and in connections of other machines to it. So
 * the machine that is an end of most slow connections is reported. If only one connection is slow,
 * its sender is reported. If there are two machines, or several machines are equally involved, none
 * is reported: the whole network is slow.
 *
 * Each connection is compared with its own past. Pure: time comes with each call, in seconds.
 */
#ifndef EDDIS_SCHEDULER_SLOW_LINKS_H
#define EDDIS_SCHEDULER_SLOW_LINKS_H

#include "lib/base/error.h"
#include "lib/model/link_load.h"

#include <stdbool.h>
#include <stdint.h>

/* A slow link, described by its slowest connection at present; seconds are per step */
struct slow_link {
    int rank;     /* rank whose machine has the slow link */
    bool over;    /* the link is no longer slow */
    int from, to; /* nodes at the ends of the slowest connection over the link */
    /* step since which the link is slow (over: since which it is not slow), approximate */
    int64_t since;
    double times; /* duration of a step, relative to steps before the link was slow */
    /* 0 to 1: fraction of the additional time during which the connection was busier than before */
    double confidence;
    double busy_s, step_s;
    /* speed of the connection while it is busy, now and before */
    double bytes_per_s, usual_bytes_per_s;
};

struct slow_links;

/* Create a watch on the links of n workers in *ret; node [n]: the node of each worker, 0 to n_nodes
 * - 1, copied. The caller frees it with slow_links_free. Return 0, -EINVAL or -ENOMEM.
 */
int slow_links_new(const int *node, int n, int n_nodes, struct slow_links **ret,
                   struct eddis_error *err);
void slow_links_free(struct slow_links *s); /* accepts NULL */

/* Add a reading of a worker's busiest connection. peer: the node at the connection's other end; if
 * it is -1, no node of the job but for example a store of checkpoints, the reading is ignored.
 * step_s: mean duration of recent steps; step: number of the last step.
 */
void slow_links_take(struct slow_links *s, int rank, const struct link_load *l, int peer,
                     double step_s, int64_t step);

/* Return whether there is a change to report, and fill *ret: a link has been slow for long enough,
 * or a reported link is no longer slow.
 */
bool slow_links_next(struct slow_links *s, double now_s, struct slow_link *ret);

/* Undo the report that slow_links_next just returned: if the link is still slow later, it is
 * reported again.
 */
void slow_links_take_back(struct slow_links *s);

#endif
