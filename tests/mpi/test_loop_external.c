/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_external.c - programs that combine their gradients themselves, a thread a rank over the
 * loop
 *
 * The program is this test: it sums its weighted gradients by a collective of its own.  Every
 * sample counts once, the sum is the gradient of one process on the whole batch, all ranks take up
 * a plan, a checkpoint and a stop at the same step, and libeddis sends no gradient.
 */
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/worker/worker.h"
#include "loop_job.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum { DIM = 5, BATCH = 24, ALL = SCENARIO_SAMPLES * SCENARIO_EPOCHS, STOP_AT = 5 };

/* The one-process reference differs by the order of the sum only. */
#define EXACT 1e-12

/* A job of the test. */
struct external_job {
    int64_t stop_at; /* rank 1 asks for a stop in this step; 0: in none */
    int64_t replans; /* plans that rank 0 publishes while the job trains */
};

/* One rank's training of DIM numbers by least squares. */
struct training {
    struct eddis *e;
    struct loop_job *j;
    int rank;
    double w[DIM];
    int32_t seen[ALL]; /* samples of all epochs that this rank has trained */
    int64_t counts;    /* changes of this rank's number of samples in whole steps */
    int64_t last;      /* the newest step; -1: none */
    unsigned flags;    /* of all steps */
};

/* Return coordinate d of sample i, between 0 and 1; d = DIM is the sample's target. */
static double feature(int64_t i, int d)
{
    return (double)(random_mix(random_mix(9, (uint64_t)i), (uint64_t)d) >> 11) / 9007199254740992.0;
}

/* Add `scale` times the gradient of sample i to g [DIM]. */
static void add_gradient(const double *w, int64_t i, double scale, double *g)
{
    double error = -feature(i, DIM);

    for (int d = 0; d < DIM; d++)
        error += w[d] * feature(i, d);
    for (int d = 0; d < DIM; d++)
        g[d] += scale * error * feature(i, d);
}

/* Combine g [DIM] as a program does that has collectives of its own. */
static void sum_up(struct training *t, double *g)
{
    OK(eddis_allreduce(t->e, g, DIM, EDDIS_FLOAT64, EDDIS_SUM, TIMEOUT_NS, &err));
}

/* Compare the combined gradient with that of one process on all samples of the step, of which this
 * rank's `own` [s->count] is a part.
 */
static void check_union(struct training *t, const struct eddis_step *s, const int64_t *own,
                        const double *combined)
{
    int64_t all[BATCH] = { 0 }, first = s->first;
    double reference[DIM] = { 0 };

    OK(eddis_allreduce(t->e, &first, 1, EDDIS_INT64, EDDIS_MIN, TIMEOUT_NS, &err));
    for (int64_t i = 0; i < s->count; i++)
        all[s->first - first + i] = own[i];
    OK(eddis_allreduce(t->e, all, BATCH, EDDIS_INT64, EDDIS_SUM, TIMEOUT_NS, &err));
    for (int64_t i = 0; i < s->batch; i++)
        add_gradient(t->w, all[i], 1.0 / (double)s->batch, reference);
    for (int d = 0; d < DIM; d++)
        CHECK(fabs(combined[d] - reference[d]) <= EXACT, "step %lld: %.17g, not %.17g",
              (long long)s->step, combined[d], reference[d]);
}

/* Compute, combine and apply the gradient of one step. */
static void compute(struct training *t, const struct eddis_step *s)
{
    int64_t index[BATCH];
    double g[DIM] = { 0 };

    OK(eddis_sample_indices(t->e, s, index, &err));
    for (int64_t i = 0; i < s->count; i++) {
        add_gradient(t->w, index[i], s->weight / (double)s->count, g);
        t->seen[s->epoch * SCENARIO_SAMPLES + index[i]]++;
    }
    sum_up(t, g);
    check_union(t, s, index, g);
    for (int d = 0; d < DIM; d++)
        t->w[d] -= 0.1 * g[d];
}

/* Check that all ranks have the same flags in this step. */
static void check_flags(struct training *t, const struct eddis_step *s)
{
    int64_t range[2] = { s->flags, -(int64_t)s->flags };

    OK(eddis_allreduce(t->e, range, 2, EDDIS_INT64, EDDIS_MAX, TIMEOUT_NS, &err));
    CHECK(range[0] == -range[1], "step %lld", (long long)s->step);
    t->flags |= s->flags;
}

/* Check that the step's agreement has left this rank before the program waits for it, when ranks
 * are on different nodes.
 */
static void check_under_way(struct training *t, int before)
{
    int64_t end = clock_now_ns() + TIMEOUT_NS;

    while (t->j->n > 1 && t->j->node_of && clock_now_ns() < end &&
           atomic_load(&t->j->sent[t->rank][COMM_GRADIENTS]) == before)
        usleep(100);
    CHECK(clock_now_ns() < end);
}

/* Between steps, on rank 0, publish another plan; on rank 1, ask for a stop. */
static void between(struct training *t, const struct eddis_step *s)
{
    static const int64_t split[][4] = { { 3, 9, 11, 1 }, { 12, 0, 2, 10 } };
    const struct external_job *x = t->j->arg;

    if (t->rank == 0 && s->step % 4 == 1 && s->step / 4 < x->replans)
        loop_job_publish(t->j, split[s->step / 4 % 2], s->step == 1 ? BOARD_FLAG_CHECKPOINT : 0);
    if (t->rank == 1 && x->stop_at && s->step == x->stop_at)
        OK(eddis_stop(t->e));
}

/* Train to the end. */
static void train_all(struct training *t)
{
    struct eddis_step s;
    int64_t count = -1;
    int sent = atomic_load(&t->j->sent[t->rank][COMM_GRADIENTS]);

    while (step_begin(t->e, &s)) {
        check_under_way(t, sent);
        compute(t, &s);
        check_flags(t, &s);
        between(t, &s);
        step_end(t->e);
        sent = atomic_load(&t->j->sent[t->rank][COMM_GRADIENTS]);
        t->counts += s.batch == BATCH && count >= 0 && s.count != count;
        count = s.batch == BATCH ? s.count : count;
        t->last = s.step;
    }
}

/* Register the numbers as a parameter with a gradient, and check what the worker shows of it. */
static void set_up(struct training *t)
{
    const struct eddis_parameter p = { .size = sizeof p,
                                       .name = "w",
                                       .dtype = EDDIS_FLOAT64,
                                       .n_dims = 1,
                                       .dims = { DIM },
                                       .value = t->w };
    struct eddis_world world;
    struct board_page page;

    CHECK(add_parameter(t->e, &p) == 0);
    OK(eddis_commit(t->e, &err));
    world = world_of(t->e);
    CHECK(strcmp(world.mode, "sync") == 0 && strcmp(world.algorithm, "external") == 0);
    CHECK(!eddis_gradient(t->e, 0));
    if (!t->j->board)
        return;
    loop_job_page(t->j, t->rank, &page);
    CHECK(page.model_bytes == 8 * DIM && page.program.gradient_bytes == 0);
    CHECK(page.program.centre_bytes == 8 * DIM && strcmp(page.program.gradients, "torch") == 0);
}

static void train(struct eddis *e, int rank, struct loop_job *j)
{
    const struct external_job *x = j->arg;
    struct training t = { .e = e, .j = j, .rank = rank, .last = -1 };
    int64_t last[2];

    set_up(&t);
    train_all(&t);
    check_same(e, EDDIS_ALL, t.w, sizeof t.w);
    last[0] = t.last;
    last[1] = -t.last;
    OK(eddis_allreduce(e, last, 2, EDDIS_INT64, EDDIS_MAX, TIMEOUT_NS, &err));
    CHECK(last[0] == -last[1]);
    CHECK(!x->replans || t.counts >= 2);
    CHECK(!x->replans || t.flags & EDDIS_STEP_CHECKPOINT);
    if (x->stop_at)
        CHECK(t.last > x->stop_at && t.last <= x->stop_at + 2);
    else
        check_once(e, t.seen, ALL);
}

/* What is about gradients is refused. */
static void refuse(struct eddis *e, int rank, struct loop_job *j)
{
    static const char words[] = "gradients of this program are combined by torch";
    double w[DIM] = { 0 }, g[DIM] = { 0 };
    const struct eddis_parameter p = { .size = sizeof p,
                                       .name = "w",
                                       .dtype = EDDIS_FLOAT64,
                                       .n_dims = 1,
                                       .dims = { DIM },
                                       .value = w };
    const void *source = g;
    int parameter = 0;
    struct eddis_step s;

    REFUSED(-EINVAL, "leave sets out", eddis_add_layer_to(e, 1, "other", EDDIS_LAYER_OTHER, &err));
    CHECK(add_parameter(e, &p) == 0);
    OK(eddis_commit(e, &err));
    while (step_begin(e, &s)) {
        REFUSED(-EINVAL, words, eddis_announce(e, 0, g, NULL, &err));
        REFUSED(-EINVAL, words, eddis_announce_many(e, 1, &parameter, &source, NULL, &err));
        REFUSED(-EINVAL, words, eddis_announce_layer(e, 0, &err));
        REFUSED(-EINVAL, words, eddis_announce_factors(e, 0, g, g, 1, NULL, &err));
        REFUSED(-EINVAL, words, eddis_set_weight(e, 3, &err));
        REFUSED(-EINVAL, words, eddis_set_round_weight(e, 0, 3, &err));
        REFUSED(-EINVAL, words, eddis_wait_set(e, 0, TIMEOUT_NS, &err));
        REFUSED(-EINVAL, words, eddis_wait_layer(e, 0, TIMEOUT_NS, &err));
        step_end(e);
    }
}

/* A job whose mode has several models is refused by all ranks. */
static void refuse_mode(struct eddis *e, int rank, struct loop_job *j)
{
    float w = 0;
    char words[64];

    snprintf(words, sizeof words, "needs sync.mode: sync or local, but the job's mode is %s",
             loop_job_mode(j));
    CHECK(add_vector(e, &w, 1) == 0);
    REFUSED(-EINVAL, words, eddis_commit(e, &err));
}

/* Ranks of which one combines by another library do not begin. */
static void refuse_unlike(struct eddis *e, int rank, struct loop_job *j)
{
    float w = 0;

    CHECK(add_vector(e, &w, 1) == 0);
    REFUSED(-EPROTO, "different options `gradients`", eddis_commit(e, &err));
}

static void jobs(void)
{
    struct external_job plain = { 0 }, replanned = { .replans = 6 },
                        stopped = { .stop_at = STOP_AT };
    const struct loop_job three = { .n = 3,
                                    .each = { .batch = BATCH, .gradients = "torch" },
                                    .split = { 13, 8, 3 },
                                    NODES(0, 1, 2) };
    const struct loop_job four = { .n = 4,
                                   .each = { .batch = BATCH, .gradients = "torch" },
                                   .share = 6 };
    const struct loop_job one = { .n = 1,
                                  .each = { .batch = BATCH, .gradients = "torch" },
                                  .share = BATCH };
    const struct loop_job no_board = { .n = 2, .each = { .batch = BATCH, .gradients = "torch" } };

    loop_job_run_body(&three, train, &plain);
    loop_job_run_body(&three, train, &stopped);
    loop_job_run_body(&four, train, &replanned);
    loop_job_run_body(&one, train, &plain);
    loop_job_run_body(&no_board, train, &plain);
    loop_job_run_body(&three, refuse, &plain);
}

static void refusals(void)
{
    static const int per_group[] = { ASYNC, 2 };

    for (size_t i = 0; i < sizeof per_group / sizeof *per_group; i++)
        loop_job_run_body(
            &(struct loop_job){
                .n = 4, .each = { .gradients = "torch" }, .share = 6, .per_group = per_group[i] },
            refuse_mode, NULL);
}

static void unlike(void)
{
    struct loop_job j = {
        .n = 3, .each = { .gradients = "torch" }, .share = 8, .body = refuse_unlike
    };

    loop_job_prepare(&j);
    j.scenario[1].gradients = NULL;
    loop_job_run(&j);
}

static void names(void)
{
    static const char *const bad[] = { "a name", "sixteen-letters-", "\n", "caf\xc3\xa9" };
    struct worker_setup alone = { .n_local = 1 };
    struct eddis_options o = { .size = sizeof o, .samples = 10 };
    struct eddis *e;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        o.gradients = bad[i];
        REFUSED(-EINVAL, "names what combines them", worker_open(&alone, &o, &e, &err));
    }
    o.gradients = "";
    OK(worker_open(&alone, &o, &e, &err));
    OK(eddis_close(e, &err));
}

int main(void)
{
    jobs();
    refusals();
    unlike();
    names();
    return check_result();
}
