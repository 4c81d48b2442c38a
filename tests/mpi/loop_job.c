/* SPDX-License-Identifier: Apache-2.0 */
/* loop_job.c - starts a thread a rank over the loop, each with its board, and counts failures */
#include "loop_job.h"

#include "own_folder.h"

#include "lib/base/clock.h"
#include "lib/worker/worker.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct loop_rank {
    struct loop_job *j;
    int rank;
    pthread_t thread;
};

/* ---- a transport that counts messages, and holds some ---- */

enum { HELD = 32, LONG_BYTES = 1024 };

struct counting {
    struct transport base;
    struct transport *loop;
    atomic_int *sent; /* [COMM_CHANNELS] */
    const atomic_bool *holds;
    struct comm_op held[HELD]; /* [n_held] */
    int n_held;
};

static int counting_post(struct transport *t, const struct comm_op *op, struct eddis_error *err)
{
    struct counting *c = (struct counting *)t;

    if (op->kind == COMM_SEND)
        atomic_fetch_add(&c->sent[op->channel], 1);
    return c->loop->ops->post(c->loop, op, err);
}

static int counting_poll(struct transport *t, struct comm_op *ret, int max, struct eddis_error *err)
{
    struct counting *c = (struct counting *)t;
    bool holds = atomic_load(c->holds);
    int n = holds ? 0 : c->n_held, got;

    CHECK(max > n);
    if (n) {
        memcpy(ret, c->held, (size_t)n * sizeof *ret);
        c->n_held = 0;
    }
    got = c->loop->ops->poll(c->loop, ret + n, max - n, err);
    for (int i = 0, from = n; i < got; i++)
        if (holds && ret[from + i].kind == COMM_RECEIVE && ret[from + i].bytes > LONG_BYTES &&
            c->n_held < HELD)
            c->held[c->n_held++] = ret[from + i];
        else
            ret[n++] = ret[from + i];
    return got < 0 ? got : n;
}

static void counting_abort(struct transport *t, int code)
{
    transport_abort(((struct counting *)t)->loop, code);
}

static int counting_close(struct transport *t, bool orderly, struct eddis_error *err)
{
    int rc = transport_close(((struct counting *)t)->loop, orderly, err);

    free(t);
    return rc;
}

static const struct transport_ops counting_ops = {
    .name = "counting",
    .post = counting_post,
    .poll = counting_poll,
    .abort = counting_abort,
    .close = counting_close,
};

static int open_counting(void *arg, struct transport **ret, struct eddis_error *err)
{
    struct loop_rank *r = arg;
    struct counting *c = calloc(1, sizeof *c);
    int rc = loop_open(r->j->loop, r->rank, &c->loop, err);

    if (rc < 0) {
        free(c);
        return rc;
    }
    c->base = *c->loop;
    c->base.ops = &counting_ops;
    c->base.hosts = r->j->hosts;
    c->sent = r->j->sent[r->rank];
    c->holds = &r->j->holds;
    *ret = &c->base;
    return 0;
}

/* Check that opening ends as the job says.  Return whether it is open. */
static bool check_opened(const struct loop_job *j, int rc, const struct eddis_error *err)
{
    CHECK(rc == j->opens, "%d %s", rc, err->text);
    CHECK(!j->open_words || strstr(err->text, j->open_words), "%s", err->text);
    return rc == 0;
}

static void *rank_main(void *arg)
{
    struct loop_rank *r = arg;
    struct loop_job *j = r->j;
    struct scenario *s = &j->scenario[r->rank];
    struct eddis_options o = scenario_options(s);
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    struct worker_setup setup = { .open_transport = j->n > 1 ? open_counting : NULL,
                                  .open_arg = r,
                                  .board_path = j->board ? j->path : NULL,
                                  .local_rank = r->rank,
                                  .n_local = j->n };
    int rc;

    check_set_rank(r->rank);
    if (r->rank == 1 && j->board_of_1)
        setup.board_path = j->board_of_1;
    rc = worker_open(&setup, &o, &e, &err);
    if (!check_opened(j, rc, &err))
        return NULL;
    if (j->run)
        j->run(e, s);
    else if (j->body)
        j->body(e, r->rank, j);
    rc = eddis_close(e, &err);
    CHECK(rc == j->closes || j->dies, "%d %s", rc, err.text);
    return NULL;
}

/* ---- plans ---- */

static bool has_several_models(const struct loop_job *j)
{
    return j->per_group != SYNC;
}

const char *loop_job_mode(const struct loop_job *j)
{
    if (j->algorithm)
        return "local";
    return j->per_group == SYNC ? "sync" : j->per_group == ASYNC ? "async" : "hybrid";
}

const char *loop_job_algorithm(const struct loop_job *j)
{
    if (j->algorithm)
        return j->algorithm;
    return j->per_group == SYNC ? "allreduce" : j->per_group == ASYNC ? "easgd" : "hsgd";
}

int64_t loop_job_period(const struct loop_job *j, int64_t version)
{
    return j->period ? j->period + (version - 1) % 3 : 0;
}

/* settled NULL: the mode stays. */
static void publish(struct loop_job *j, const int64_t *batch, int64_t flags,
                    const struct board_area *settled)
{
    struct board_plan *p = calloc(1, sizeof *p + (size_t)j->n * sizeof *p->batch);
    struct eddis_error err = { 0 };
    int rc;

    p->batch = (int64_t *)(p + 1);
    p->version = ++j->version;
    p->flags = flags;
    p->period = loop_job_period(j, p->version);
    for (int i = 0; i < j->n; i++)
        p->global_batch += p->batch[i] = batch[i];
    rc = settled ? board_settle(j->board, settled, p, &err) : board_publish(j->board, p, &err);
    if (rc < 0) {
        CHECK(rc == -EBUSY && j->version > 1, "%s", err.text); /* next time */
        j->version--;
    }
    free(p);
}

void loop_job_publish(struct loop_job *j, const int64_t *batch, int64_t flags)
{
    publish(j, batch, flags, NULL);
}

static void fill_mode(const struct loop_job *j, struct board_area *a, int32_t *group)
{
    strcpy(a->mode, loop_job_mode(j));
    strcpy(a->algorithm, loop_job_algorithm(j));
    a->options.period = j->period;
    a->options.wire = j->wire;
    for (int i = 0; i < j->n && j->per_group; i++) {
        group[i] = i / j->per_group;
        a->options.moving_rate = j->algorithm ? 0 : 0.9 / (group[i] + 1);
    }
    a->options.outer_rate = j->outer_rate;
    a->options.outer_momentum = j->outer_momentum;
    a->options.overlap = j->overlap;
    a->group = group;
}

void loop_job_settle(struct loop_job *j, const int64_t *batch, int64_t flags)
{
    struct board_area *a = calloc(1, sizeof *a);
    int32_t group[MAX_RANKS] = { 0 };

    fill_mode(j, a, group);
    publish(j, batch, flags, a);
    free(a);
}

/* ---- a run ---- */

static void fill_area(const struct loop_job *j, struct board_area *a)
{
    a->n_ranks = a->n_local = j->n;
    a->generation = j->generation ? j->generation : 1;
    a->fence_generation = j->fence;
    a->seed = 5;
    a->bucket_bytes = j->scenario[0].measured ? 0 : 64;
    if (j->choice)
        a->choice = *j->choice;
    strcpy(a->job, LOOP_JOB_NAME);
    a->checkpoint_every = j->checkpoint_every ? j->checkpoint_every : 10;
    a->checkpoint_keep = j->checkpoint_keep;
    if (j->checkpoint_dir)
        strcpy(a->checkpoint_dir, j->checkpoint_dir);
    a->warmup_steps = 4;
    a->check_models = j->check_models;
    a->emulated = j->emulated;
    for (int i = 0; i < j->n; i++) {
        a->fixed_s[i] = 0.002;
        a->sample_s[i] = 0.0001 * (i + 1);
    }
    a->open_ns = j->open_ns;
    a->mode_named = j->mode_named;
}

static void make_board(struct loop_job *j)
{
    struct board_area *a = calloc(1, sizeof *a);
    int32_t group[MAX_RANKS] = { 0 }, node_of[MAX_RANKS] = { 0 };

    CHECK(own_folder_make(j->dir, sizeof j->dir) == 0);
    snprintf(j->path, sizeof j->path, "%s/board", j->dir);
    fill_area(j, a);
    fill_mode(j->open_ns && !j->mode_named ? &(struct loop_job){ .n = j->n } : j, a, group);
    for (int i = 0; i < j->n; i++)
        node_of[i] = j->node_of ? j->node_of[i] : j->per_group ? i / j->per_group : 0;
    a->node_of = node_of;
    OK(board_create(j->path, a, &j->board, &err));
    free(a);
    j->version = j->open_ns ? -1 : 0;
    loop_job_publish(j, j->split, 0);
}

void loop_job_prepare(struct loop_job *j)
{
    int64_t batch = 0;

    if (has_several_models(j) && !j->period)
        j->period = 2;
    for (int i = 0; i < j->n; i++) {
        j->split[i] = j->share ? j->share : j->split[i];
        batch += j->split[i];
    }
    for (int i = 0; i < j->n; i++) {
        struct scenario *s = &j->scenario[i];

        *s = j->each;
        s->batch = s->batch ? s->batch : batch;
        s->arg = s->arg ? s->arg : j;
    }
    if (batch)
        make_board(j);
}

void loop_job_board_remove(struct loop_job *j)
{
    board_close(j->board);
    unlink(j->path);
    rmdir(j->dir);
}

void loop_job_run(struct loop_job *j)
{
    struct loop_rank rank[MAX_RANKS];
    int before = check_failures();

    if (!j->scenario[0].arg)
        loop_job_prepare(j);
    OK(loop_new(j->n, 0, &j->loop, &err));
    for (int i = 0; i < j->n; i++) {
        rank[i] = (struct loop_rank){ .j = j, .rank = i };
        CHECK(pthread_create(&rank[i].thread, NULL, rank_main, &rank[i]) == 0);
    }
    for (int i = 0; i < j->n; i++)
        pthread_join(rank[i].thread, NULL);
    loop_free(j->loop);
    if (j->board)
        loop_job_board_remove(j);
    if (check_failures() > before)
        fprintf(stderr, "in a job of %d ranks in %s mode\n", j->n, loop_job_mode(j));
}

void loop_job_run_body(const struct loop_job *like, loop_body_fn *body, void *arg)
{
    struct loop_job j = *like;

    j.body = body;
    j.arg = arg;
    loop_job_run(&j);
}

/* ---- between ranks ---- */

void loop_job_reach(struct loop_job *j)
{
    atomic_fetch_add(&j->reached, 1);
}

void loop_job_await(const struct loop_job *j, int n)
{
    while (atomic_load(&j->reached) < n)
        usleep(1000);
}

void loop_job_keep_pace(void *arg, int rank, int64_t step)
{
    struct loop_job *j = arg;

    atomic_store(&j->step[rank], step);
    for (int i = 0; i < j->n && step != INT64_MAX; i++)
        while (atomic_load(&j->step[i]) < step - 2)
            sched_yield();
}

void loop_job_page(const struct loop_job *j, int rank, struct board_page *ret)
{
    int64_t end = clock_now_ns() + TIMEOUT_NS;
    int rc;

    memset(ret, 0, sizeof *ret);
    do
        rc = board_read(j->board, rank, ret, NULL);
    while ((rc == -EAGAIN || rc == -ENODATA) && usleep(1000) == 0 && clock_now_ns() < end);
    CHECK(rc == 0);
}
