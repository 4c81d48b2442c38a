/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_restart.c - jobs that die and go on with other workers, over the in-process loop
 *
 * Seeded histories: each generation has other workers and another split, dies at some step or in
 * the middle of a checkpoint, and the newest checkpoint is damaged now and then.  However it went,
 * every epoch takes each sample exactly once, and the weights end where those of one worker end
 * that was never interrupted, up to rounding.
 */
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/worker/worker.h"
#include "loop_job.h"
#include "own_folder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    SAMPLES = 101,
    BATCH = 16,
    EPOCHS = 4,
    STEPS = EPOCHS * 7,
    DIM = 7,
    MOST_RANKS = 5,
    MAX_GENERATIONS = 40,
    HISTORIES = 12,
};

struct state {
    double w[DIM], v[DIM];
};

enum death { NO_DEATH, IN_STEP, IN_CHECKPOINT, BEFORE_COMMIT };

/* A job through its generations. */
struct world {
    char dir[64], checkpoints[96];
    int generation, n;
    int64_t fence; /* of this start of a batch job; 0: the generation itself */
    int64_t batch[MAX_RANKS];
    int64_t every;
    int64_t late; /* steps between a checkpoint's begin and its commit */
    bool early;   /* the plan is open, and the checkpoint is restored before eddis_commit */
    enum death death;
    int64_t dies_at; /* step */
    int dies;        /* rank */
    bool damaged;    /* the newest checkpoint is not whole */
    int64_t resumed; /* as rank 0 found it; -1: a fresh start */
    int taken[MAX_GENERATIONS][STEPS][SAMPLES];
    int last[STEPS]; /* generation that did the step last; 0: none */
    bool finished;
    struct state state; /* of rank 0 at the end */
};

struct rank {
    struct world *world;
    int rank;
    struct state s;
    struct eddis *e;
    double result[DIM];
    struct eddis_checkpoint *open; /* begun and not committed */
    int64_t commits_at;            /* step */
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
static bool one_step(struct rank *r, const struct eddis_step *s)
{
    struct world *w = r->world;
    int64_t index[SAMPLES];
    double g[DIM] = { 0 };

    OK(eddis_sample_indices(r->e, s, index, &err));
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
    if (eddis_announce(r->e, 0, g, r->result, NULL) < 0 || eddis_wait(r->e, TIMEOUT_NS, NULL) < 0)
        return false;
    for (int j = 0; j < DIM; j++) {
        r->s.v[j] = 0.9 * r->s.v[j] + r->result[j];
        r->s.w[j] -= 0.02 * r->s.v[j];
    }
    return eddis_step_end(r->e, NULL, NULL) == 0;
}

/* Returns whether the job goes on. */
static bool commit(struct rank *r)
{
    struct eddis_checkpoint *c = r->open;

    r->open = NULL;
    return !c || eddis_checkpoint_commit(c, 0, NULL) == 0;
}

static bool one_checkpoint(struct rank *r, int64_t step)
{
    const struct world *w = r->world;
    bool dies = step >= w->dies_at && r->rank == w->dies;
    struct eddis_checkpoint *c = NULL;
    int put;

    if (w->death == IN_CHECKPOINT && dies) {
        comm_thread_abort(r->e->comm_thread, 9);
        return false;
    }
    if (!commit(r) || eddis_checkpoint_begin(r->e, NULL, &c, NULL) < 0)
        return false;
    if (r->rank == 0)
        OK(eddis_checkpoint_put(c, "state", &r->s, sizeof r->s, &err));
    put = eddis_checkpoint_put(c, "shard", &r->rank, sizeof r->rank, NULL);
    /* Who is late may find that rank 0 has given up, since another has died. */
    CHECK(put == 0 || (put == -ENOENT && w->death == BEFORE_COMMIT && r->rank != 0));
    if (w->death == BEFORE_COMMIT && dies)
        comm_thread_abort(r->e->comm_thread, 9);
    r->open = c;
    r->commits_at = step + w->late;
    return true;
}

static void resume(struct rank *r)
{
    struct world *w = r->world;
    struct eddis_checkpoint *c = NULL;
    struct eddis_error passed = { .code = 1, .text = "of somebody else" };
    int64_t step[2];
    int rc = eddis_restore_begin(r->e, NULL, &c, &passed);

    CHECK(rc >= 0 && passed.code == 0);
    CHECK(!w->damaged == !passed.text[0]); /* every rank learns so */
    if (rc == 1) {
        OK(eddis_checkpoint_get(c, "state", &r->s, sizeof r->s, &err));
        OK(eddis_restore_end(c, &err));
    }
    step[0] = r->e->samples.step;
    step[1] = -r->e->samples.step;
    OK(eddis_allreduce(r->e, step, 2, EDDIS_INT64, EDDIS_MIN, TIMEOUT_NS, &err));
    CHECK(step[0] == -step[1]);
    if (r->rank == 0)
        w->resumed = rc ? step[0] : -1;
}

static void train(struct eddis *e, int rank, struct loop_job *j)
{
    struct rank own = { .world = j->arg, .rank = rank, .e = e }, *r = &own;
    struct eddis_parameter p = vector_of(r->s.w, DIM);
    struct eddis_step s = { .size = sizeof s };
    int more;

    p.dtype = EDDIS_FLOAT64;
    CHECK(add_parameter(e, &p) == 0);
    if (j->open_ns) {
        resume(r);
        REFUSED(-EAGAIN, "not known before eddis_commit",
                eddis_plan_step(e, e->samples.step, EDDIS_FOREVER, &s, &err));
        if (rank == 0)
            loop_job_settle(j, (const int64_t[]){ 1, 5, 10 }, 0);
    }
    OK(eddis_commit(e, &err));
    OK(eddis_broadcast_parameters(e, 0, &err));
    if (!j->open_ns)
        resume(r);
    while ((more = eddis_step_begin(e, &s, NULL)) == 1)
        if (!one_step(r, &s) || (s.flags & EDDIS_STEP_CHECKPOINT && !one_checkpoint(r, s.step)) ||
            (s.step >= r->commits_at && !commit(r)))
            break;
    if (more == 0 && !commit(r))
        more = -EIO;
    if (r->open)
        (void)eddis_checkpoint_abandon(r->open, NULL);
    if (more == 0 && rank == 0) {
        r->world->finished = true;
        r->world->state = r->s;
    }
}

/* ---- one generation ---- */

static struct loop_job job_of(const struct world *w)
{
    struct loop_job j = {
        .n = w->n,
        .generation = w->generation,
        .fence = w->fence,
        .checkpoint_dir = w->checkpoints,
        .checkpoint_every = w->every,
        .checkpoint_keep = 3,
        .open_ns = w->early ? TIMEOUT_NS : 0,
        .mode_named = w->early,
        .dies = true,
        .each = { .samples = SAMPLES, .epochs = EPOCHS, .measured = 1 },
    };

    memcpy(j.split, w->batch, sizeof j.split);
    return j;
}

static void run_generation(struct world *w, loop_body_fn *body)
{
    const struct loop_job j = job_of(w);

    loop_job_run_body(&j, body, w);
}

static struct world *world_new(int n)
{
    struct world *w = calloc(1, sizeof *w);

    CHECK(own_folder_make(w->dir, sizeof w->dir) == 0);
    snprintf(w->checkpoints, sizeof w->checkpoints, "%s/checkpoints", w->dir);
    w->n = n;
    w->batch[0] = BATCH;
    w->generation = 1;
    return w;
}

static void world_free(struct world *w)
{
    CHECK(file_remove_tree(w->dir, NULL) == 0);
    free(w);
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
    w->n = 1 + (int)random_below(random, MOST_RANKS);
    w->every = 1 + (int64_t)random_below(random, 5);
    w->late = (int64_t)random_below(random, 4);
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

/* Check that the weights are those of one worker, up to rounding. */
static void check_weights(const struct world *w, const struct state *want)
{
    double far = 0, size = 0;

    for (int j = 0; j < DIM; j++) {
        far += pow(w->state.w[j] - want->w[j], 2);
        size += pow(want->w[j], 2);
    }
    CHECK(sqrt(far / size) < 1e-13);
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
    struct world *w = world_new(1);
    uint64_t random = seed;
    int generations;

    w->generation = 0;
    while (!w->finished && w->generation < MAX_GENERATIONS - 1 && !check_failures()) {
        int64_t newest = -1;
        struct eddis_error passed;
        struct checkpoint *c = NULL;

        draw(w, &random);
        if (checkpoint_open_newest(w->checkpoints, &c, &passed, NULL) == 1)
            newest = checkpoint_meta(c)->step;
        checkpoint_close(c);
        w->damaged = passed.code; /* also when one before damaged it */
        run_generation(w, train);
        CHECK(w->resumed == newest);
    }
    CHECK(w->finished);
    check_samples(w);
    check_weights(w, want);
    if (check_failures())
        fprintf(stderr, "in history %llu after %d generations\n", (unsigned long long)seed,
                w->generation);
    generations = w->generation;
    world_free(w);
    return generations;
}

static struct state uninterrupted(void)
{
    struct world *w = world_new(1);
    struct state s;

    run_generation(w, train);
    CHECK(w->finished && w->resumed == -1);
    check_samples(w);
    s = w->state;
    world_free(w);
    return s;
}

/* A job that names sync mode restores before eddis_commit, though its wire format is chosen there,
 * and the plan that it gets divides the samples from the checkpoint's step on.
 */
static void restore_while_open(const struct state *want)
{
    struct world *w = world_new(3);

    memcpy(w->batch, (const int64_t[]){ 6, 6, 4 }, 3 * sizeof *w->batch);
    w->every = 3;
    w->death = IN_STEP;
    w->dies_at = 10;
    w->dies = 1;
    run_generation(w, train);
    CHECK(!w->finished);
    w->generation = 2;
    w->death = NO_DEATH;
    w->early = true;
    run_generation(w, train);
    CHECK(w->finished && w->resumed >= 3);
    check_samples(w);
    check_weights(w, want);
    world_free(w);
}

/* ---- checkpoints that fail ---- */

static int put_and_commit(struct eddis_checkpoint *c, const char *name, struct eddis_error *err)
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
static void fail_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct world *w = j->arg;
    struct eddis_checkpoint *c = NULL;
    struct eddis_error said = { 0 };
    struct fence other;
    int last = w->n - 1;

    /* A put of the last rank. */
    OK(eddis_checkpoint_begin(e, NULL, &c, &err));
    CHECK(put_and_commit(c, rank == last ? "no blanks" : "a", &said) == -EINVAL);
    CHECK(strstr(said.text, "'no blanks' cannot name"));
    CHECK(rank == last || strncmp(said.text, "rank 2: 'no", 11) == 0);
    CHECK(!is_there(w, "step-00000000"));
    CHECK(rank || !is_there(w, "step-00000000.g1.part"));
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    /* The folder goes while one is written, and comes again with the next. */
    OK(eddis_checkpoint_begin(e, NULL, &c, &err));
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    CHECK(rank || file_remove_tree(w->checkpoints, NULL) == 0);
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    REFUSED(-ENOENT, " ", put_and_commit(c, "a", &err));
    save(e, NULL, "x", 1);
    CHECK(is_there(w, "step-00000000"));
    /* A folder in which nothing can be made. */
    CHECK(eddis_checkpoint_begin(e, "/proc/self", &c, &said) < 0);
    CHECK(strstr(said.text, "/proc/self"));
    /* What there is to begin with. */
    REFUSED(-ENOENT, "no complete checkpoint in folder", eddis_restore_begin(e, w->dir, &c, &err));
    REFUSED(-ENOENT, "", eddis_restore_begin(e, "/nonexistent", &c, &err));
    CHECK(eddis_restore_begin(e, w->checkpoints, &c, &said) == 1 && !said.text[0]);
    CHECK(strstr(eddis_checkpoint_folder(c), "/step-00000000"));
    OK(eddis_restore_end(c, &err));
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    /* A later generation begins while this one writes. */
    OK(eddis_checkpoint_begin(e, NULL, &c, &err));
    CHECK(rank || fence_open(w->checkpoints, LOOP_JOB_NAME, 2, &other, NULL) == 0);
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    CHECK(put_and_commit(c, "b", &said) < 0);
    REFUSED(-ESTALE, "start 2 of the job has taken over",
            eddis_checkpoint_begin(e, NULL, &c, &err));
}

/* What is opened to be read is not written to, and what is written is not restored. */
static void kind_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct world *w = j->arg;
    struct eddis_checkpoint *c = NULL;

    OK(eddis_checkpoint_begin(e, NULL, &c, &err));
    REFUSED(-EINVAL, "is being written", eddis_restore_end(c, &err));
    OK(put_and_commit(c, "a", &err));
    OK(eddis_restore_begin(e, NULL, &c, &err)); /* a fresh start in generation 1 */
    GIVES(1, eddis_restore_begin(e, w->checkpoints, &c, &err));
    REFUSED(-EINVAL, "is complete and can only be read",
            eddis_checkpoint_put(c, "b", "x", 1, &err));
    REFUSED(-EINVAL, "can only be read", put_and_commit(c, "b", &err));
    CHECK(!is_there(w, "step-00000000/rank-0000.b"));
    OK(eddis_restore_end(c, &err));
    GIVES(1, eddis_restore_begin(e, w->checkpoints, &c, &err));
    OK(eddis_checkpoint_abandon(c, &err));
}

/* Who gives up first takes nothing away from those who still write. */
static void slow_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_checkpoint *c = NULL;

    OK(eddis_checkpoint_begin(e, NULL, &c, &err));
    for (int i = 0; rank && i < 100 && is_there(j->arg, "step-00000000.g1.part"); i++)
        usleep(1000);
    OK(eddis_checkpoint_put(c, "a", "x", 1, &err));
    OK(eddis_checkpoint_abandon(c, &err));
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    CHECK(!is_there(j->arg, "step-00000000.g1.part"));
}

/* Back from step 4 to step 2: a checkpoint that is first written elsewhere does not spare those of
 * the way that was left once one is written among them.
 */
static void back_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct world *w = j->arg;
    struct eddis_step s = { .step = 3 };
    struct eddis_checkpoint *c = NULL;
    char best[96], first[128];

    snprintf(best, sizeof best, "%s/best", w->dir);
    snprintf(first, sizeof first, "%s/step-00000002", w->checkpoints);
    OK(eddis_commit(e, &err));
    do {
        CHECK(step_begin(e, &s));
        step_end(e);
        save(e, NULL, "x", 1);
    } while (s.step < 3);
    GIVES(1, eddis_restore_begin(e, first, &c, &err));
    OK(eddis_restore_end(c, &err));
    save(e, best, "x", 1);
    CHECK(rank || is_there(w, "step-00000004"));
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    save(e, NULL, "x", 1);
    CHECK(rank || (is_there(w, "step-00000002") && !is_there(w, "step-00000004")));
    CHECK(rank || !is_there(w, "step-00000003"));
}

static void run_body(loop_body_fn *body, int n)
{
    struct world *w = world_new(n);

    run_generation(w, body);
    world_free(w);
}

/* A generation that was frozen before it opened finds that the next one has: no rank begins. fence:
 * so does one of the start of a batch job before the one that now runs, which counts from 1 again.
 */
static void test_stale(int64_t fence)
{
    struct world *w = world_new(3);
    struct fence next;
    struct loop_job j;

    w->generation = 4;
    w->fence = fence;
    OK(fence_open(w->checkpoints, LOOP_JOB_NAME, fence ? 1001 : 5, &next, &err));
    j = job_of(w);
    j.opens = -ESTALE;
    j.open_words =
        fence ? "start 1001 of the job has taken over" : "start 5 of the job has taken over";
    loop_job_run(&j);
    world_free(w);
}

/* The first generation of a later start goes on from what an earlier one has written, whatever the
 * program itself would begin with.
 */
static void again_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct world *w = j->arg;
    struct eddis_checkpoint *c = NULL;
    struct eddis_error passed = { 0 };
    bool again = w->fence > 1000;

    CHECK(eddis_restore_begin(e, NULL, &c, &passed) == again && !passed.text[0]);
    if (again) {
        OK(eddis_restore_end(c, &err));
        GIVES(1, eddis_restore_begin(e, "/nonexistent", &c, &err));
        CHECK(strstr(eddis_checkpoint_folder(c), "/step-00000000"));
        OK(eddis_restore_end(c, &err));
    }
    save(e, NULL, "x", 1);
    CHECK(is_there(w, "step-00000000"));
}

static void test_started_again(void)
{
    struct world *w = world_new(2);

    for (w->fence = 1; w->fence < 3000; w->fence += 1000)
        run_generation(w, again_body);
    world_free(w);
}

int main(void)
{
    struct state want = uninterrupted();
    int generations = 0;

    for (uint64_t seed = 1; seed <= HISTORIES && !check_failures(); seed++)
        generations += one_history(seed, &want);
    CHECK(generations > 2 * HISTORIES);
    restore_while_open(&want);
    run_body(fail_body, 1);
    run_body(fail_body, 3);
    run_body(kind_body, 2);
    run_body(slow_body, 2);
    run_body(back_body, 2);
    test_stale(0);
    test_stale(4);
    test_started_again();
    return check_result();
}
