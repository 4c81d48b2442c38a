/* SPDX-License-Identifier: Apache-2.0 */
/* node_numbers.h - which ranks are on one node */
#ifndef EDDIS_WORKER_NODE_NUMBERS_H
#define EDDIS_WORKER_NODE_NUMBERS_H

#include "collectives.h"
#include "lib/board/layout.h"

/* Number the nodes of all ranks, ret_node_of [n_ranks], as the board does, or by host, boot and
 * process space when area is NULL.  Collective.
 */
int node_numbers_find(struct collectives *c, const struct board_area *area, int *ret_node_of,
                      struct eddis_error *err);

#endif
