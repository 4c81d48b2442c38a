/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_data.c - data that are given after opening, in every mode, a thread a rank over the
 * loop
 */
#include "lib/base/clock.h"
#include "loop_job.h"
#include "values_scenario.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 4, DIM = 3, EPOCHS = 2 };

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

static const int64_t split[MAX_RANKS] = { 16, 12, 8, 4 };

struct data_job {
    struct loop_job j;
    const char *before; /* a sentence about samples before eddis_commit has it */
    char dir[128];      /* of checkpoints */
    pthread_t agent;
    atomic_int taken[EPOCHS][SCENARIO_SAMPLES];
};

static int32_t sum_of_ranks(struct eddis *e, int rank)
{
    struct eddis_error err = { 0 };
    int32_t x = rank;

    CHECK(eddis_allreduce(e, &x, 1, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err) == 0);
    return x;
}

/* All that needs the data says so. */
static void check_unknown(struct eddis *e, const struct data_job *d, int rank)
{
    struct eddis_step s = { .size = sizeof s, .count = 1 };
    struct eddis_checkpoint *c;
    struct eddis_error err = { 0 };
    int64_t index;

    CHECK(sum_of_ranks(e, rank) == RANKS * (RANKS - 1) / 2);
    CHECK(eddis_plan_step(e, 0, EDDIS_FOREVER, &s, &err) == (d->j.open_ns ? -EAGAIN : -EINVAL));
    CHECK(strstr(err.text, d->before));
    s.count = 1;
    CHECK(eddis_sample_indices(e, &s, &index, &err) == -EINVAL);
    CHECK(strstr(err.text, "eddis_set_data"));
    CHECK(eddis_step_begin(e, &s, &err) == -EINVAL);
    CHECK(strstr(err.text, "eddis_commit"));
    CHECK(eddis_checkpoint_begin(e, d->dir, &c, &err) == -EINVAL);
    CHECK(strstr(err.text, "eddis_commit"));
}

/* Every worker gets the same answer as long as one is wrong. */
static void commit_in_vain(struct eddis *e, int rank)
{
    struct eddis_error err = { 0 };

    CHECK(eddis_set_data(e, 0, 1, &err) == -EINVAL);
    CHECK(eddis_set_data(e, 10, -1, &err) == -EINVAL);
    if (rank != 2)
        CHECK(eddis_set_data(e, 17, 1, &err) == 0);
    CHECK(eddis_commit(e, &err) == -EINVAL);
    CHECK(strstr(err.text, "rank 2 ") && strstr(err.text, "eddis_set_data"));
    CHECK(eddis_set_data(e, SCENARIO_SAMPLES + (rank == 3), EPOCHS, &err) == 0);
    CHECK(eddis_commit(e, &err) == -EPROTO);
    CHECK(strstr(err.text, "samples is 300 on rank 0 but 301 on rank 3"));
    CHECK(eddis_set_data(e, SCENARIO_SAMPLES, EPOCHS + (rank == 1), &err) == 0);
    CHECK(eddis_commit(e, &err) == -EPROTO);
    CHECK(strstr(err.text, "epochs is 2 on rank 0 but 3 on rank 1"));
}

static void check_known(struct eddis *e, const struct data_job *d, int rank)
{
    struct eddis_error err = { 0 };
    struct board_page page;

    CHECK(eddis_set_data(e, SCENARIO_SAMPLES, EPOCHS, &err) == -EBUSY);
    CHECK(strstr(err.text, "already"));
    if (!d->j.board)
        return;
    loop_job_page(&d->j, rank, &page);
    CHECK(page.samples_in_epoch == SCENARIO_SAMPLES && page.epochs == EPOCHS);
    CHECK(page.steps_in_epoch == 8 && page.steps_total == 16);
}

static void train(struct eddis *e, struct data_job *d, int parameter)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    float g[DIM] = { 1, 2, 3 };
    int64_t index[SCENARIO_SAMPLES];
    int rc;

    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        CHECK(eddis_sample_indices(e, &s, index, &err) == 0);
        for (int64_t i = 0; i < s.count; i++)
            atomic_fetch_add(&d->taken[s.epoch][index[i]], 1);
        CHECK(eddis_announce(e, parameter, g, g, &err) == 0);
        CHECK(eddis_wait(e, TIMEOUT_NS, &err) == 0);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
    }
    CHECK(rc == 0);
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct data_job *d = j->arg;
    struct eddis_error err = { 0 };
    float w[DIM] = { 0 };
    const struct eddis_parameter p = values_vector(w, DIM);
    int layer = eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err);
    int parameter = eddis_add_parameter(e, layer, &p, &err);

    check_unknown(e, d, rank);
    commit_in_vain(e, rank);
    check_unknown(e, d, rank);
    CHECK(eddis_set_data(e, SCENARIO_SAMPLES, EPOCHS, &err) == 0);
    CHECK(eddis_commit(e, &err) == 0);
    check_known(e, d, rank);
    train(e, d, parameter);
    if (rank == 0 && d->j.open_ns)
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
        d->j.scenario[i] = (struct scenario){ .batch = 40, .late = 1 };
    if (d->j.mode)
        loop_job_board_of(&d->j, split);
    snprintf(d->dir, sizeof d->dir, "/nonexistent/checkpoints");
    if (d->j.open_ns)
        CHECK(pthread_create(&d->agent, NULL, answer, d) == 0);
    loop_job_run(&d->j);
    for (int i = 0; i < EPOCHS; i++)
        for (int k = 0; k < SCENARIO_SAMPLES; k++)
            CHECK(atomic_load(&d->taken[i][k]) == 1);
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
        { .j = { 0 }, .before = "eddis_set_data" },
        { .j = { .mode = "sync", .algorithm = "allreduce" }, .before = "eddis_set_data" },
        { .j = { .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2 },
          .before = "eddis_set_data" },
        { .j = { .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 2 },
          .before = "eddis_set_data" },
        { .j = { .mode = "hybrid",
                 .algorithm = "hsgd",
                 .per_group = 2,
                 .period = 2,
                 .open_ns = TIMEOUT_NS },
          .before = "open until" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run(&rows[i]);
    run_unlike();
    return loop_job_failures != 0;
}
