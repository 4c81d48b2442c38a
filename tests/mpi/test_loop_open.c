/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_open.c - a job whose mode is open until eddis_commit, a thread a rank over the loop */
#include "lib/base/clock.h"
#include "lib/worker/worker.h"
#include "loop_job.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

/* Of float32, of 16 bits, and of float64 without a gradient. */
enum { RANKS = 4, DIM = 3, HALVES = 7, STATE = 2, MIN_COUNT = 1 };

static const int64_t after[MAX_RANKS] = { 16, 12, 8, 4 };

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

static bool has_model(const struct board_page *page)
{
    const struct program *p = &page->program;

    return page->committed && page->model_bytes == 4 * DIM + 2 * HALVES + 8 * STATE &&
           p->gradient_bytes == 4 * DIM + 2 * HALVES && p->float32_bytes == 4 * DIM &&
           p->centre_bytes == 4 * DIM + 4 * HALVES + 8 * STATE && p->min_count == MIN_COUNT &&
           p->largest_bytes == 2 * HALVES && p->largest_behind == 4 * DIM;
}

/* What an agent does: it waits until all ranks have given their models, and publishes the plan. */
static void *answer(void *arg)
{
    struct open_job *o = arg;
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    struct board_page page;
    int given = 0;

    while (given < RANKS && clock_now_ns() < end) {
        given = 0;
        for (int i = 0; i < RANKS; i++)
            given += board_read(o->j.board, i, &page, NULL) == 0 && has_model(&page);
        usleep(1000);
    }
    CHECK(given == RANKS);
    while (o->late && atomic_load(&o->gave_up) < RANKS && clock_now_ns() < end)
        usleep(1000);
    o->j.wire = SYNC_WIRE_BFLOAT16;
    loop_job_settle(&o->j, after, o->flags);
    return NULL;
}

/* Before eddis_commit nobody knows who takes what. */
static void check_open(struct eddis *e, const struct loop_job *j)
{
    bool named = j->mode_named;
    struct eddis_world world = world_of(e);
    struct eddis_step s = { .size = sizeof s };

    CHECK(strcmp(world.mode, named ? loop_job_mode(j) : "auto") == 0);
    CHECK(strcmp(world.algorithm, named ? loop_job_algorithm(j) : "auto") == 0);
    CHECK(world.momentum == 0 && (named || world.flags == 0));
    CHECK(!named || !(world.flags & EDDIS_WORLD_SEVERAL) == !j->per_group);
    REFUSED(-EAGAIN, "not known before eddis_commit",
            eddis_plan_step(e, 0, EDDIS_FOREVER, &s, &err));
    REFUSED(-EINVAL, "", eddis_step_begin(e, &s, &err));
}

static void check_settled(struct eddis *e, const struct loop_job *j, int rank)
{
    struct eddis_world world = world_of(e);
    struct board_page page;

    CHECK(e->area->options.wire == SYNC_WIRE_BFLOAT16);
    CHECK(strcmp(world.mode, loop_job_mode(j)) == 0);
    CHECK(strcmp(world.algorithm, loop_job_algorithm(j)) == 0);
    CHECK(!(world.flags & EDDIS_WORLD_SEVERAL) == !j->per_group);
    CHECK(!(world.flags & EDDIS_WORLD_GROUPS) == (j->per_group < 2));
    loop_job_page(j, rank, &page);
    CHECK(page.plan_version == 1 && page.plan_since == 0);
}

static void commit(struct eddis *e, struct open_job *o)
{
    int rc = -ETIMEDOUT;

    if (o->late) {
        REFUSED(-ETIMEDOUT, "timeouts.launch", eddis_commit(e, &err));
        check_open(e, &o->j);
        atomic_fetch_add(&o->gave_up, 1);
        while (rc == -ETIMEDOUT)
            rc = eddis_commit(e, NULL);
        CHECK(rc == 0);
    } else {
        OK(eddis_commit(e, &err));
    }
}

/* The first eddis_commit of all ranks, in which rank 1 reads a board that no plan comes to. */
static void commit_in_vain(struct eddis *e, struct open_job *o, int rank)
{
    struct board *own = e->plan_switch.board;
    struct eddis_error unread = { 0 };

    if (rank == 1)
        OK(board_open(o->empty.path, rank, &e->plan_switch.board, &err));
    CHECK(eddis_commit(e, &unread) == -EAGAIN);
    CHECK(strstr(unread.text, "cannot read the job's plan"));
    CHECK(!strncmp(unread.text, "rank 1: ", 8) == (rank != 1));
    check_open(e, &o->j);
    if (rank == 1)
        board_close(e->plan_switch.board);
    e->plan_switch.board = own;
}

struct reader {
    struct eddis *e;
    int64_t count; /* -1: not known */
};

/* What a thread does that reads ahead: it asks for the first step until that is known. */
static void *read_ahead(void *arg)
{
    struct reader *r = arg;
    struct eddis_step s = { .size = sizeof s };
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    int rc;

    while ((rc = eddis_plan_step(r->e, 0, EDDIS_FOREVER, &s, NULL)) == -EAGAIN &&
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

static void train(struct eddis *e, struct open_job *o, int rank)
{
    struct eddis_step s, next = { .size = sizeof next };
    float g[DIM] = { 1, 2, 3 };
    int64_t index[SCENARIO_SAMPLES];
    unsigned flags = 0;
    int n = 0;

    while (step_begin(e, &s)) {
        if (n++ == 0 && !o->j.per_group)
            CHECK(s.count == after[rank]);
        flags |= s.flags;
        OK(eddis_sample_indices(e, &s, index, &err));
        SUCCEEDS(eddis_plan_step(e, s.step + 1, EDDIS_FOREVER, &next, &err));
        step_announce(e, 0, g);
        step_end(e);
        atomic_fetch_add(&o->samples, s.count);
    }
    CHECK(!(o->flags & BOARD_FLAG_STOP) || (flags & EDDIS_STEP_STOP && n == 1));
}

static void body(struct eddis *e, int rank, struct loop_job *j)
{
    struct open_job *o = j->arg;
    struct eddis_checkpoint *c;
    float w[DIM] = { 0 };
    uint16_t halves[HALVES] = { 0 };
    double state[STATE] = { 0 };
    struct eddis_parameter p[] = { vector_of(w, DIM), vector_of(halves, HALVES),
                                   vector_of(state, STATE) };

    p[1].dtype = EDDIS_BFLOAT16;
    p[2].dtype = EDDIS_FLOAT64;
    p[2].state = 1;
    OK(eddis_add_layer(e, "all", EDDIS_LAYER_OTHER, &err));
    for (int i = 0; i < 3; i++)
        GIVES(i, eddis_add_parameter(e, 0, &p[i], &err));
    check_open(e, j);
    OK(eddis_restore_begin(e, NULL, &c, &err)); /* there is none */
    if (o->fails)
        commit_in_vain(e, o, rank);
    if (o->reads)
        commit_beside(e, o, rank);
    else
        commit(e, o);
    check_settled(e, j, rank);
    train(e, o, rank);
    if (rank == 0) /* it may still be at the board, which goes with the job */
        pthread_join(o->agent, NULL);
}

static void run(struct open_job *o)
{
    o->j.n = RANKS;
    o->j.body = body;
    o->j.arg = o;
    o->j.share = 10;
    o->j.each = (struct scenario){ .epochs = 2, .min_count = MIN_COUNT };
    o->j.open_ns = o->late ? CLOCK_MS : TIMEOUT_NS;
    if (o->fails) {
        o->empty = (struct loop_job){ .n = RANKS, .share = 10, .open_ns = TIMEOUT_NS };
        loop_job_prepare(&o->empty);
    }
    loop_job_prepare(&o->j);
    CHECK(pthread_create(&o->agent, NULL, answer, o) == 0);
    loop_job_run(&o->j);
    if (o->fails)
        loop_job_board_remove(&o->empty);
    if (!o->flags)
        CHECK(atomic_load(&o->samples) == 2 * SCENARIO_SAMPLES);
}

int main(void)
{
    static struct open_job rows[] = {
        { .j.per_group = SYNC },
        { .j.per_group = SYNC, .reads = true },
        { .j.per_group = ASYNC },
        { .j.per_group = ASYNC, .reads = true },
        { .j.per_group = 2, .reads = true },
        { .j.per_group = SYNC, .fails = true },
        { .j.per_group = ASYNC, .fails = true },
        { .j.per_group = 2 },
        { .j.per_group = 2, .late = true },
        { .j = { .per_group = SYNC, .mode_named = true }, .reads = true },
        { .j = { .per_group = ASYNC, .mode_named = true }, .reads = true },
        { .j = { .per_group = 2, .mode_named = true }, .fails = true },
        { .j = { .per_group = 2, .mode_named = true }, .late = true },
        { .j.per_group = SYNC, .flags = BOARD_FLAG_CHECKPOINT | BOARD_FLAG_STOP },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        run(&rows[i]);
    return check_result();
}
