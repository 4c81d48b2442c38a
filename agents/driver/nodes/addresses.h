/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.h - choose the addresses of this machine that agents use to reach the driver
 *
 * The driver listens only on the source addresses of its packets to the nodes, which the kernel is
 * asked for.  A node name that only ssh can resolve (an alias in its configuration) gives no such
 * address.  In that case every address is used that is neither loopback nor link-local and belongs
 * to no bridge or tunnel.  If a name has addresses of both families, IPv4 is used; IPv6 is used
 * only if there is no IPv4 route.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_ADDRESSES_H
#define EDDIS_AGENTS_DRIVER_NODES_ADDRESSES_H

#include "listeners.h"

#include "lib/base/error.h"
#include "lib/model/job.h"

/* Choose up to HTTP_MAX_BASES addresses for the driver to listen on, write them to ret best first,
 * and return their number; negative: error.  It is 127.0.0.1 alone if all nodes are this machine.
 * If communication.interface names addresses of this machine, only those are used.  Resolving names
 * may block for a few seconds.
 */
int addresses_find(const struct job *job, char ret[HTTP_MAX_BASES][LISTENERS_ADDRESS],
                   struct eddis_error *err);

#endif
