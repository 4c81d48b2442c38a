/* SPDX-License-Identifier: Apache-2.0 */
/* node_groups.h - groups the members of a group of ranks by their nodes
 *
 * A reduction between nodes that share memory uses two groups: the members of this node, and the
 * first members of all nodes.
 */
#ifndef EDDIS_COMM_NODE_GROUPS_H
#define EDDIS_COMM_NODE_GROUPS_H

#include "collective.h"

struct comm_shm;

/* A group by nodes, as seen by one of its members. */
struct node_groups {
    int n, index;           /* number of nodes of the group, and this member's node */
    int *first;             /* [n] first member of each node */
    int *member;            /* [n_here] members on this node, ascending */
    int *first_rank, *rank; /* `first` and `member` as ranks of the transport */
    int n_here, here;       /* number of members on this node, and this member's index among
                             * these */
    bool hosts;             /* the ranks are on several hosts, as in struct comm_place */
    struct comm_shm *shm; /* memory shared by the members on this node, borrowed; NULL: none yet */
};

/* Group the members of p by nodes; node_of [n_ranks] is any number that identifies each member's
 * node.  The caller frees *ret by node_groups_free.  Return 0 or -ENOMEM.
 */
int node_groups_new(const struct comm_place *p, const int *node_of, struct node_groups **ret,
                    struct eddis_error *err);

/* Return the group of this node's members; the group borrows n. */
struct comm_place node_groups_here(const struct node_groups *n, enum comm_channel channel);

/* Return the group of the first members of all nodes; the group borrows n. */
struct comm_place node_groups_firsts(const struct node_groups *n, enum comm_channel channel);

/* Free n.  Accept NULL. */
void node_groups_free(struct node_groups *n);

#endif
