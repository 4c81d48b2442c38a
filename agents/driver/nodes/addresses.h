/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.h - choose the addresses of this machine at which agents reach the driver
 *
 * The driver listens only on the source addresses of its packets to the nodes, as the kernel
 * chooses them. If only ssh can resolve a node's name (an alias in its configuration), there is no
 * such address. Then the driver listens on every address of this machine that is neither loopback
 * nor link-local and belongs to no bridge or tunnel. If a name has addresses of both families, IPv4
 * is used; IPv6 is used only if there is no IPv4 route.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_ADDRESSES_H
#define EDDIS_AGENTS_DRIVER_NODES_ADDRESSES_H

#include "listeners.h"

#include "lib/base/error.h"
#include "lib/model/job.h"

/* Choose up to HTTP_MAX_BASES addresses for the driver to listen on, and write them to ret, best
 * first. Return their number, or a negative errno. If all nodes are this machine, the only address
 * is 127.0.0.1. If communication.interface names addresses of this machine, only these are chosen.
 * Resolving names may block for a few seconds.
 */
int addresses_find(const struct job *job, char ret[HTTP_MAX_BASES][LISTENERS_ADDRESS],
                   struct eddis_error *err);

#endif
