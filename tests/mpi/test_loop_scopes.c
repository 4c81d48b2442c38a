/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_scopes.c - collectives of groups and nodes, and what eddis_world says of them, a
 * thread a rank over the loop
 */
#include "loop_job.h"

#include <errno.h>

static const struct loop_job jobs[] = {
    { .n = 1, NODES(0) },
    { .n = 5, NODES(0, 0, 0, 0, 0) },
    { .n = 6, .share = 8, NODES(0, 0, 1, 1, 1, 2) },
    { .n = 4, .share = 8, .per_group = ASYNC, NODES(0, 0, 0, 1) },
    { .n = 6, .share = 8, .per_group = 2, NODES(0, 0, 0, 1, 1, 1) }, /* a group is on both */
    { .n = 8, .share = 8, .per_group = 4, NODES(0, 1, 1, 1, 1, 1, 1, 1) },
};

/* A wait for a group that is given up is gone on with, and nothing else has its buffer. */
static void again(struct eddis *e)
{
    struct eddis_world w = world_of(e);
    int64_t x = 1;
    const struct eddis_collective c = collective_of(EDDIS_GROUP, EDDIS_ALLREDUCE, &x, 1);
    const struct eddis_collective other = collective_of(EDDIS_ALL, EDDIS_ALLREDUCE, &x, 1);

    if (w.n_group_ranks == 1)
        return;
    if (w.group_rank > 0)
        OK(eddis_barrier(e, TIMEOUT_NS, &err));
    if (w.group_rank == 0) {
        REFUSED(-ETIMEDOUT, "allreduce", eddis_collective(e, &c, 0, &err));
        REFUSED(-EBUSY, "", eddis_collective(e, &other, 0, &err));
        OK(eddis_barrier(e, TIMEOUT_NS, &err));
    }
    OK(eddis_collective(e, &c, TIMEOUT_NS, &err));
    CHECK(x == w.n_group_ranks);
}

static void scopes_body(struct eddis *e, int rank, struct loop_job *j)
{
    static const int one[MAX_RANKS];
    struct eddis_parameter p;
    struct eddis_world w;
    int group_of[MAX_RANKS];
    float value[4] = { 0 };

    for (int i = 0; i < j->n; i++)
        group_of[i] = j->per_group ? i / j->per_group : 0;
    scenario_scopes(e, j->open_ns ? one : group_of, j->node_of);
    if (j->open_ns && rank == 0)
        loop_job_settle(j, j->split, 0);
    p = vector_of(value, 4);
    p.result = EDDIS_IN_PLACE;
    CHECK(add_parameter(e, &p) == 0);
    OK(eddis_commit(e, &err));
    scenario_scopes(e, group_of, j->node_of);
    again(e);
    w = world_of(e);
    CHECK(w.group == group_of[rank] && w.n_groups == group_of[j->n - 1] + 1);
    CHECK(w.node == j->node_of[rank] && w.n_nodes == j->node_of[j->n - 1] + 1);
    CHECK(w.batch == (j->share ? j->share : 64) * j->n);
}

int main(void)
{
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct loop_job open = jobs[i];

        loop_job_run_body(&jobs[i], scopes_body, NULL);
        open.open_ns = TIMEOUT_NS; /* so is the mode, until eddis_commit */
        if (open.share)
            loop_job_run_body(&open, scopes_body, NULL);
    }
    return check_result();
}
