/* SPDX-License-Identifier: Apache-2.0 */
/* network_check.h - revalidation of a network that an earlier job has measured: request and result
 *
 * The driver asks each node, through the plan area of the node's board, to measure a few links.  In
 * eddis_commit the first rank of each node sends one message over each link, and rank 0 publishes
 * the result on its progress page.  Both structs are placed in shared memory, so their sizes are
 * fixed.
 */
#ifndef EDDIS_MODEL_NETWORK_CHECK_H
#define EDDIS_MODEL_NETWORK_CHECK_H

#include <stdint.h>

enum {
    NETWORK_CHECK_ROWS = 2, /* most links per node */
    /* Most time slots: 4 for most links, so that the nodes of one machine do not all send at the
     * same time, and 1 for the links of nodes that have found no partner in these 4
     */
    NETWORK_CHECK_TURNS = 5
};

/* Limits of the ratio of new to old bandwidth within which the two count as equal */
#define NETWORK_CHECK_MOST  (4 / 3.0)
#define NETWORK_CHECK_LEAST (3 / 4.0)
#define NETWORK_CHECK_FAST  1e9 /* bytes per second; faster links count as equal */

/* A link of this node, measured in both directions */
struct network_check_row {
    int32_t peer;       /* first rank of the other node; -1: none */
    int32_t turn;       /* time slot in which to measure the link, from 0 */
    double bytes_per_s; /* earlier bandwidth in this direction */
};

/* Request to one node; `turns`, the number of time slots, is the same for all */
struct network_checks {
    struct network_check_row row[NETWORK_CHECK_ROWS];
    int64_t turns; /* 0: no request */
};

/* Result, published by rank 0 */
struct network_check {
    int32_t known;           /* 1: there is a result */
    int32_t holds;           /* 1: the network is unchanged */
    int32_t from, to;        /* ranks of the link that has changed most */
    double was_bytes_per_s;  /* earlier bandwidth of the link between `from` and `to` */
    double bytes_per_s;      /* bandwidth of the link now */
    double wire_bytes_per_s; /* bandwidth now of the slowest node: mean over its links, both
                              * directions */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct network_checks) == 40 && sizeof(struct network_check) == 40,
               "no padding in shared memory");
#endif

#endif
