/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_open.c - a job whose mode is open until eddis_commit, a thread a rank over the loop */
#include "lib/base/clock.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "values_scenario.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of float32, of 16 bits, and of float64 without a gradient. */
enum { RANKS = 4, DIM = 3, HALVES = 7, STATE = 2, MIN_COUNT = 1 };

#define TIMEOUT_NS (INT64_C(60) * CLOCK_S)

static const int64_t before[MAX_RANKS] = { 10, 10, 10, 10 }, after[MAX_RANKS] = { 16, 12, 8, 4 };

struct open_job {
    struct loop_job j;
    int64_t flags;         /* that the first plan has */
    bool reads;            /* a thread asks for the first step meanwhile */
    bool late;             /* it comes when eddis_commit has given up */
    bool fails;            /* rank 1 cannot read the answer the first time */
    struct loop_job empty; /* its board has no answer */
    pthread_t agent;       /* it answers */
    atomic_int gave_up;    /* ranks */
    atomic_llong samples;  /* taken by all */
};

static bool is_told(const struct board_page *page)
{
    const struct program *p = &page->program;

    return page->committed && page->model_bytes == 4 * DIM + 2 * HALVES + 8 * STATE &&
           p->gradient_bytes == 4 * DIM + 2 * HALVES && p->float32_bytes == 4 * DIM &&
           p->centre_bytes == 4 * DIM + 4 * HALVES + 8 * STATE && p->min_count == MIN_COUNT &&
           p->largest_bytes == 2 * HALVES && p->largest_behind == 4 * DIM;
}

/* What an agent does: it waits until all ranks have told their models, and publishes the plan. */
static void *answer(void *arg)
{
    struct open_job *o = arg;
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    struct board_page page;
    int told = 0;

    while (told < RANKS && clock_now_ns() < end) {
        told = 0;
        for (int i = 0; i < RANKS; i++)
            told += board_read(o->j.board, i, &page, NULL) == 0 && is_told(&page);
        usleep(1000);
    }
    CHECK(told == RANKS);
    while (o->late && atomic_load(&o->gave_up) < RANKS && clock_now_ns() < end)
        usleep(1000);
    loop_job_settle(&o->j, after, o->flags);
    return NULL;
}

/* Before eddis_commit nobody knows who takes what. */
static void check_open(struct eddis *e)
{
    struct eddis_world world = { .size = sizeof world };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    CHECK(eddis_world(e, &world) == 0);
    CHECK(strcmp(world.mode, "auto") == 0 && strcmp(world.algorithm, "auto") == 0);
    CHECK(world.flags == 0 && world.momentum == 0);
    CHECK(eddis_plan_step(e, 0, EDDIS_FOREVER, &s, &err) == -EAGAIN && err.code == -EAGAIN);
    CHECK(strstr(err.text, "not known before eddis_commit"));
    CHECK(eddis_step_begin(e, &s, &err) == -EINVAL);
}

static void check_settled(struct eddis *e, const struct loop_job *j, int rank)
{
    struct eddis_world world = { .size = sizeof world };
    struct board_page page;

    CHECK(eddis_world(e, &world) == 0);
    CHECK(strcmp(world.mode, j->mode) == 0 && strcmp(world.algorithm, j->algorithm) == 0);
    CHECK(!(world.flags & EDDIS_WORLD_SEVERAL) == !j->per_group);
    CHECK(!(world.flags & EDDIS_WORLD_GROUPS) == (j->per_group < 2));
    loop_job_page(j, rank, &page);
    CHECK(page.plan_version == 1 && page.plan_since == 0);
}

static void commit(struct eddis *e, struct open_job *o)
{
    struct eddis_error err = { 0 };
    int rc = eddis_commit(e, &err);

    if (o->late) {
        CHECK(rc == -ETIMEDOUT && strstr(err.text, "timeouts.launch"));
        check_open(e);
        atomic_fetch_add(&o->gave_up, 1);
        do
            rc = eddis_commit(e, &err);
        while (rc == -ETIMEDOUT);
    }
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
    CHECK(rc == 0);
}

/* The first eddis_commit of all ranks, in which rank 1 reads a board that no plan comes to. */
static void commit_in_vain(struct eddis *e, struct open_job *o, int rank)
{
    struct board *own = e->plan_switch.board;
    struct eddis_error err = { 0 };

    if (rank == 1)
        CHECK(board_open(o->empty.path, rank, &e->plan_switch.board, &err) == 0);
    CHECK(eddis_commit(e, &err) == -EAGAIN);
    CHECK(strstr(err.text, "cannot read the job's plan"));
    CHECK(!strncmp(err.text, "rank 1: ", 8) == (rank != 1));
    check_open(e);
    if (rank == 1)
        board_close(e->plan_switch.board);
    e->plan_switch.board = own;
}

struct reader {
    struct eddis *e;
    int64_t count; /* -1: not told */
};

/* What a thread does that reads ahead: it asks for the first step until it is told. */
static void *read_ahead(void *arg)
{
    struct reader *r = arg;
    struct eddis_step s = { .size = sizeof s };
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    struct eddis_error err = { 0 };
    int rc;

    while ((rc = eddis_plan_step(r->e, 0, EDDIS_FOREVER, &s, &err)) == -EAGAIN &&
           clock_now_ns() < end)
        sched_yield();
    r->count = rc == 1 ? s.count : -1;
    return NULL;
}

static void commit_beside(struct eddis *e, struct open_job *o, int rank)
{
    struct reader r = { .e = e };
    pthread_t reader;

    CHECK(pthread_create(&reader, NULL, read_ahead, &r) == 0);
    commit(e, o);
    pthread_join(reader, NULL);
    CHECK(o->j.per_group ? r.count > 0 : r.count == after[rank]);
}

static void train(struct eddis *e, struct open_job *o, int parameter, int rank)
{
    struct eddis_step s = { .size = sizeof s }, next = s;
    struct eddis_error err = { 0 };
    float g[DIM] = { 1, 2, 3 };
    int64_t index[SCENARIO_SAMPLES];
    unsigned flags = 0;
    int rc, n = 0;

    while ((rc = eddis_step_begin(e, &s, &err)) == 1) {
        if (n++ == 0 && !o->j.per_group)
            CHECK(s.count == after[rank]);
        flags |= s.flags;
        CHECK(eddis_sample_indices(e, &s, index, &err) == 0);
        CHECK(eddis_plan_step(e, s.step + 1, EDDIS_FOREVER, &next, &err) >= 0);
        CHECK(eddis_announce(e, parameter, g, g, &err) == 0);
        CHECK(eddis_wait(e, TIMEOUT_NS, &err) == 0);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
        atomic_fetch_add(&o->samples, s.count);
    }
    CHECK(rc == 0);
    CHECK(!(o->flags & BOARD_FLAG_STOP) || (flags & EDDIS_STEP_STOP && n == 1));
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct open_job *o = j->arg;
    struct eddis_checkpoint *c;
    struct eddis_error err = { 0 };
    float w[DIM] = { 0 };
    uint16_t halves[HALVES] = { 0 };
    double state[STATE] = { 0 };
    struct eddis_parameter p = values_vector(w, DIM);
    int layer = eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err);
    int parameter = eddis_add_parameter(e, layer, &p, &err);

    p.name = "halves";
    p.dtype = EDDIS_BFLOAT16;
    p.dims[0] = HALVES;
    p.value = halves;
    CHECK(eddis_add_parameter(e, layer, &p, &err) >= 0);
    p.name = "state";
    p.dtype = EDDIS_FLOAT64;
    p.dims[0] = STATE;
    p.value = state;
    p.state = 1;
    CHECK(eddis_add_parameter(e, layer, &p, &err) >= 0);
    check_open(e);
    CHECK(eddis_restore_begin(e, NULL, &c, &err) == 0); /* there is none */
    if (o->fails)
        commit_in_vain(e, o, rank);
    if (o->reads)
        commit_beside(e, o, rank);
    else
        commit(e, o);
    check_settled(e, j, rank);
    train(e, o, parameter, rank);
    if (rank == 0) /* it may still be at the board, which goes with the job */
        pthread_join(o->agent, NULL);
}

static void run(struct open_job *o)
{
    o->j.n = RANKS;
    o->j.body = body;
    o->j.arg = o;
    for (int i = 0; i < RANKS; i++)
        o->j.scenario[i] = (struct scenario){ .batch = 40, .epochs = 2, .min_count = MIN_COUNT };
    o->j.open_ns = o->late ? CLOCK_MS : TIMEOUT_NS;
    loop_job_board_of(&o->j, before);
    if (o->fails) {
        o->empty = (struct loop_job){ .n = RANKS, .open_ns = TIMEOUT_NS };
        loop_job_board_of(&o->empty, before);
    }
    CHECK(pthread_create(&o->agent, NULL, answer, o) == 0);
    loop_job_run(&o->j);
    if (o->fails)
        loop_job_board_remove(&o->empty);
    if (!o->flags)
        CHECK(atomic_load(&o->samples) == 2 * SCENARIO_SAMPLES);
}

int main(void)
{
    struct open_job rows[] = {
        { .j = { .mode = "sync", .algorithm = "allreduce" } },
        { .j = { .mode = "sync", .algorithm = "allreduce" }, .reads = true },
        { .j = { .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2 } },
        { .j = { .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2 },
          .reads = true },
        { .j = { .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 2 },
          .reads = true },
        { .j = { .mode = "sync", .algorithm = "allreduce" }, .fails = true },
        { .j = { .mode = "async", .algorithm = "easgd", .per_group = 1, .period = 2 },
          .fails = true },
        { .j = { .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 2 } },
        { .j = { .mode = "hybrid", .algorithm = "hsgd", .per_group = 2, .period = 2 },
          .late = true },
        { .j = { .mode = "sync", .algorithm = "allreduce" },
          .flags = BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run(&rows[i]);
    return loop_job_failures != 0;
}
