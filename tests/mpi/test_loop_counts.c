/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_counts.c - what a worker may know of the samples of others and of new plans, and
 * samples that a program counts itself, in every mode, a thread a rank over the loop
 */
#include "loop_job.h"
#include "told_scenario.h"

enum { RANKS = 4 };

static const int64_t split[MAX_RANKS] = { 16, 12, 8, 4 }, other[MAX_RANKS] = { 4, 8, 12, 16 };

/* Rank 0 has done its second step. */
static void other_later(void *arg, int64_t step)
{
    if (step == 1)
        loop_job_publish(arg, other, 0);
}

static void counts_body(struct eddis *e, int rank, struct loop_job *j)
{
    j->scenario[rank].after_step = other_later;
    CHECK(reported_counts(e, &j->scenario[rank]) == 0);
}

static void own_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page page;

    CHECK(reported_own(e, &j->scenario[rank]) == 0);
    loop_job_page(j, rank, &page);
    CHECK(page.samples_done == j->scenario[rank].done);
}

static void mixed_body(struct eddis *e, int rank, struct loop_job *j)
{
    CHECK(reported_mixed(e, &j->scenario[rank]) == 0);
}

static void breaks_body(struct eddis *e, int rank, struct loop_job *j)
{
    j->scenario[rank].after_step = other_later;
    CHECK(reported_breaks(e, &j->scenario[rank]) == 0);
}

static void other_first(void *arg, int64_t step)
{
    if (step == -1)
        loop_job_publish(arg, other, 0);
}

static void plan_body(struct eddis *e, int rank, struct loop_job *j)
{
    j->scenario[rank].after_step = other_first;
    j->scenario[rank].plans = 1;
    CHECK(told_plan_fd(e, &j->scenario[rank]) == 0);
}

static void run(const struct loop_job *like,
                void (*body)(struct eddis *e, int rank, struct loop_job *j))
{
    struct loop_job j = { .n = RANKS,
                          .mode = like->mode,
                          .algorithm = like->algorithm,
                          .per_group = like->per_group,
                          .period = like->period,
                          .body = body };

    for (int i = 0; i < RANKS; i++)
        j.scenario[i] = (struct scenario){ .epochs = 2, .arg = &j };
    loop_job_board_of(&j, split);
    loop_job_run(&j);
}

int main(void)
{
    static const struct loop_job rows[] = {
        { .mode = "sync", .algorithm = "allreduce" },
        { .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2 },
        { .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 2 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run(&rows[i], counts_body);
        run(&rows[i], own_body);
        run(&rows[i], mixed_body);
        run(&rows[i], breaks_body);
        run(&rows[i], plan_body);
    }
    return loop_job_failures != 0;
}
