/* SPDX-License-Identifier: Apache-2.0 */
/* networks.h - which networks could carry the job's traffic, best first
 *
 * A candidate is a subnet in which every node has an address.  Interfaces are matched by subnet and
 * never by name: eth0 of one node may be the wrong cable on the next.  Left out are loopback and
 * link-local addresses, those that Open MPI cannot use, and addresses that several nodes have: they
 * belong to bridges of containers (172.17.0.1), not to a wire between the nodes.
 *
 * Order: physical networks before virtual ones, but first of all the one by which the agents came
 * to the driver, because it is known to work; then the slowest node's speed where the kernel tells
 * it, then IPv4 before IPv6, then the smaller subnet.  A cable that an agent came by is as good by
 * the other family.  When no subnet joins all nodes, but all came to the driver, the
 * smallest network that holds the addresses by which they came is tried: racks with a router
 * between them.  Whether a candidate carries traffic is found out by a probe, not here.
 *
 * Pure functions: no socket is opened and no name resolved.
 */
#ifndef EDDIS_SCHEDULER_NETWORKS_H
#define EDDIS_SCHEDULER_NETWORKS_H

#include "lib/base/error.h"
#include "lib/base/ip.h"

#include <stdbool.h>
#include <stdint.h>

struct network_address {
    const char *interface; /* its name on that node */
    const char *address;   /* "10.1.0.7", "fd00::7" */
    int prefix;            /* bits of it that are the network's */
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
    int n_came;                    /* nodes that came to the driver by it */
    bool is_virtual, routed;       /* of one node at least; not one subnet for all */
    bool six;                      /* of IPv6 */
};

struct networks {
    struct network_candidate *network; /* [n], best first */
    int n;
    char (*dropped)[256]; /* [n_dropped] "172.17.0.0/16: 172.17.0.1 is on c01 and c02, ..." */
    int n_dropped;
};

/* Find the candidates for n_nodes nodes.  wish: "auto", or what communication.interface says: an
 * interface's name on any of the nodes, an address or a network "10.1.0.0/24"; or several of these
 * with commas between them.  One node, and nodes that are all the same machine, use loopback.
 * -ENETUNREACH: there is none, err says between whom.  For networks_fini.
 */
int networks_find(const struct network_node *node, int n_nodes, const char *wish,
                  struct networks *ret, struct eddis_error *err);

void networks_fini(struct networks *s);

/* Whether an address with this prefix on this interface is one of those wished for, as above. */
bool networks_wished(const char *wish, const char *interface, const char *address, int prefix);

#endif
