/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_restart.c - jobs that die and go on with other workers, over the in-process loop
 *
 * Seeded histories: each generation has other workers and another split, dies at some step or in
 * the middle of a checkpoint, and the newest checkpoint is damaged now and then.  However it went,
 * every epoch takes each sample exactly once, and the weights end where those of one worker end
 * that was never interrupted, up to rounding.
 */
#include "bench/loop.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/board/board.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/worker/worker.h"
#include "own_folder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SAMPLES = 101,
    BATCH = 16,
    EPOCHS = 4,
    STEPS = EPOCHS * 7,
    DIM = 7,
    MAX_RANKS = 5,
    MAX_GENERATIONS = 40,
    HISTORIES = 12,
};

#define PATIENCE (60 * CLOCK_S)

static int failures;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                             \
            __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                                    \
        }                                                                                          \
    } while (0)

struct state {
    double w[DIM], v[DIM];
};

enum death { NO_DEATH, IN_STEP, IN_CHECKPOINT, BEFORE_COMMIT };

struct rank;

struct world {
    char dir[64], checkpoints[96], board[96];
    int generation, n;
    int64_t fence; /* of this start of a batch job; 0: the generation itself */
    int64_t batch[MAX_RANKS];
    int64_t every;
    enum death death;
    int64_t dies_at; /* step */
    int dies;        /* rank */
    bool damaged;    /* the newest checkpoint is not whole */
    int64_t resumed; /* as rank 0 found it; -1: a fresh start */
    struct loop *loop;
    struct board *agent;
    int taken[MAX_GENERATIONS][STEPS][SAMPLES];
    int last[STEPS]; /* generation that did the step last; 0: none */
    bool finished;
    struct state state; /* of rank 0 at the end */
    void (*body)(struct rank *r);
};

struct rank {
    struct world *world;
    int rank;
    struct state s;
    struct eddis *e;
    double result[DIM];
    pthread_t thread;
};

/* ---- one worker ---- */

/* A sample's input and output are functions of its number. */
static void add_gradient(const double *w, int64_t sample, double *g)
{
    double x[DIM], e = -cos((double)sample);

    for (int j = 0; j < DIM; j++)
        e += w[j] * (x[j] = sin((double)(sample * DIM + j) * 1.7));
    for (int j = 0; j < DIM; j++)
        g[j] += e * x[j];
}

/* Returns whether the job goes on. */
static bool one_step(struct rank *r, int parameter, const struct eddis_step *s)
{
    struct world *w = r->world;
    struct eddis_error err = { 0 };
    int64_t index[SAMPLES];
    double g[DIM] = { 0 };

    CHECK(eddis_sample_indices(r->e, s, index, &err) == 0);
    for (int64_t i = 0; i < s->count; i++) {
        __atomic_add_fetch(&w->taken[w->generation][s->step][index[i]], 1, __ATOMIC_RELAXED);
        add_gradient(r->s.w, index[i], g);
    }
    __atomic_store_n(&w->last[s->step], w->generation, __ATOMIC_RELAXED);
    for (int j = 0; j < DIM && s->count; j++)
        g[j] /= (double)s->count;
    if (w->death == IN_STEP && s->step == w->dies_at && r->rank == w->dies) {
        comm_thread_abort(r->e->comm_thread, 9);
        return false;
    }
    if (eddis_announce(r->e, parameter, g, r->result, &err) < 0 ||
        eddis_wait(r->e, PATIENCE, &err) < 0)
        return false;
    for (int j = 0; j < DIM; j++) {
        r->s.v[j] = 0.9 * r->s.v[j] + r->result[j];
        r->s.w[j] -= 0.02 * r->s.v[j];
    }
    return eddis_step_end(r->e, NULL, &err) == 0;
}

static bool one_checkpoint(struct rank *r, int64_t step)
{
    const struct world *w = r->world;
    bool dies = step >= w->dies_at && r->rank == w->dies;
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    int put;

    if (w->death == IN_CHECKPOINT && dies) {
        comm_thread_abort(r->e->comm_thread, 9);
        return false;
    }
    if (eddis_checkpoint_begin(r->e, NULL, &c, &err) < 0)
        return false;
    CHECK(r->rank || eddis_checkpoint_put(c, "state", &r->s, sizeof r->s, &err) == 0);
    put = eddis_checkpoint_put(c, "shard", &r->rank, sizeof r->rank, &err);
    /* Who is late may find that rank 0 has given up, since another has died. */
    CHECK(put == 0 || (put == -ENOENT && w->death == BEFORE_COMMIT && r->rank != 0));
    if (w->death == BEFORE_COMMIT && dies)
        comm_thread_abort(r->e->comm_thread, 9);
    return eddis_checkpoint_commit(c, 0, &err) == 0;
}

static void resume(struct rank *r)
{
    struct world *w = r->world;
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { .code = 1, .text = "of somebody else" };
    int64_t step[2];
    int rc = eddis_restore_begin(r->e, NULL, &c, &err);

    CHECK(rc >= 0 && err.code == 0);
    CHECK(!w->damaged == !err.text[0]); /* every rank is told */
    if (rc == 1) {
        CHECK(eddis_checkpoint_get(c, "state", &r->s, sizeof r->s, &err) == 0);
        CHECK(eddis_restore_end(c, &err) == 0);
    }
    step[0] = r->e->samples.step;
    step[1] = -r->e->samples.step;
    CHECK(eddis_allreduce(r->e, step, 2, EDDIS_INT64, EDDIS_MIN, PATIENCE, &err) == 0);
    CHECK(step[0] == -step[1]);
    if (r->rank == 0)
        w->resumed = rc ? step[0] : -1;
}

static void train(struct rank *r)
{
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT64,
                                 .n_dims = 1,
                                 .dims = { DIM },
                                 .value = r->s.w };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(r->e, "only", EDDIS_LAYER_OTHER, &err), parameter, more;

    parameter = eddis_add_parameter(r->e, layer, &p, &err);
    CHECK(eddis_commit(r->e, &err) == 0 && eddis_broadcast_parameters(r->e, 0, &err) == 0);
    resume(r);
    while ((more = eddis_step_begin(r->e, &s, &err)) == 1)
        if (!one_step(r, parameter, &s) ||
            (s.flags & EDDIS_STEP_CHECKPOINT && !one_checkpoint(r, s.step)))
            return;
    if (more == 0 && r->rank == 0) {
        r->world->finished = true;
        r->world->state = r->s;
    }
}

static int open_end(void *arg, struct transport **ret, struct eddis_error *err)
{
    struct rank *r = arg;

    return loop_open(r->world->loop, r->rank, ret, err);
}

static void *rank_main(void *arg)
{
    struct rank *r = arg;
    struct world *w = r->world;
    struct eddis_options o = { .size = sizeof o, .samples = SAMPLES, .epochs = EPOCHS };
    struct eddis_error err = { 0 };
    int rc = worker_open(&(struct worker_setup){ .open_transport = w->n > 1 ? open_end : NULL,
                                                 .open_arg = r,
                                                 .board_path = w->board,
                                                 .local_rank = r->rank,
                                                 .n_local = w->n },
                         &o, &r->e, &err);

    if (rc < 0)
        fprintf(stderr, "rank %d: %s\n", r->rank, err.text);
    CHECK(rc == 0);
    if (rc == 0) {
        w->body(r);
        (void)eddis_close(r->e, &err); /* fails on those who were left */
    }
    return NULL;
}

/* ---- one generation ---- */

static void make_board(struct world *w)
{
    struct board_area *a = calloc(1, sizeof *a);
    struct board_plan *p = calloc(1, sizeof *p + (size_t)w->n * sizeof *p->batch);
    struct eddis_error err = { 0 };

    a->n_ranks = a->n_local = w->n;
    a->generation = w->generation;
    a->fence_generation = w->fence;
    a->seed = 5;
    a->checkpoint_every = w->every;
    a->checkpoint_keep = 3;
    strcpy(a->mode, "sync");
    strcpy(a->algorithm, "allreduce");
    strcpy(a->job, "restarted");
    strcpy(a->checkpoint_dir, w->checkpoints);
    CHECK(board_create(w->board, a, &w->agent, &err) == 0);
    p->batch = (int64_t *)(p + 1);
    p->version = 1;
    for (int i = 0; i < w->n; i++)
        p->global_batch += p->batch[i] = w->batch[i];
    CHECK(p->global_batch == BATCH && board_publish(w->agent, p, &err) == 0);
    free(a);
    free(p);
}

static void run_generation(struct world *w)
{
    struct rank *rank = calloc((size_t)w->n, sizeof *rank);
    struct eddis_error err = { 0 };

    make_board(w);
    CHECK(loop_new(w->n, 0, &w->loop, &err) == 0);
    for (int i = 0; i < w->n; i++) {
        rank[i].world = w;
        rank[i].rank = i;
        CHECK(pthread_create(&rank[i].thread, NULL, rank_main, &rank[i]) == 0);
    }
    for (int i = 0; i < w->n; i++)
        pthread_join(rank[i].thread, NULL);
    loop_free(w->loop);
    board_close(w->agent);
    unlink(w->board);
    free(rank);
}

static void open_world(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->body = train;
    CHECK(own_folder_make(w->dir, sizeof w->dir) == 0);
    snprintf(w->checkpoints, sizeof w->checkpoints, "%s/checkpoints", w->dir);
    snprintf(w->board, sizeof w->board, "%s/board", w->dir);
}

/* ---- histories ---- */

/* Cut a random file of the newest whole checkpoint, if there is one. */
static void damage(struct world *w, uint64_t *random)
{
    static const char *const files[] = { "MANIFEST", "rank-0000.state", "rank-0000.shard" };
    struct checkpoint *c = NULL;
    char path[256];
    bool one = checkpoint_open_newest(w->checkpoints, &c, NULL, NULL) == 1;

    if (one)
        snprintf(path, sizeof path, "%s/%s", checkpoint_folder(c), files[random_below(random, 3)]);
    checkpoint_close(c);
    if (one)
        CHECK(truncate(path, 3) == 0);
}

static void draw(struct world *w, uint64_t *random)
{
    int64_t left = BATCH;

    w->generation++;
    w->n = 1 + (int)random_below(random, MAX_RANKS);
    w->every = 1 + (int64_t)random_below(random, 5);
    for (int i = 0; i < w->n; i++) {
        w->batch[i] = i == w->n - 1 ? left : (int64_t)random_below(random, (uint64_t)left + 1);
        left -= w->batch[i];
    }
    w->dies = (int)random_below(random, (uint64_t)w->n);
    w->dies_at = (int64_t)random_below(random, STEPS);
    /* One worker alone has nobody to be aborted by. */
    w->death = w->n == 1 || w->generation > MAX_GENERATIONS / 2
                   ? NO_DEATH
                   : (enum death)(1 + random_below(random, 3));
    if (w->generation > 1 && random_below(random, 3) == 0)
        damage(w, random);
}

static void check_samples(const struct world *w)
{
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        int n[SAMPLES] = { 0 }, bad = 0;

        for (int s = epoch * 7; s < epoch * 7 + 7; s++)
            for (int i = 0; i < SAMPLES; i++)
                n[i] += w->taken[w->last[s]][s][i];
        for (int i = 0; i < SAMPLES; i++)
            bad += n[i] != 1;
        CHECK(bad == 0);
    }
}

/* Returns how many generations it took. */
static int one_history(uint64_t seed, const struct state *want)
{
    struct world *w = malloc(sizeof *w);
    uint64_t random = seed;
    double far = 0, size = 0;
    int generations;

    open_world(w);
    while (!w->finished && w->generation < MAX_GENERATIONS - 1 && !failures) {
        int64_t newest = -1;
        struct eddis_error passed;
        struct checkpoint *c = NULL;

        draw(w, &random);
        if (checkpoint_open_newest(w->checkpoints, &c, &passed, NULL) == 1)
            newest = checkpoint_meta(c)->step;
        checkpoint_close(c);
        w->damaged = passed.code; /* also when one before damaged it */
        run_generation(w);
        CHECK(w->resumed == newest);
    }
    CHECK(w->finished);
    check_samples(w);
    for (int j = 0; j < DIM; j++) {
        far += pow(w->state.w[j] - want->w[j], 2);
        size += pow(want->w[j], 2);
    }
    CHECK(sqrt(far / size) < 1e-13);
    if (failures)
        fprintf(stderr, "in history %llu after %d generations\n", (unsigned long long)seed,
                w->generation);
    CHECK(file_remove_tree(w->dir, NULL) == 0);
    generations = w->generation;
    free(w);
    return generations;
}

static struct state uninterrupted(void)
{
    struct world *w = malloc(sizeof *w);
    struct state s;

    open_world(w);
    w->generation = w->n = 1;
    w->batch[0] = BATCH;
    run_generation(w);
    CHECK(w->finished && w->resumed == -1);
    check_samples(w);
    s = w->state;
    CHECK(file_remove_tree(w->dir, NULL) == 0);
    free(w);
    return s;
}

/* ---- checkpoints that fail ---- */

static int put_and_commit(struct rank *r, struct eddis_checkpoint *c, const char *name,
                          struct eddis_error *err)
{
    (void)eddis_checkpoint_put(c, name, "x", 1, err);
    *err = (struct eddis_error){ 0 };
    return eddis_checkpoint_commit(c, 0, err);
}

static bool is_there(const struct world *w, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", w->checkpoints, name);
    return access(path, F_OK) == 0;
}

/* Whatever fails on one rank fails on all with one sentence, leaves nothing, and the next succeeds.
 */
static void fail_body(struct rank *r)
{
    struct world *w = r->world;
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    struct fence other;
    int last = w->n - 1;

    /* A put of the last rank. */
    CHECK(eddis_checkpoint_begin(r->e, NULL, &c, &err) == 0);
    CHECK(put_and_commit(r, c, r->rank == last ? "no blanks" : "a", &err) == -EINVAL);
    CHECK(strstr(err.text, "'no blanks' cannot name"));
    CHECK(r->rank == last || strncmp(err.text, "rank 2: 'no", 11) == 0);
    CHECK(!is_there(w, "step-00000000"));
    CHECK(r->rank || !is_there(w, "step-00000000.g1.part"));
    CHECK(eddis_barrier(r->e, PATIENCE, &err) == 0);
    /* The folder goes while one is written, and comes again with the next. */
    CHECK(eddis_checkpoint_begin(r->e, NULL, &c, &err) == 0);
    CHECK(eddis_barrier(r->e, PATIENCE, &err) == 0);
    CHECK(r->rank || file_remove_tree(w->checkpoints, NULL) == 0);
    CHECK(eddis_barrier(r->e, PATIENCE, &err) == 0);
    CHECK(put_and_commit(r, c, "a", &err) == -ENOENT && err.text[0]);
    CHECK(eddis_checkpoint_begin(r->e, NULL, &c, &err) == 0);
    CHECK(put_and_commit(r, c, "a", &err) == 0 && is_there(w, "step-00000000"));
    /* A folder in which nothing can be made. */
    CHECK(eddis_checkpoint_begin(r->e, "/proc/self", &c, &err) < 0);
    CHECK(strstr(err.text, "/proc/self"));
    /* What there is to begin with. */
    CHECK(eddis_restore_begin(r->e, w->dir, &c, &err) == -ENOENT);
    CHECK(strstr(err.text, "no complete checkpoint in folder"));
    CHECK(eddis_restore_begin(r->e, "/nonexistent", &c, &err) == -ENOENT);
    CHECK(eddis_restore_begin(r->e, w->checkpoints, &c, &err) == 1 && !err.text[0]);
    CHECK(strstr(eddis_checkpoint_folder(c), "/step-00000000"));
    CHECK(eddis_restore_end(c, &err) == 0);
    CHECK(eddis_barrier(r->e, PATIENCE, &err) == 0);
    /* A later generation begins while this one writes. */
    CHECK(eddis_checkpoint_begin(r->e, NULL, &c, &err) == 0);
    CHECK(r->rank || fence_open(w->checkpoints, "restarted", 2, &other, NULL) == 0);
    CHECK(eddis_barrier(r->e, PATIENCE, &err) == 0);
    CHECK(put_and_commit(r, c, "b", &err) < 0);
    CHECK(eddis_checkpoint_begin(r->e, NULL, &c, &err) == -ESTALE);
    CHECK(strstr(err.text, "start 2 of the job has taken over"));
}

/* What is opened to be read is not written to, and what is written is not restored. */
static void kind_body(struct rank *r)
{
    struct world *w = r->world;
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    CHECK(eddis_checkpoint_begin(r->e, NULL, &c, &err) == 0);
    CHECK(eddis_restore_end(c, &err) == -EINVAL && strstr(err.text, "is being written"));
    CHECK(put_and_commit(r, c, "a", &err) == 0);
    CHECK(eddis_restore_begin(r->e, NULL, &c, &err) == 0); /* a fresh start in generation 1 */
    CHECK(eddis_restore_begin(r->e, w->checkpoints, &c, &err) == 1);
    CHECK(eddis_checkpoint_put(c, "b", "x", 1, &err) == -EINVAL);
    CHECK(strstr(err.text, "is complete and can only be read"));
    CHECK(put_and_commit(r, c, "b", &err) == -EINVAL && strstr(err.text, "can only be read"));
    CHECK(!is_there(w, "step-00000000/rank-0000.b"));
    CHECK(eddis_restore_end(c, &err) == 0);
    CHECK(eddis_restore_begin(r->e, w->checkpoints, &c, &err) == 1);
    CHECK(eddis_checkpoint_abandon(c, &err) == 0);
}

/* Who gives up first takes nothing away from those who still write. */
static void slow_body(struct rank *r)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    CHECK(eddis_checkpoint_begin(r->e, NULL, &c, &err) == 0);
    for (int i = 0; r->rank && i < 100 && is_there(r->world, "step-00000000.g1.part"); i++)
        usleep(1000);
    CHECK(eddis_checkpoint_put(c, "a", "x", 1, &err) == 0);
    CHECK(eddis_checkpoint_abandon(c, &err) == 0);
    CHECK(eddis_barrier(r->e, PATIENCE, &err) == 0);
    CHECK(!is_there(r->world, "step-00000000.g1.part"));
}

static void save_to(struct rank *r, const char *folder)
{
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };

    CHECK(eddis_checkpoint_begin(r->e, folder, &c, &err) == 0);
    CHECK(put_and_commit(r, c, "a", &err) == 0);
}

/* Back from step 4 to step 2: a checkpoint that is first written elsewhere does not spare those of
 * the way that was left once one is written among them.
 */
static void back_body(struct rank *r)
{
    struct world *w = r->world;
    struct eddis_step s = { .size = sizeof s };
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    char best[96], first[128];

    snprintf(best, sizeof best, "%s/best", w->dir);
    snprintf(first, sizeof first, "%s/step-00000002", w->checkpoints);
    CHECK(eddis_commit(r->e, &err) == 0);
    while (eddis_step_begin(r->e, &s, &err) == 1) {
        CHECK(eddis_wait(r->e, PATIENCE, &err) == 0 && eddis_step_end(r->e, NULL, &err) == 0);
        save_to(r, NULL);
        if (s.step == 3)
            break;
    }
    CHECK(eddis_restore_begin(r->e, first, &c, &err) == 1 && eddis_restore_end(c, &err) == 0);
    save_to(r, best);
    CHECK(r->rank || is_there(w, "step-00000004"));
    CHECK(eddis_barrier(r->e, PATIENCE, &err) == 0);
    save_to(r, NULL);
    CHECK(r->rank || (is_there(w, "step-00000002") && !is_there(w, "step-00000004")));
    CHECK(r->rank || !is_there(w, "step-00000003"));
}

static void run_body(void (*body)(struct rank *r), int n)
{
    struct world *w = malloc(sizeof *w);

    open_world(w);
    w->body = body;
    w->generation = 1;
    w->n = n;
    w->batch[0] = BATCH;
    run_generation(w);
    CHECK(file_remove_tree(w->dir, NULL) == 0);
    free(w);
}

static void *open_stale(void *arg)
{
    struct rank *r = arg;
    struct eddis_options o = { .size = sizeof o, .samples = SAMPLES, .epochs = EPOCHS };
    struct eddis_error err = { 0 };
    struct worker_setup setup = { .open_transport = open_end,
                                  .open_arg = r,
                                  .board_path = r->world->board,
                                  .local_rank = r->rank,
                                  .n_local = r->world->n };

    CHECK(worker_open(&setup, &o, &r->e, &err) == -ESTALE);
    CHECK(strstr(err.text, r->world->fence ? "start 1001 of the job has taken over"
                                           : "start 5 of the job has taken over"));
    return NULL;
}

/* A generation that was frozen before it opened finds that the next one has: no rank begins. fence:
 * so does one of the start of a batch job before the one that now runs, which counts from 1 again.
 */
static void test_stale(int64_t fence)
{
    struct world *w = malloc(sizeof *w);
    struct rank rank[3] = { 0 };
    struct eddis_error err;
    struct fence next;

    open_world(w);
    w->generation = 4;
    w->fence = fence;
    w->n = 3;
    w->batch[0] = BATCH;
    CHECK(fence_open(w->checkpoints, "restarted", fence ? 1001 : 5, &next, &err) == 0);
    make_board(w);
    CHECK(loop_new(w->n, 0, &w->loop, &err) == 0);
    for (int i = 0; i < w->n; i++) {
        rank[i].world = w;
        rank[i].rank = i;
        CHECK(pthread_create(&rank[i].thread, NULL, open_stale, &rank[i]) == 0);
    }
    for (int i = 0; i < w->n; i++)
        pthread_join(rank[i].thread, NULL);
    loop_free(w->loop);
    board_close(w->agent);
    CHECK(file_remove_tree(w->dir, NULL) == 0);
    free(w);
}

/* The first generation of a later start goes on from what an earlier one has written, whatever the
 * program itself would begin with.
 */
static void again_body(struct rank *r)
{
    struct world *w = r->world;
    struct eddis_checkpoint *c = NULL;
    struct eddis_error err = { 0 };
    bool again = w->fence > 1000;

    CHECK(eddis_restore_begin(r->e, NULL, &c, &err) == again && !err.text[0]);
    CHECK(!again || eddis_restore_end(c, &err) == 0);
    if (again) {
        CHECK(eddis_restore_begin(r->e, "/nonexistent", &c, &err) == 1);
        CHECK(strstr(eddis_checkpoint_folder(c), "/step-00000000"));
        CHECK(eddis_restore_end(c, &err) == 0);
    }
    CHECK(eddis_checkpoint_begin(r->e, NULL, &c, &err) == 0);
    CHECK(put_and_commit(r, c, "a", &err) == 0 && is_there(w, "step-00000000"));
}

static void test_started_again(void)
{
    struct world *w = malloc(sizeof *w);

    open_world(w);
    w->body = again_body;
    w->n = 2;
    w->batch[0] = BATCH;
    w->generation = 1;
    for (w->fence = 1; w->fence < 3000; w->fence += 1000)
        run_generation(w);
    CHECK(file_remove_tree(w->dir, NULL) == 0);
    free(w);
}

int main(void)
{
    struct state want = uninterrupted();
    int generations = 0;

    for (uint64_t seed = 1; seed <= HISTORIES && !failures; seed++)
        generations += one_history(seed, &want);
    CHECK(generations > 2 * HISTORIES);
    run_body(fail_body, 1);
    run_body(fail_body, 3);
    run_body(kind_body, 2);
    run_body(slow_body, 2);
    run_body(back_body, 2);
    test_stale(0);
    test_stale(4);
    test_started_again();
    if (failures)
        fprintf(stderr, "%d failures\n", failures);
    return failures != 0;
}
