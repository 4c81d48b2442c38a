/* SPDX-License-Identifier: Apache-2.0 */
/* network_checks.h - chooses the links by which a job checks whether its network has changed
 *
 * Nodes are paired, the slowest links first, and each pair measures its link. A node without a
 * partner measures a link to a node that already has a partner. A change of a node's connection
 * shows in each of its links, so one link a node is enough. The links are measured in a few time
 * slots, several links in each. Pure.
 */
#ifndef EDDIS_SCHEDULER_NETWORK_CHECKS_H
#define EDDIS_SCHEDULER_NETWORK_CHECKS_H

#include "lib/base/error.h"
#include "lib/model/network.h"
#include "lib/model/network_check.h"

/* Choose the links that n nodes measure, and fill ret [n], one element a node. rank[i] is the first
 * rank on node i, whose name in the measured network is host[i]. If a name is missing or ambiguous,
 * or no link is known, ret has no time slots. Return 0 or -ENOMEM.
 */
int network_checks_choose(const struct network *net, const char *const *host, const int *rank,
                          int n, struct network_checks *ret, struct eddis_error *err);

#endif
