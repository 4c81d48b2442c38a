/* SPDX-License-Identifier: Apache-2.0 */
/* node_memory.c - agree on memory that the ranks of a node share, or on working without it */
#include "node_memory.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>

/* Set s->nodes: the group's members by node, from the node numbers of all ranks.  The same result
 * on all ranks.  Collective.  Return 0 or a negative errno.
 */
static int node_memory_nodes(struct node_memory *s, struct eddis_error *err)
{
    const struct comm_place *p = s->group;
    int *of_member = calloc((size_t)p->n_ranks, sizeof *of_member);
    int rc = of_member ? 0 : eddis_fail(err, -ENOMEM, "no memory to find the nodes");

    for (int i = 0; rc == 0 && i < p->n_ranks; i++)
        of_member[i] = s->numbers->of_rank[p->peer ? p->peer[i] : i];
    if (rc == 0)
        rc = node_groups_new(p, of_member, &s->nodes, err);
    free(of_member);
    return collectives_agree(s->all, rc, err);
}

/* Create memory shared with the group's members on this node and store it in s->node; wait for
 * those members.  Return 0; -ETIMEDOUT: a member is missing; other failures are those of sharing
 * memory or of the communication.
 */
static int node_memory_share(struct node_memory *s, const struct comm_shm_size *size,
                             struct eddis_error *err)
{
    struct comm_place here = node_groups_here(s->nodes, COMM_REQUESTS);
    struct comm_wait w = { .kind = WAIT_REQUEST };
    int rc;

    s->request = calloc(1, sizeof *s->request);
    if (!s->request)
        return eddis_fail(err, -ENOMEM, "no memory for a request");
    rc = comm_shm_share(&here, size, &s->request->collective, err);
    if (rc < 0)
        return rc;
    s->request->peer = -1;
    s->request->command.kind = MAIL_REQUEST;
    s->request->level = REQUEST_NODE;
    comm_thread_send(s->all->waiter.thread, &s->request->command);
    w.request = s->request;
    rc = waiter_wait(&s->all->waiter, &w, clock_after_ns(clock_now_ns(), COLLECTIVES_TIMEOUT_NS),
                     err);
    if (rc == -ETIMEDOUT && w.peer < 0)
        return eddis_fail(err, rc, "setting up shared memory has not finished");
    if (rc == -ETIMEDOUT)
        return eddis_fail(err, rc, "setting up shared memory still waits for rank %d", w.peer);
    if (rc == 0)
        rc = comm_shm_take(s->request->collective, &s->node, err);
    return rc;
}

int node_memory_open(struct node_memory *s, const struct node_memory_size *n, bool must,
                     struct eddis_error *err)
{
    const struct comm_shm_size size = {
        .arena_bytes = n->arena_bytes,
        .slots = n->n_parameters + 2 + (int)(n->arena_bytes / COMM_SHM_PIECE_BYTES),
    };
    bool company;
    int rc;

    if (s->all->place.n_ranks == 1)
        return 0;
    rc = node_memory_nodes(s, err);
    if (rc < 0)
        return rc;
    /* If no two members of the group are on one node, there is nothing to share. */
    company = s->nodes->n < s->group->n_ranks;
    rc = collectives_agree(s->all, company ? node_memory_share(s, &size, &s->why) : 0, &s->why);
    if (comm_thread_failure(s->all->waiter.thread, err) < 0)
        return comm_thread_failure(s->all->waiter.thread, err);
    if (rc < 0)
        node_memory_drop(s);
    if (rc < 0 && must)
        return eddis_fail(err, rc, "the plan has workers of a node share memory: %s", s->why.text);
    if (!s->node)
        return 0;
    s->nodes->shm = s->node;
    s->bytes = n->arena_bytes;
    s->group->nodes = s->nodes;
    return 0;
}

void node_memory_drop(struct node_memory *s)
{
    s->group->nodes = NULL;
    comm_shm_close(s->node);
    s->node = NULL;
    s->bytes = 0;
}

void node_memory_close(struct node_memory *s)
{
    if (s->request)
        collective_free(s->request->collective);
    free(s->request);
    comm_shm_close(s->node);
    node_groups_free(s->nodes);
}
