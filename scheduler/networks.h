/* SPDX-License-Identifier: Apache-2.0 */
/* networks.h - finds the networks that could carry the job's traffic, best first
 *
 * A candidate is a subnet in which every node has an address. Interfaces are matched by subnet,
 * never by name: eth0 may be a different network on another node. Left out are loopback and
 * link-local addresses, those that Open MPI cannot use, and addresses that several nodes have. The
 * latter belong to container bridges (172.17.0.1), not to a network between the nodes.
 *
 * Order: first the network over which the agents connected to the driver, because it is known to
 * work. Then physical networks before virtual ones, then the slowest node's speed if the kernel
 * reports it, then IPv4 before IPv6, then the smaller subnet. If an agent connected over IPv6, the
 * same interface's IPv4 network counts as well. If no subnet joins all nodes, but all connected to
 * the driver, the smallest network that contains the addresses from which they connected is tried:
 * racks with a router between them. Whether a candidate carries traffic is found out by a probe,
 * not here.
 *
 * Pure functions: no socket is opened and no name is resolved.
 */
#ifndef EDDIS_SCHEDULER_NETWORKS_H
#define EDDIS_SCHEDULER_NETWORKS_H

#include "lib/base/error.h"
#include "lib/base/ip.h"
#include "lib/base/strlist.h"

#include <stdbool.h>
#include <stdint.h>

struct network_address {
    const char *interface; /* its name on that node */
    const char *address;   /* "10.1.0.7", "fd00::7" */
    int prefix;            /* length of the network's prefix, in bits */
    int64_t speed_mbit;    /* 0 unknown */
    bool is_virtual;
    const char *unfit; /* why Open MPI cannot use it; NULL: it can */
};

struct network_node {
    const char *name;
    const struct network_address *address; /* [n_addresses], of interfaces that are up */
    int n_addresses;
    const char *came_from; /* its address as the driver saw it; NULL or "": unknown */
};

struct network_candidate {
    char subnet[IP_NETWORK_CHARS]; /* "10.1.0.0/24" */
    char (*address)[IP_CHARS];     /* [n_nodes] of each node in it */
    char (*interface)[16];         /* [n_nodes] */
    int64_t speed_mbit;            /* of the slowest; 0 unknown */
    int n_came;                    /* nodes that connected to the driver over it */
    bool is_virtual, routed;       /* virtual on a node at least; several subnets with routers */
    bool six;                      /* it is an IPv6 network */
};

struct networks {
    struct network_candidate *network; /* [n], best first */
    int n;
    struct strlist dropped; /* "172.17.0.0/16: 172.17.0.1 is on c01 and c02, ..." */
};

/* Find the candidates for n_nodes nodes. wish: "auto", or the value of communication.interface: an
 * interface's name on any node, an address, a network "10.1.0.0/24", or several of these separated
 * by commas. One node, and nodes that are all the same machine, use loopback. -ENETUNREACH: there
 * is no candidate; err names two nodes that share none. Free with networks_fini.
 */
int networks_find(const struct network_node *node, int n_nodes, const char *wish,
                  struct networks *ret, struct eddis_error *err);

void networks_fini(struct networks *s);

/* Check whether `wish`, as for networks_find, allows an address with this prefix on this interface.
 */
bool networks_wished(const char *wish, const char *interface, const char *address, int prefix);

#endif
