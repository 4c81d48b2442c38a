/* SPDX-License-Identifier: Apache-2.0 */
/* node_numbers.c - find the ranks on one node: from the board, or from names that ranks exchange */
#include "node_numbers.h"

#include "lib/base/boot_id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Identity of a node: host, boot and process namespace.  Ranks with equal names can share memory.
 */
struct node_name {
    char host[256];
    char boot[BOOT_ID_CHARS];
    uint64_t pid_space;
};

/* Fill in the name of this node. */
static void node_name(struct node_name *ret)
{
    struct stat st;

    memset(ret, 0, sizeof *ret);
    gethostname(ret->host, sizeof ret->host - 1);
    boot_id_read(ret->boot);
    if (stat("/proc/self/ns/pid", &st) == 0)
        ret->pid_space = (uint64_t)st.st_ino;
}

/* Number the nodes without an agent: ret_node_of [n_ranks] gets for each rank the lowest rank with
 * the same node_name.  Collective.  Return 0 or a negative errno.
 */
static int nodes_find(struct collectives *c, int *ret_node_of, struct eddis_error *err)
{
    int n = c->place.n_ranks, rc;
    struct node_name own, *all = calloc((size_t)n, sizeof *all);

    rc = all ? 0 : eddis_fail(err, -ENOMEM, "no memory for the names of %d nodes", n);
    rc = collectives_agree(c, rc, err);
    if (rc == 0) {
        node_name(&own);
        rc = collectives_allgather(c, &own, all, sizeof own, err);
    }
    for (int r = 0; rc == 0 && r < n; r++) {
        ret_node_of[r] = 0;
        while (memcmp(&all[ret_node_of[r]], &all[r], sizeof own) != 0)
            ret_node_of[r]++;
    }
    free(all);
    return rc;
}

int node_numbers_open(struct node_numbers *n, struct collectives *all,
                      const struct board_area *area, struct eddis_error *err)
{
    size_t ranks = (size_t)all->place.n_ranks;
    int rc;

    n->of_rank = calloc(ranks, sizeof *n->of_rank);
    rc = n->of_rank ? 0 : eddis_fail(err, -ENOMEM, "no memory for the nodes of %zu ranks", ranks);
    if (!area)
        rc = collectives_agree(all, rc, err);
    if (rc == 0 && area)
        memcpy(n->of_rank, area->node_of, ranks * sizeof *n->of_rank);
    else if (rc == 0)
        rc = nodes_find(all, n->of_rank, err);
    return rc < 0 ? rc : node_groups_new(&all->place, n->of_rank, &n->groups, err);
}

void node_numbers_close(struct node_numbers *n)
{
    node_groups_free(n->groups);
    free(n->of_rank);
}
