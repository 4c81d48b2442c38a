/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.h - on which of this machine's addresses agents can reach the driver
 *
 * The driver listens where its own way to the nodes begins and nowhere else: the kernel is asked
 * by which address it would send to each of them.  A node whose name only ssh can make sense of (an
 * alias of its configuration) gives no such address; then every address counts that is neither
 * loopback, link-local nor a bridge or tunnel.  Where a name has addresses of both families the way
 * by IPv4 counts, by IPv6 if there is none.
 */
#ifndef EDDIS_AGENTS_DRIVER_NODES_ADDRESSES_H
#define EDDIS_AGENTS_DRIVER_NODES_ADDRESSES_H

#include "listeners.h"

#include "lib/base/error.h"
#include "lib/model/job.h"

/* Write up to HTTP_MAX_BASES addresses, best first; returns how many.  127.0.0.1 alone when all
 * nodes are this machine.  Where communication.interface names addresses of this machine, only
 * those count.  Names are resolved, for a few seconds at most.
 */
int addresses_find(const struct job *job, char ret[HTTP_MAX_BASES][LISTENERS_ADDRESS],
                   struct eddis_error *err);

#endif
