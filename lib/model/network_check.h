/* SPDX-License-Identifier: Apache-2.0 */
/* network_check.h - whether the network is what an earlier job has measured: what is asked of a
 * job's ranks, and what they say
 *
 * The driver asks each node for a few links, by the plan area of its board; in eddis_commit the
 * first ranks of the nodes send one message over each, and rank 0 shows what came of it on its
 * page. Both lie in shared memory as they stand here, so sizes are fixed.
 */
#ifndef EDDIS_MODEL_NETWORK_CHECK_H
#define EDDIS_MODEL_NETWORK_CHECK_H

#include <stdint.h>

enum {
    NETWORK_CHECK_ROWS = 2, /* links of one node, at most */
    NETWORK_CHECK_TURNS = 5 /* one after the other: 4 of most links, so that nodes of one machine do
                             * not all send at once, and one more of nodes that were left over */
};

/* What the ratio of a speed to the one before must be within to be the same, at most and at least.
 */
#define NETWORK_CHECK_MOST  (4 / 3.0)
#define NETWORK_CHECK_LEAST (3 / 4.0)
#define NETWORK_CHECK_FAST  1e9 /* bytes a second; what carries more is not told apart */

/* A link of this node to another, measured in both directions. */
struct network_check_row {
    int32_t peer; /* rank to measure with, the first of its node; -1: none */
    int32_t turn;
    double bytes_per_s; /* from here to there, as it was */
};

/* Asked of a node; turns alike for all. */
struct network_checks {
    struct network_check_row row[NETWORK_CHECK_ROWS];
    int64_t turns; /* 0: nothing is asked */
};

/* Said by rank 0. */
struct network_check {
    int32_t known;           /* 1: some links were measured */
    int32_t holds;           /* 1: they are as they were */
    int32_t from, to;        /* ranks: the link that has changed most */
    double was_bytes_per_s;  /* of it, then ... */
    double bytes_per_s;      /* ... and now */
    double wire_bytes_per_s; /* of all links of a node, of the node that has least */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct network_checks) == 40 && sizeof(struct network_check) == 40,
               "no padding in shared memory");
#endif

#endif
