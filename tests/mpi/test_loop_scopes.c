/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_scopes.c - collectives of groups and nodes, and what eddis_world tells of them, a
 * thread a rank over the loop
 */
#include "lib/base/clock.h"
#include "loop_job.h"

#include <errno.h>
#include <string.h>

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

static const struct row {
    const char *mode, *algorithm;
    int n, per_group, board;
    int node_of[MAX_RANKS];
} rows[] = { { "sync", "allreduce", 1, 0, 0, { 0 } },
             { "sync", "allreduce", 5, 0, 0, { 0 } },
             { "sync", "allreduce", 6, 0, 1, { 0, 0, 1, 1, 1, 2 } },
             { "async", "easgd", 4, 1, 1, { 0, 0, 0, 1 } },
             { "hybrid", "hsgd", 6, 2, 1, { 0, 0, 0, 1, 1, 1 } }, /* a group is on both */
             { "hybrid", "hsgd", 8, 4, 1, { 0, 1, 1, 1, 1, 1, 1, 1 } } };

static void commit(struct eddis *e, float value[4])
{
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = value,
                                 .result = EDDIS_IN_PLACE };
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err);

    CHECK(eddis_add_parameter(e, layer, &p, &err) == 0);
    if (eddis_commit(e, &err) < 0)
        fprintf(stderr, "%s\n", err.text);
    CHECK(err.code == 0);
}

/* A wait for a group that is given up is gone on with, and nothing else has its buffer. */
static void again(struct eddis *e)
{
    struct eddis_world w = { .size = sizeof w };
    int64_t x = 1;
    struct eddis_collective c = { .size = sizeof c,
                                  .kind = EDDIS_ALLREDUCE,
                                  .scope = EDDIS_GROUP,
                                  .buffer = &x,
                                  .n = 1,
                                  .dtype = EDDIS_INT64,
                                  .op = EDDIS_SUM };
    struct eddis_collective other = c;
    struct eddis_error err = { 0 };

    CHECK(eddis_world(e, &w) == 0);
    if (w.n_group_ranks == 1)
        return;
    other.scope = EDDIS_ALL;
    if (w.group_rank > 0)
        CHECK(eddis_barrier(e, TIMEOUT_NS, &err) == 0);
    if (w.group_rank == 0) {
        CHECK(eddis_collective(e, &c, 0, &err) == -ETIMEDOUT && strstr(err.text, "allreduce"));
        CHECK(eddis_collective(e, &other, 0, &err) == -EBUSY);
        CHECK(eddis_barrier(e, TIMEOUT_NS, &err) == 0);
    }
    CHECK(eddis_collective(e, &c, TIMEOUT_NS, &err) == 0 && x == w.n_group_ranks);
}

static void scopes_body(struct eddis *e, int rank, struct loop_job *j)
{
    static const int one[MAX_RANKS];
    const struct row *r = j->arg;
    int group_of[MAX_RANKS];
    struct eddis_world w = { .size = sizeof w };
    float value[4] = { 0 };
    int failures;

    for (int i = 0; i < r->n; i++)
        group_of[i] = r->per_group ? i / r->per_group : 0;
    failures = scenario_scopes(e, j->open_ns ? one : group_of, r->node_of);
    if (j->open_ns && rank == 0)
        loop_job_settle(j, (const int64_t[MAX_RANKS]){ 8, 8, 8, 8, 8, 8, 8, 8 }, 0);
    commit(e, value);
    failures += scenario_scopes(e, group_of, r->node_of);
    again(e);
    CHECK(failures == 0 && eddis_world(e, &w) == 0);
    CHECK(w.group == group_of[rank] && w.n_groups == group_of[r->n - 1] + 1);
    CHECK(w.node == r->node_of[rank] && w.n_nodes == r->node_of[r->n - 1] + 1);
    CHECK(w.batch == (r->board ? 8 : 64) * r->n);
}

/* open: the mode is, until eddis_commit. */
static void test_scopes(const struct row *r, bool open)
{
    struct loop_job j = { .n = r->n,
                          .body = scopes_body,
                          .arg = (void *)r,
                          .mode = r->mode,
                          .algorithm = r->algorithm,
                          .per_group = r->per_group,
                          .period = r->per_group ? 2 : 0,
                          .node_of = r->node_of,
                          .open_ns = open ? TIMEOUT_NS : 0 };

    if (r->board)
        loop_job_board_of(&j, (const int64_t[MAX_RANKS]){ 8, 8, 8, 8, 8, 8, 8, 8 });
    loop_job_run(&j);
}

int main(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        test_scopes(&rows[i], false);
        if (rows[i].board)
            test_scopes(&rows[i], true);
    }
    return loop_job_failures != 0;
}
