/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_eddis.c - the whole library with a thread a rank over the in-process loop
 *
 * What runs under mpirun in test_mpi_eddis runs here without MPI, so that the thread sanitizer
 * and valgrind see the library's own locks and memory; and plans change, as the agent would do it.
 */
#include "lib/base/clock.h"
#include "lib/worker/tuning.h"
#include "lib/worker/worker.h"
#include "loop_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Jobs with a board, whose global batch is 43. */
static const struct loop_job three = { .n = 3, .split = { 10, 20, 13 } },
                             four = { .n = 4, .split = { 10, 20, 0, 13 } };

/* ---- training ---- */

static void train_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct scenario *s = &j->scenario[rank];

    scenario_collectives(e, s);
    scenario_train(e, s);
    CHECK(s->steps == SCENARIO_EPOCHS * 7);
}

static void test_train(int n)
{
    struct loop_job j = { .n = n, .each = { .batch = 43, .measured = n % 2 == 0 } };

    loop_job_run_body(&j, train_body, NULL);
}

/* A new split after every third step; it holds on all ranks from the same step on, or samples
 * would be lost or taken twice and the weights differ.
 */
static void change_plan(void *arg, int64_t step)
{
    static const int64_t splits[3][MAX_RANKS] = { { 0, 42, 1, 0 },
                                                  { 20, 3, 10, 10 },
                                                  { 11, 11, 11, 10 } };
    struct loop_job *j = arg;

    if (step % 3 == 0)
        loop_job_publish(j, splits[step / 3 % 3], step == 6 ? BOARD_FLAG_CHECKPOINT : 0);
}

/* A page keeps what was done under the plans before apart. */
static void plans_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page p;

    train_body(e, rank, j);
    loop_job_page(j, rank, &p);
    CHECK(p.plan_version > 1 && p.steps_here == 28);
    CHECK(p.steps_before > 0 && p.samples_before > 0 && p.samples_before <= p.samples_done);
    CHECK(p.sum_before.total_ns > 0 && p.sum_before.total_ns <= p.sum.total_ns);
    CHECK(p.step_plan > 1 && p.ring[27].plan == p.step_plan);
    CHECK(p.ring[p.steps_before].plan == p.step_plan);
    CHECK(p.ring[p.steps_before - 1].plan < p.step_plan);
}

static void test_plans(void)
{
    struct loop_job j = four;

    j.body = plans_body;
    j.each.after_step = change_plan;
    loop_job_run(&j);
    for (int i = 0; i < 4; i++) {
        CHECK(j.scenario[i].splits >= 2);
        CHECK(j.scenario[i].all_flags & EDDIS_STEP_CHECKPOINT);
    }
}

static void stop_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct scenario *s = &j->scenario[rank];

    scenario_train(e, s);
    CHECK(s->steps < SCENARIO_EPOCHS * 7 && s->all_flags & EDDIS_STEP_STOP);
}

static void stop_plan(void *arg, int64_t step)
{
    static const int64_t split[MAX_RANKS] = { 20, 3, 20 };

    if (step == 5)
        loop_job_publish(arg, split, BOARD_FLAG_STOP);
}

static void test_stop(void)
{
    struct loop_job j = three;

    j.body = stop_body;
    j.each.after_step = stop_plan;
    loop_job_run(&j);
    for (int i = 1; i < 3; i++)
        CHECK(j.scenario[i].steps == j.scenario[0].steps);
}

/* ---- the board ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void board_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page p;
    struct eddis_step s;

    scenario_train(e, &j->scenario[rank]);
    CHECK(!step_begin(e, &s)); /* still over */
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    loop_job_page(j, rank, &p);
    CHECK(p.rank == rank && p.steps_done == 28 && p.steps_total == 28 && p.steps_in_epoch == 7);
    CHECK(p.epochs == SCENARIO_EPOCHS && p.has_loss && p.loss == 1.5);
    CHECK(strcmp(p.metric[0].name, "test_accuracy") == 0 && p.metric[0].value == 0.5);
    CHECK(p.bytes_sent > 0 && p.asked_step >= 27 && p.plan_version == 1 && p.plan_since == 0);
    CHECK(p.sum.total_ns == p.sum.input_ns + p.sum.compute_ns + p.sum.wait_ns + p.sum.exposed_ns);
    CHECK(p.steps_here == 28 && p.steps_before == 0 && p.samples_before == 0);
    CHECK(p.ring[27].t.compute_ns == least(SCENARIO_COMPUTE_NS, p.ring[27].t.total_ns));
    CHECK(p.ring[27].work == SCENARIO_WORK && p.memory_bytes == SCENARIO_MEMORY && p.thread > 0);
    CHECK(p.sum.total_ns > 0 && p.ring[27].step == 27 && p.ring[27].plan == 1);
}

/* ---- what was chosen, and chosen again ---- */

static struct comm_choice chosen;

static void choice_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page p;

    scenario_train(e, &j->scenario[rank]);
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    loop_job_page(j, rank, &p);
    CHECK((p.choice.version > 0) == (rank == 0));
    if (rank == 0)
        chosen = p.choice;
}

static void run_choice(const struct comm_choice *c)
{
    struct loop_job j = three;

    j.choice = c;
    j.each.measured = 1;
    loop_job_run_body(&j, choice_body, NULL);
}

/* What was measured is on rank 0's page, and a plan that has it is followed. */
static void test_choice(void)
{
    struct comm_choice first;

    run_choice(NULL);
    CHECK(chosen.n_order == 3 && chosen.n_buckets >= 1 && chosen.piece_bytes == COMM_PIECE_BYTES);
    CHECK(strstr(chosen.reason, "measure"));
    CHECK(strstr(chosen.reason, " by when gradients were ready"));
    first = chosen;
    first.direct_bytes++; /* what no measurement chooses */
    run_choice(&first);
    first.version = chosen.version; /* counts what this run has written */
    CHECK(memcmp(&chosen, &first, sizeof first) == 0);
}

static int buckets_measured(struct loop_job *j)
{
    struct board_page p;

    loop_job_page(j, 0, &p);
    return p.choice.n_buckets;
}

enum { REPLACED_AFTER = 9 }; /* step */

static void replace_plan(void *arg, int64_t step)
{
    static const int64_t split[MAX_RANKS] = { 3, 20, 20 };

    if (step == REPLACED_AFTER)
        loop_job_publish(arg, split, 0);
    CHECK(step > REPLACED_AFTER + 3 || buckets_measured(arg) == 0);
}

static void passing_body(struct eddis *e, int rank, struct loop_job *j)
{
    train_body(e, rank, j);
    CHECK(buckets_measured(j) > 0);
}

/* Buckets are laid out by steps of a plan that is going to last. */
static void test_passing(void)
{
    static const int64_t split[MAX_RANKS] = { 15, 14, 14 };
    struct loop_job j = three;

    j.body = passing_body;
    j.each.measured = 1;
    loop_job_prepare(&j);
    loop_job_publish(&j, split, BOARD_FLAG_PASSING);
    j.scenario[0].after_step = replace_plan;
    loop_job_run(&j);
}

static void test_choice_layout(void)
{
    static const struct {
        struct comm_choice c;
        int rc;
    } rows[] = {
        { { .n_order = 4, .n_buckets = 2, .order = { 1, 0, 3, 2 }, .bucket = { 2, 2 } }, 1 },
        { { .n_buckets = 2, .bucket = { 1, 3 } }, 1 }, /* in the reverse order of registration */
        { { .n_order = 4 }, 0 },
        { { .n_order = 4, .n_buckets = 2, .order = { 1, 3, 0, 2 }, .bucket = { 2, 2 } }, -EINVAL },
        { { .n_order = 4, .n_buckets = 2, .order = { 1, 0, 3, 2 }, .bucket = { 3, 2 } }, -EINVAL },
        { { .n_order = 3, .n_buckets = 2, .order = { 1, 0, 2 }, .bucket = { 2, 2 } }, -EINVAL },
        { { .n_order = 5, .n_buckets = 1, .order = { 0, 1, 2, 3, 4 }, .bucket = { 5 } }, -EINVAL },
        { { .n_order = 4, .n_buckets = 1, .order = { 9, 1, 2, 3 }, .bucket = { 4 } }, -EINVAL },
    };
    struct bucket_layout l = { 0 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        GIVES(rows[i].rc, tuning_layout(&rows[i].c, 4, &l, &err));
    GIVES(1, tuning_layout(&rows[0].c, 4, &l, &err));
    CHECK(l.n == 2 && l.run[0].first == 2 && l.run[0].end == 4 && l.run[1].first == 0);
    chosen = (struct comm_choice){ 0 };
    tuning_set_layout(&chosen, 4, &l);
    CHECK(chosen.n_order == 4 && chosen.order[0] == 1 && chosen.order[3] == 2);
    CHECK(chosen.n_buckets == 2 && chosen.bucket[0] == 2);
}

/* No file may grow: sharing memory fails.  A plan that has it shared is refused, as its bits would
 * be others; without a plan all go on with messages, and the board says why.
 */
static void unshared_body(struct eddis *e, int rank, struct loop_job *j)
{
    const char *reason = board_own(e->board)->choice.reason;
    struct eddis_error why = { 0 };
    float value[4] = { 0 };
    int rc;

    CHECK(add_vector(e, value, 4) == 0);
    rc = eddis_commit(e, &why);
    CHECK(j->choice || rank > 0 || strstr(reason, "; no memory is shared: making "));
    CHECK(j->choice ? rc < 0 && strstr(why.text, "the plan has workers of a node share memory: ")
                    : rc == 0 && !e->node_memory.node);
}

static void test_choice_unshared(void)
{
    static const struct comm_choice shared = { .version = 1, .shared = 1 };
    const struct comm_choice *choices[] = { &shared, NULL };
    struct rlimit before, none;

    CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    none = (struct rlimit){ .rlim_max = before.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        struct loop_job j = three;

        j.body = unshared_body;
        j.choice = choices[i];
        loop_job_prepare(&j);
        CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
        loop_job_run(&j);
        CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    }
}

/* ---- emulated devices ---- */

/* Every step takes its worker at least the emulated time; results are the same. */
static void emulate_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page p;
    int64_t fixed_ns = 2 * CLOCK_MS, sample_ns = CLOCK_MS / 10 * (rank + 1), least;

    scenario_train(e, &j->scenario[rank]);
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    loop_job_page(j, rank, &p);
    least = p.samples_done * sample_ns + (p.samples_done ? p.steps_done * fixed_ns : 0);
    /* the update behind the wait counts too, and is spared in the next step */
    CHECK(p.sum.total_ns >= least - CLOCK_MS);
}

/* ---- endings ---- */

enum { READ_AHEAD = 25 };

static void *read_ahead(void *arg)
{
    struct eddis_step s = { .size = sizeof s };

    REFUSED(-ECONNABORTED, "", eddis_plan_step(arg, READ_AHEAD, EDDIS_FOREVER, &s, &err));
    return NULL;
}

/* Ranks 1 and 2 have reported a new plan, so what is read ahead waits for the agreement; then rank
 * 0 ends the job.  Every call fails, none hangs, and nothing freed is touched.
 */
static void abort_body(struct eddis *e, int rank, struct loop_job *j)
{
    static const int64_t split[MAX_RANKS] = { 20, 3, 20 };
    struct eddis_step s = { .size = sizeof s };
    int64_t begun;
    float value = 0;
    int x = 1;
    pthread_t reader;

    (void)commit_vector(e, &value, 1);
    if (rank == 0)
        loop_job_publish(j, split, 0);
    OK(eddis_barrier(e, TIMEOUT_NS, &err));
    CHECK(step_begin(e, &s));
    if (rank == 0) {
        loop_job_await(j, 2);
        comm_thread_abort(e->comm_thread, 3);
    } else {
        REFUSED(-ETIMEDOUT, "", eddis_wait(e, CLOCK_S / 20, &err));
        CHECK(pthread_create(&reader, NULL, read_ahead, e) == 0);
        usleep(20000);
        loop_job_reach(j);
    }
    begun = clock_now_ns();
    REFUSED(-ECONNABORTED, "", eddis_wait(e, TIMEOUT_NS, &err));
    for (int i = 0; i < 3; i++) {
        REFUSED(-ECONNABORTED, "",
                eddis_allreduce(e, &x, 1, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err));
        REFUSED(-ECONNABORTED, "", eddis_barrier(e, TIMEOUT_NS, &err));
    }
    if (rank != 0)
        pthread_join(reader, NULL);
    CHECK(clock_now_ns() - begun < 30 * CLOCK_S);
}

static void test_abort(void)
{
    struct loop_job j = three;

    j.closes = -ECONNABORTED;
    j.each.read_ahead = READ_AHEAD;
    loop_job_run_body(&j, abort_body, NULL);
}

enum { UNDER_WAY = 50000 };

/* Leaving does not drop what all have begun. */
static void close_body(struct eddis *e, int rank, struct loop_job *j)
{
    float *buffer = ((float **)j->arg)[rank], value = 0;
    struct eddis_request *r[2];

    (void)commit_vector(e, &value, 1);
    for (int i = 0; i < UNDER_WAY; i++)
        buffer[i] = (float)rank;
    OK(eddis_broadcast_start(e, buffer + UNDER_WAY, sizeof(float), 1, &r[0], &err));
    if (rank == 2)
        usleep(50000);
    OK(eddis_allreduce_start(e, buffer, UNDER_WAY, EDDIS_FLOAT32, EDDIS_SUM, &r[1], &err));
}

static void test_close(void)
{
    const struct loop_job j = { .n = 3 };
    float *buffer[3];

    for (int i = 0; i < 3; i++) {
        buffer[i] = calloc(UNDER_WAY + 1, sizeof(float));
        buffer[i][UNDER_WAY] = (float)i;
    }
    loop_job_run_body(&j, close_body, buffer);
    for (int i = 0; i < 3; i++) {
        CHECK(buffer[i][UNDER_WAY] == 1 && buffer[i][0] == 3 && buffer[i][UNDER_WAY - 1] == 3);
        free(buffer[i]);
    }
}

/* One rank cannot find its board: all learn so, nobody waits for it. */
static void test_no_board(void)
{
    struct loop_job j = three;

    j.board_of_1 = j.open_words = "/nonexistent/b";
    j.opens = -ENOENT;
    loop_job_run(&j);
}

/* ---- many parameters ---- */

enum { MANY = 1500, LARGE = 5000, MANY_STEPS = 3 };

struct many {
    int n[MANY];
    enum eddis_dtype type[MANY];
    int id[MANY];
    double *value[MANY], *gradient[MANY], *result[MANY]; /* of either type */
};

static void many_put(const struct many *m, double *to, int p, int i, double x)
{
    if (m->type[p] == EDDIS_FLOAT32)
        ((float *)(void *)to)[i] = (float)x;
    else
        to[i] = x;
}

static double many_get(const struct many *m, const double *from, int p, int i)
{
    return m->type[p] == EDDIS_FLOAT32 ? (double)((const float *)(const void *)from)[i] : from[i];
}

static struct many *many_new(struct eddis *e, int rank)
{
    struct many *m = calloc(1, sizeof *m);
    struct eddis_parameter x;

    for (int p = 0; p < MANY; p++) {
        m->n[p] = p == MANY / 2 ? LARGE : 1 + p % 3;
        m->type[p] = p % 100 < 50 ? EDDIS_FLOAT32 : EDDIS_FLOAT64;
        m->value[p] = calloc((size_t)m->n[p], sizeof(double));
        m->gradient[p] = calloc((size_t)m->n[p], sizeof(double));
        m->result[p] = calloc((size_t)m->n[p], sizeof(double));
        for (int i = 0; i < m->n[p]; i++)
            many_put(m, m->value[p], p, i, rank == 1 ? p + i : -1);
        x = vector_of(m->value[p], m->n[p]);
        x.dtype = m->type[p];
        x.result = rank == 2 && p % 10 == 0 ? m->result[p] : NULL;
        m->id[p] = add_parameter(e, &x);
    }
    return m;
}

static void many_free(struct many *m)
{
    for (int p = 0; p < MANY; p++) {
        free(m->value[p]);
        free(m->gradient[p]);
        free(m->result[p]);
    }
    free(m);
}

/* Rank 0 announces from the first, 1 from the last, 2 in a third order and every fifth as nothing;
 * into the source, into the slot, elsewhere, and left where they are.  Powers of two make the sums
 * exact.
 */
static void many_announce(struct eddis *e, struct many *m, int rank, int step)
{

    for (int k = 0; k < MANY; k++) {
        int p = rank == 0 ? k : rank == 1 ? MANY - 1 - k : k * 7 % MANY;
        double *g = m->gradient[p];

        if (rank == 2 && p % 10 == 5)
            OK(eddis_announce(e, m->id[p], EDDIS_ZERO, m->result[p], &err));
        if (rank == 2 && p % 5 == 0)
            continue; /* every tenth has a result of its own */
        if (p % 3 == 2)
            g = eddis_gradient(e, m->id[p]);
        for (int i = 0; i < m->n[p]; i++)
            many_put(m, g, p, i, (rank + 1) * (p % 64 + i % 8 + step));
        OK(eddis_announce(e, m->id[p], p % 3 == 2 ? NULL : g,
                          p % 3 == 0   ? g
                          : p % 6 == 1 ? EDDIS_IN_PLACE
                          : p % 6 == 4 ? m->result[p]
                                       : NULL,
                          &err));
    }
}

static void many_check(struct eddis *e, const struct many *m, int rank, int step)
{
    int bad = 0;

    for (int p = 0; p < MANY; p++) {
        /* Counts 16, 32, 16 of 64. */
        double weight = 0.25 + 0.5 * 2 + (p % 5 == 0 ? 0 : 0.25 * 3);
        const double *x = p % 3 == 0   ? m->gradient[p]
                          : p % 6 == 1 ? eddis_result(e, m->id[p])
                          : p % 6 == 4 ? m->result[p]
                                       : (const double *)eddis_gradient(e, m->id[p]);

        if (rank == 2 && p % 5 == 0)
            x = m->result[p];
        for (int i = 0; i < m->n[p]; i++)
            bad += many_get(m, x, p, i) != weight * (p % 64 + i % 8 + step);
    }
    CHECK(bad == 0);
}

static void many_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct many *m = many_new(e, rank);

    OK(eddis_commit(e, &err));
    OK(eddis_broadcast_parameters(e, 1, &err));
    for (int p = 0; p < MANY; p++)
        CHECK(many_get(m, m->value[p], p, m->n[p] - 1) == p + m->n[p] - 1);
    for (int step = 0; step < MANY_STEPS; step++) {
        struct eddis_step s;
        int x = 1;

        CHECK(step_begin(e, &s));
        many_announce(e, m, rank, step);
        OK(eddis_allreduce(e, &x, 1, EDDIS_INT32, EDDIS_SUM, TIMEOUT_NS, &err));
        CHECK(x == 3);
        for (int p = 0; rank == 1 && p < MANY; p += 10)
            OK(eddis_wait_layer(e, p, TIMEOUT_NS, &err));
        OK(eddis_wait(e, TIMEOUT_NS, &err));
        many_check(e, m, rank, step);
        OK(eddis_step_end(e, NULL, &err));
    }
    many_free(m);
}

static void test_fork(void)
{
    const struct worker_setup alone = { .n_local = 1 };
    struct eddis_options o = { .size = sizeof o, .samples = 10, .epochs = 1 };
    struct eddis *e = NULL;
    int status = 1;
    pid_t child;

    OK(worker_open(&alone, &o, &e, &err));
    child = fork();
    if (child == 0)
        _exit(eddis_commit(e, NULL) == -EPERM && eddis_close(e, NULL) == -EPERM ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(eddis_close(e, &err));
    o.samples = -1;
    REFUSED(-EINVAL, "", worker_open(&alone, &o, &e, &err));
    o = (struct eddis_options){ .size = sizeof o, .samples = 10, .read_ahead = 65 };
    REFUSED(-EINVAL, "read_ahead is 65", worker_open(&alone, &o, &e, &err));
    o = (struct eddis_options){ .size = sizeof o, .samples = 10, .close_at_exit = -1 };
    REFUSED(-EINVAL, "close_at_exit is -1", worker_open(&alone, &o, &e, &err));
    o.close_at_exit = 3;
    REFUSED(-EINVAL, "close_at_exit is 3", worker_open(&alone, &o, &e, &err));
    OK(eddis_close(NULL, &err));
    REFUSED(-EINVAL, "", eddis_commit(NULL, &err));
}

/* ---- many layers ---- */

enum { LAYERS_FEW = 300, LAYERS_MANY = 16 * LAYERS_FEW, GROWTH_STEPS = 5, GROWTH_MOST = 64 };

static double cpu_s(void)
{
    struct timespec t;

    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double growth_step(struct eddis *e, int layers)
{
    struct eddis_step s;
    double begun;

    CHECK(step_begin(e, &s));
    begun = cpu_s();
    for (int i = layers - 1; i >= 0; i--)
        OK(eddis_announce_layer(e, i, &err));
    for (int i = layers - 1; i >= 0; i--)
        OK(eddis_wait_layer(e, i, TIMEOUT_NS, &err));
    OK(eddis_wait(e, TIMEOUT_NS, &err));
    begun = cpu_s() - begun;
    OK(eddis_step_end(e, NULL, &err));
    return begun;
}

struct growth {
    int layers;
    double least_s; /* of a step's calls, rank 0's processor time */
};

static void growth_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct growth *g = j->arg;
    static float value[4];
    double least = 1e9;

    for (int i = 0; i < g->layers; i++)
        CHECK(add_vector(e, value, 4) == i);
    OK(eddis_commit(e, &err));
    for (int i = 0; i < GROWTH_STEPS; i++) {
        double s = growth_step(e, g->layers);

        least = s < least ? s : least;
    }
    if (rank == 0)
        g->least_s = least;
}

static double growth_of(int n, int measured, int layers)
{
    const struct loop_job j = { .n = n, .each = { .batch = 43, .measured = measured } };
    struct growth g = { .layers = layers };

    loop_job_run_body(&j, growth_body, &g);
    return g.least_s;
}

/* How many times as long a step of many layers takes as one of few: the least of some tries, since
 * whatever else the machine does can only stretch one of the two.  What grows with the square does
 * so in every try.
 */
static double growth_ratio(int n, int measured)
{
    double least = 1e9;

    for (int tries = 0; tries < 5 && least > GROWTH_MOST; tries++) {
        double few = growth_of(n, measured, LAYERS_FEW);
        double ratio = growth_of(n, measured, LAYERS_MANY) / few;

        least = ratio < least ? ratio : least;
    }
    return least;
}

/* Sixteen times as many layers cost about sixteen times as much, where all share a bucket and where
 * each is a message; the square would be 256 times.
 */
static void test_growth(void)
{
    static const struct {
        int n, measured;
    } rows[] = { { 1, 1 }, { 1, 0 }, { 2, 0 } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double ratio = growth_ratio(rows[i].n, rows[i].measured);

        CHECK(ratio <= GROWTH_MOST, "row %zu: %d layers take %.0f times as long as %d", i,
              LAYERS_MANY, ratio, LAYERS_FEW);
    }
}

int main(void)
{
    const struct loop_job unequal = { .n = 3, .split = { 16, 32, 16 } };
    struct loop_job slow = { .n = 1, .share = 13, .emulated = 1 };

    test_fork();
    for (int n = 1; n <= 4; n++)
        test_train(n);
    test_train(7);
    test_plans();
    test_stop();
    loop_job_run_body(&four, board_body, NULL);
    test_choice();
    test_passing();
    test_choice_layout();
    test_choice_unshared();
    loop_job_run_body(&slow, emulate_body, NULL); /* one has nobody to wait for who may be slow */
    slow = three;
    slow.emulated = 1;
    loop_job_run_body(&slow, emulate_body, NULL);
    test_no_board();
    test_close();
    test_abort();
    loop_job_run_body(&unequal, many_body, NULL);
    test_growth();
    return check_result();
}
