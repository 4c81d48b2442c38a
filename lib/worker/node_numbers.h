/* SPDX-License-Identifier: Apache-2.0 */
/* node_numbers.h - which ranks are on one node
 *
 * No lock: the numbers do not change after eddis_open.
 */
#ifndef EDDIS_WORKER_NODE_NUMBERS_H
#define EDDIS_WORKER_NODE_NUMBERS_H

#include "collectives.h"
#include "lib/board/layout.h"
#include "lib/comm/node_groups.h"

struct node_numbers {
    int *of_rank;               /* [n_ranks] number of each rank's node, the same on all ranks */
    struct node_groups *groups; /* all ranks by node; nodes are numbered in the order of ranks */
};

/* Number the nodes as the board does.  If area is NULL, number them by host, boot and process
 * namespace; that is collective.  Return 0 or a negative errno.
 */
int node_numbers_open(struct node_numbers *n, struct collectives *all,
                      const struct board_area *area, struct eddis_error *err);

/* Free the numbers. */
void node_numbers_close(struct node_numbers *n);

#endif
