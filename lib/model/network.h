/* SPDX-License-Identifier: Apache-2.0 */
/* network.h - measurements of the network between the nodes of a job
 *
 * Plain data, to and from JSON.  Nodes are numbered by their order at the start of the measurement;
 * `host`, if set, has their names.
 */
#ifndef EDDIS_MODEL_NETWORK_H
#define EDDIS_MODEL_NETWORK_H

#include "lib/base/error.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { NETWORK_MAX_NODES = 65536, NETWORK_MAX_LINKS = 1 << 20 };

/* A link from one node to another; the opposite direction is a separate link */
struct network_link {
    int from, to;
    double latency_s;   /* one-way latency of a small message */
    double bytes_per_s; /* bandwidth for a large message */
};

/* A measured network */
struct network {
    char network[64]; /* the network that was measured, "10.1.0.0/24"; "": unknown */
    int n_nodes;
    char **host;        /* [n_nodes] names of the nodes, or NULL */
    double allreduce_s; /* duration of an all-reduce of one number; NAN: it failed */
    struct network_link *link;
    int n_links;
    /* The two nodes between which the measurement failed, because one did not answer */
    int failed_from, failed_to; /* -1: no failure, or not between two nodes */
    char failed[128];           /* failed step of the measurement; "": none */
};

/* Return JSON text on one line, for the caller to free; NULL without memory. */
char *network_text(const struct network *n);

/* Parse the output of network_text; `what` names the source in errors.  Return 0, and network_free
 * frees *ret, or a negative errno, -EINVAL: malformed.
 */
int network_parse(const char *text, size_t size, const char *what, struct network **ret,
                  struct eddis_error *err);

/* Borrow the link with the least bandwidth; NULL: there are no links. */
const struct network_link *network_slowest(const struct network *n);

/* Estimate what a node's network interface carries.  *ret_bytes_per_s is the lowest of all nodes'
 * median bandwidths, each over the links of a node.  So a slow node counts, but a single disturbed
 * measurement does not.  *ret_latency_s is the median latency of all links.  Return 0, -ENODATA: no
 * links, or -ENOMEM.
 */
int network_wire(const struct network *n, double *ret_latency_s, double *ret_bytes_per_s);

/* Estimate the same for the links between the nodes of a set, in [n_nodes]; NULL: all nodes. Return
 * as network_wire; -ENODATA: no link of the set was measured.
 */
int network_wire_within(const struct network *n, const bool *in, double *ret_latency_s,
                        double *ret_bytes_per_s);

/* Free a network.  Accept NULL. */
void network_free(struct network *n);

#endif
