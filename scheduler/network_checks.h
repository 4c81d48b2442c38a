/* SPDX-License-Identifier: Apache-2.0 */
/* network_checks.h - by which links it is told whether a network is what it was
 *
 * Every node has one, the slowest ones first, and a node that is left over takes one of a node that
 * has another already: what has changed at a node shows in all its links, and all are measured at
 * the same time, in a few turns.  Pure.
 */
#ifndef EDDIS_SCHEDULER_NETWORK_CHECKS_H
#define EDDIS_SCHEDULER_NETWORK_CHECKS_H

#include "lib/base/error.h"
#include "lib/model/network.h"
#include "lib/model/network_check.h"

/* Fill ret [n], one for each node that takes part: rank[i] is the first rank of node i, known as
 * host[i] to the network that was measured.  No turn where there is nothing to ask: a name is
 * missing or there twice, or no link is known.  -ENOMEM.
 */
int network_checks_choose(const struct network *net, const char *const *host, const int *rank,
                          int n, struct network_checks *ret, struct eddis_error *err);

#endif
