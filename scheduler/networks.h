/* SPDX-License-Identifier: Apache-2.0 */
/* networks.h - finds the networks that could carry the job's traffic, best first
 *
 * A candidate is a subnet in which every node has an address. Interfaces are matched by subnet,
 * never by name: eth0 may be a different network on another node. Left out are loopback and
 * link-local addresses, addresses that Open MPI cannot use, and addresses that several nodes have.
 * An address that several nodes have belongs to container bridges (172.17.0.1), not to a network
 * between the nodes.
 *
 * Order: the network over which the agents connected to the driver comes first, because it is known
 * to work. The further criteria, in this order: physical before virtual networks, the higher speed
 * of the slowest node (if the kernel reports it), IPv4 before IPv6, the smaller subnet. If an agent
 * connected over IPv6, the same interface's IPv4 network counts as well. If no subnet joins all
 * nodes, but all agents connected to the driver, the candidate is the smallest network that
 * contains the addresses from which they connected: racks may have routers between them. Whether a
 * candidate carries traffic is tested later by a probe.
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
    const char *interface; /* name of the interface on its node */
    const char *address;   /* the address as text, "10.1.0.7", "fd00::7" */
    int prefix;            /* length of the address's network prefix, in bits */
    int64_t speed_mbit;    /* speed of the interface in Mbit/s; 0: unknown */
    bool is_virtual;
    const char *unfit; /* reason why Open MPI cannot use the interface; NULL: it can */
};

struct network_node {
    const char *name;
    /* [n_addresses] addresses of the node's interfaces that are up */
    const struct network_address *address;
    int n_addresses;
    /* address from which the node's agent connected to the driver; NULL or "": unknown */
    const char *came_from;
};

struct network_candidate {
    char subnet[IP_NETWORK_CHARS]; /* address range, "10.1.0.0/24" */
    char (*address)[IP_CHARS];     /* [n_nodes] address of each node in the subnet */
    char (*interface)[16];         /* [n_nodes] name of the interface that has this address */
    int64_t speed_mbit;            /* speed of the slowest interface in Mbit/s; 0: unknown */
    /* number of nodes that connected to the driver over this network */
    int n_came;
    /* virtual on at least one node; several subnets joined by routers */
    bool is_virtual, routed;
    bool six; /* it is an IPv6 network */
};

struct networks {
    struct network_candidate *network; /* [n], best first */
    int n;
    struct strlist dropped; /* "172.17.0.0/16: 172.17.0.1 is on c01 and c02, ..." */
};

/* Find the candidates for n_nodes nodes. allowed: "auto", or the value of communication.interface:
 * an interface's name on any node, an address, a network "10.1.0.0/24", or several of these
 * separated by commas. If there is one node, or all nodes are the same machine, the candidate is
 * loopback. The caller frees *ret with networks_fini. -ENETUNREACH: there is no candidate; err
 * names two nodes that share no network.
 */
int networks_find(const struct network_node *node, int n_nodes, const char *allowed,
                  struct networks *ret, struct eddis_error *err);

void networks_fini(struct networks *s);

/* Check whether `allowed` (see networks_find) allows this address, of a network with this prefix,
 * on this interface.
 */
bool networks_allow(const char *allowed, const char *interface, const char *address, int prefix);

#endif
