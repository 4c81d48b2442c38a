/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_threads.c - calls of any thread beside the steps, over the loop in every mode */
#include "loop_job.h"
#include "threads_scenario.h"

static void threads_body(struct eddis *e, int rank, struct loop_job *j)
{
    int n_here = 0;

    for (int i = 0; i < j->n; i++)
        n_here += j->node_of[i] == j->node_of[rank];
    CHECK(threads_run(e, n_here) == 0);
}

int main(void)
{
    static const struct {
        const char *mode, *algorithm;
        int n, per_group, board;
        int node_of[MAX_RANKS];
    } rows[] = { { "sync", "allreduce", 1, 0, 0, { 0 } },
                 { "sync", "allreduce", 4, 0, 1, { 0, 0, 1, 1 } },
                 { "async", "easgd", 3, 1, 1, { 0, 0, 1 } },
                 { "hybrid", "hsgd", 4, 2, 1, { 0, 0, 0, 1 } } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct loop_job j = { .n = rows[i].n,
                              .body = threads_body,
                              .mode = rows[i].mode,
                              .algorithm = rows[i].algorithm,
                              .per_group = rows[i].per_group,
                              .period = rows[i].per_group ? 2 : 0,
                              .node_of = rows[i].node_of };

        for (int r = 0; r < j.n; r++)
            j.scenario[r].batch = 8 * j.n;
        if (rows[i].board)
            loop_job_board_of(&j, (const int64_t[MAX_RANKS]){ 8, 8, 8, 8 });
        loop_job_run(&j);
    }
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
