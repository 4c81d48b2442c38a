/* SPDX-License-Identifier: Apache-2.0 */
/* confirm.h - revalidate the network measurement of an earlier job
 *
 * The first ranks of the nodes send one message in both directions over each link that the area
 * names, and once more if a speed differs from the earlier one.  Other ranks send nothing except
 * small all-reduces that distribute the result.
 */
#ifndef EDDIS_WORKER_CONFIRM_H
#define EDDIS_WORKER_CONFIRM_H

#include "collectives.h"
#include "lib/board/layout.h"

/* Measure the links that the area (may be NULL) names and compare them with the earlier
 * measurement.  ret->known is 0 if the area names none.  Collective; *ret is the same on all ranks.
 * Return 0, whatever the result of the comparison, or a negative errno.
 */
int confirm_network(struct collectives *all, const struct board_area *area,
                    struct network_check *ret, struct eddis_error *err);

#endif
