/* SPDX-License-Identifier: Apache-2.0 */
/* confirm.h - whether the network is what an earlier job has measured
 *
 * The first ranks of the nodes send one message over the links that the area names, both ways, and
 * again where that was not as it should be.  Nothing is sent between others, and what all have to
 * know goes the way of small all-reduces.
 */
#ifndef EDDIS_WORKER_CONFIRM_H
#define EDDIS_WORKER_CONFIRM_H

#include "collectives.h"
#include "lib/board/layout.h"

/* Measure what the area, which may be NULL, asks for; ret->known is 0 where it asks for nothing.
 * Collective; *ret is the same on all ranks.
 */
int confirm_network(struct collectives *all, const struct board_area *area,
                    struct network_check *ret, struct eddis_error *err);

#endif
