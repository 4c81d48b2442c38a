/* SPDX-License-Identifier: Apache-2.0 */
/* node_groups.c - groups the members of a group of ranks by their nodes */
#include "node_groups.h"

#include <errno.h>
#include <stdlib.h>

/* Return the member's rank in the transport. */
static int member_rank(const struct comm_place *p, int member)
{
    return p->peer ? p->peer[member] : member;
}

/* Fill in the first member of each node and the members on this node, with their ranks and numbers.
 */
static void groups_fill(struct node_groups *n, const struct comm_place *p, const int *node_of)
{
    for (int i = 0; i < p->n_ranks; i++) {
        int node = n->n - 1; /* usually the previous member's node */

        while (node >= 0 && node_of[n->first[node]] != node_of[i])
            node--;
        if (node < 0) {
            n->first[n->n] = i;
            n->first_rank[n->n++] = member_rank(p, i);
        }
        if (node_of[i] != node_of[p->rank])
            continue;
        if (n->n_here == 0)
            n->index = n->n - 1;
        if (i == p->rank)
            n->here = n->n_here;
        n->member[n->n_here] = i;
        n->rank[n->n_here++] = member_rank(p, i);
    }
}

int node_groups_new(const struct comm_place *p, const int *node_of, struct node_groups **ret,
                    struct eddis_error *err)
{
    size_t ranks = (size_t)p->n_ranks;
    struct node_groups *n = calloc(1, sizeof *n + 4 * ranks * sizeof(int));

    if (!n)
        return eddis_fail(err, -ENOMEM, "no memory for the nodes of %d ranks", p->n_ranks);
    n->first = (int *)(n + 1);
    n->first_rank = n->first + ranks;
    n->member = n->first_rank + ranks;
    n->rank = n->member + ranks;
    n->hosts = p->hosts;
    groups_fill(n, p, node_of);
    *ret = n;
    return 0;
}

struct comm_place node_groups_here(const struct node_groups *n, enum comm_channel channel)
{
    return (struct comm_place){
        .rank = n->here, .n_ranks = n->n_here, .channel = channel, .peer = n->rank
    };
}

struct comm_place node_groups_firsts(const struct node_groups *n, enum comm_channel channel)
{
    return (struct comm_place){ .rank = n->index,
                                .n_ranks = n->n,
                                .hosts = n->hosts,
                                .channel = channel,
                                .peer = n->first_rank };
}

void node_groups_free(struct node_groups *n)
{
    free(n);
}
