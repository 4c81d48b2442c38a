/* SPDX-License-Identifier: Apache-2.0 */
/* node_groups.h - the members of a group by the nodes that they are on
 *
 * A reduction between nodes that share memory takes two groups: the members of this node, and the
 * first members of all nodes.
 */
#ifndef EDDIS_COMM_NODE_GROUPS_H
#define EDDIS_COMM_NODE_GROUPS_H

#include "collective.h"

struct comm_shm;

/* A group by nodes, as one of its members sees it. */
struct node_groups {
    int n, index;           /* nodes of the group, and this member's */
    int *first;             /* [n] first member of each node */
    int *member;            /* [n_here] members on this node, ascending */
    int *first_rank, *rank; /* the same in the transport's numbers */
    int n_here, here;       /* members on this node, and this one's place among them */
    bool hosts;             /* as in struct comm_place */
    struct comm_shm *shm;   /* memory that those here share, borrowed; NULL: none so far */
};

/* Sort the members of p; node_of [n_ranks] is any number of each member's node.  -ENOMEM. */
int node_groups_new(const struct comm_place *p, const int *node_of, struct node_groups **ret,
                    struct eddis_error *err);

/* Return the group of this node's members, and the group of the nodes' first members, both of which
 * borrow n.
 */
struct comm_place node_groups_here(const struct node_groups *n, enum comm_channel channel);
struct comm_place node_groups_firsts(const struct node_groups *n, enum comm_channel channel);

/* Accepts NULL. */
void node_groups_free(struct node_groups *n);

#endif
