/* SPDX-License-Identifier: Apache-2.0 */
/* network.h - what the network between the nodes of a job was measured to be
 *
 * Plain data, to and from JSON.  Nodes are numbers by their places in the order that started the
 * measurement; `host`, when there, names them.
 */
#ifndef EDDIS_MODEL_NETWORK_H
#define EDDIS_MODEL_NETWORK_H

#include "lib/base/error.h"

#include <math.h>
#include <stddef.h>

enum { NETWORK_MAX_NODES = 65536, NETWORK_MAX_LINKS = 1 << 20 };

/* From one node to another; the other direction is a link of its own. */
struct network_link {
    int from, to;
    double latency_s;   /* of a small message, one way */
    double bytes_per_s; /* of a large one */
};

struct network {
    char network[64]; /* "10.1.0.0/24"; "" unknown */
    int n_nodes;
    char **host;        /* [n_nodes], or NULL */
    double allreduce_s; /* a number from each of them, added up; NAN when it failed */
    struct network_link *link;
    int n_links;
    /* What did not answer, when something did not. */
    int failed_from, failed_to; /* -1: nothing failed, or not a pair */
    char failed[128];           /* which step of the measurement; "": none */
};

/* Returns JSON text on one line; NULL without memory. */
char *network_text(const struct network *n);

/* Parse what network_text wrote; what names the source in errors. */
int network_parse(const char *text, size_t size, const char *what, struct network **ret,
                  struct eddis_error *err);

/* Borrows the link with the least bytes_per_s, or NULL when there is none. */
const struct network_link *network_slowest(const struct network *n);

/* What a node's wire carries: the median of the links that it is at, of the node that has least, so
 * that one link measured in a bad moment does not count, and a slow node does.  latency_s is the
 * median of all links.  -ENODATA: there is no link; -ENOMEM.
 */
int network_wire(const struct network *n, double *ret_latency_s, double *ret_bytes_per_s);

void network_free(struct network *n); /* accepts NULL */

#endif
