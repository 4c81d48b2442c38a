/* SPDX-License-Identifier: Apache-2.0 */
/* network_checks.h - chooses the links by which a job checks whether its network has changed
 *
 * Each node measures one link, the slowest first. A node that is left over measures a link to a
 * node that already has one. A change at a node shows in all its links. All links are measured at
 * the same time, in a few time slots. Pure.
 */
#ifndef EDDIS_SCHEDULER_NETWORK_CHECKS_H
#define EDDIS_SCHEDULER_NETWORK_CHECKS_H

#include "lib/base/error.h"
#include "lib/model/network.h"
#include "lib/model/network_check.h"

/* Fill ret [n] for each node that takes part: rank[i] is the first rank of node i, whose name in
 * the measured network is host[i]. No time slot is set if a name is missing or ambiguous, or if no
 * link is known. -ENOMEM.
 */
int network_checks_choose(const struct network *net, const char *const *host, const int *rank,
                          int n, struct network_checks *ret, struct eddis_error *err);

#endif
