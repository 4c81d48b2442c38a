/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - find the ranks that train one model with this one */
#include "group.h"

#include <errno.h>
#include <stdlib.h>

/* Fill in number, members (in the order of ranks), place and number of groups of rank's group, from
 * the groups on the board.
 */
static void group_find(struct group *g, int rank, const struct board_area *a)
{
    bool hosts = false;
    int n = 0;

    g->number = a->group[rank];
    for (int i = 0; i < a->n_ranks; i++) {
        if (i == rank)
            g->place.rank = n;
        if (a->group[i] == g->number) {
            g->member[n++] = i;
            hosts |= a->node_of[i] != a->node_of[rank];
        }
        g->n_groups = a->group[i] >= g->n_groups ? a->group[i] + 1 : g->n_groups;
    }
    g->place.n_ranks = n;
    g->place.hosts = g->place.hosts && hosts;
    g->place.peer = g->member;
}

int group_open(struct group *g, const struct comm_place *all, const struct board_area *area,
               struct eddis_error *err)
{
    g->place = *all;
    g->n_groups = 1;
    g->member = calloc((size_t)all->n_ranks, sizeof *g->member);
    if (!g->member)
        return eddis_fail(err, -ENOMEM, "no memory for a group of workers");
    for (int i = 0; i < all->n_ranks; i++)
        g->member[i] = i;
    if (!area || !algorithm_has(area->algorithm, ALGORITHM_SEVERAL))
        return 0;
    g->rounds = algorithm_has(area->algorithm, ALGORITHM_ROUNDS);
    g->of = area->group;
    if (!g->rounds && !(area->options.moving_rate > 0))
        return eddis_fail(err, -EPROTO, "the job's plan has mode %s without a rate", area->mode);
    g->several = true;
    group_find(g, all->rank, area);
    return 0;
}

bool group_is_root(const struct group *g)
{
    return g->place.rank == 0;
}

void group_close(struct group *g)
{
    free(g->member);
}
