/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_data.c - data that are given after opening, in every mode, a thread a rank over the
 * loop
 */
#include "lib/base/clock.h"
#include "loop_job.h"
#include "told_scenario.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, EPOCHS = 2 };

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

static const int64_t split[MAX_RANKS] = { 16, 12, 8, 4 };

struct data_job {
    struct loop_job j;
    pthread_t agent;
};

static void check_page(const struct loop_job *j, int rank)
{
    struct board_page page;

    loop_job_page(j, rank, &page);
    CHECK(page.samples_in_epoch == SCENARIO_SAMPLES && page.epochs == EPOCHS);
    CHECK(page.steps_in_epoch == 8 && page.steps_total == 16);
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct data_job *d = j->arg;

    CHECK(reported_late(e, &j->scenario[rank], j->open_ns > 0) == 0);
    if (j->board)
        check_page(j, rank);
    if (rank == 0 && j->open_ns)
        pthread_join(d->agent, NULL);
}

/* What an agent does where the mode is open, when rank 0 has told its model. */
static void *answer(void *arg)
{
    struct data_job *d = arg;
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    struct board_page page = { 0 };

    while (!page.committed && clock_now_ns() < end && usleep(1000) == 0)
        loop_job_page(&d->j, 0, &page);
    CHECK(page.samples_in_epoch == SCENARIO_SAMPLES && page.epochs == EPOCHS);
    loop_job_settle(&d->j, split, 0);
    return NULL;
}

static void run(struct data_job *d)
{
    d->j.n = RANKS;
    d->j.body = body;
    d->j.arg = d;
    for (int i = 0; i < RANKS; i++)
        d->j.scenario[i] = (struct scenario){ .batch = 40, .epochs = EPOCHS, .late = 1 };
    if (d->j.mode)
        loop_job_board_of(&d->j, split);
    if (d->j.open_ns)
        CHECK(pthread_create(&d->agent, NULL, answer, d) == 0);
    loop_job_run(&d->j);
}

/* All workers are told by which option they differ. */
static void unlike_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_error err = { 0 };

    (void)rank;
    (void)j;
    CHECK(eddis_commit(e, &err) == -EPROTO);
    CHECK(strstr(err.text, "read_ahead is 0 on rank 3 but 2 on rank 0"));
}

static void run_unlike(void)
{
    struct loop_job j = { .n = RANKS, .body = unlike_body };

    j.scenario[1].read_ahead = 2; /* as without a word of it */
    j.scenario[3].read_ahead = EDDIS_READ_NONE;
    loop_job_run(&j);
}

int main(void)
{
    static struct data_job rows[] = {
        { .j = { 0 } },
        { .j = { .mode = "sync", .algorithm = "allreduce" } },
        { .j = { .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2 } },
        { .j = { .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 2 } },
        { .j = { .mode = "hybrid",
                 .algorithm = "hsgd",
                 .per_group = 2,
                 .period = 2,
                 .open_ns = TIMEOUT_NS } },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run(&rows[i]);
    run_unlike();
    return loop_job_failures != 0;
}
