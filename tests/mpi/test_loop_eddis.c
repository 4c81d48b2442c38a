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
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- training ---- */

static void train_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct scenario *s = &j->scenario[rank];

    __atomic_add_fetch(&loop_job_failures, scenario_collectives(e), __ATOMIC_RELAXED);
    __atomic_add_fetch(&loop_job_failures, scenario_run(e, s), __ATOMIC_RELAXED);
    CHECK(s->steps == SCENARIO_EPOCHS * 7);
}

static void test_train(int n)
{
    struct loop_job j = { .n = n, .body = train_body };

    for (int i = 0; i < n; i++) {
        j.scenario[i].batch = 43;
        j.scenario[i].measured = n % 2 == 0;
    }
    loop_job_run(&j);
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
    struct loop_job j = { .n = 4, .body = plans_body };

    loop_job_board(&j);
    for (int i = 0; i < 4; i++)
        j.scenario[i] = (struct scenario){ .batch = 43, .after_step = change_plan, .arg = &j };
    loop_job_run(&j);
    for (int i = 0; i < 4; i++) {
        CHECK(j.scenario[i].splits >= 2);
        CHECK(j.scenario[i].all_flags & EDDIS_STEP_CHECKPOINT);
    }
}

static void stop_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct scenario *s = &j->scenario[rank];

    __atomic_add_fetch(&loop_job_failures, scenario_run(e, s), __ATOMIC_RELAXED);
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
    struct loop_job j = { .n = 3, .body = stop_body };

    loop_job_board(&j);
    for (int i = 0; i < 3; i++)
        j.scenario[i] = (struct scenario){ .batch = 43, .after_step = stop_plan, .arg = &j };
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
    struct eddis_error err = { 0 };
    struct eddis_step s = { .size = sizeof s };

    __atomic_add_fetch(&loop_job_failures, scenario_run(e, &j->scenario[rank]), __ATOMIC_RELAXED);
    CHECK(eddis_step_begin(e, &s, &err) == 0); /* still over */
    CHECK(eddis_barrier(e, CLOCK_S * 60, &err) == 0);
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

static void test_board(void)
{
    struct loop_job j = { .n = 4, .body = board_body };

    loop_job_board(&j);
    for (int i = 0; i < 4; i++)
        j.scenario[i].batch = 43;
    loop_job_run(&j);
}

/* ---- what was chosen, and chosen again ---- */

static struct comm_choice chosen;

static void choice_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct board_page p;
    struct eddis_error err = { 0 };

    __atomic_add_fetch(&loop_job_failures, scenario_run(e, &j->scenario[rank]), __ATOMIC_RELAXED);
    CHECK(eddis_barrier(e, CLOCK_S * 60, &err) == 0);
    loop_job_page(j, rank, &p);
    CHECK((p.choice.version > 0) == (rank == 0));
    if (rank == 0)
        chosen = p.choice;
}

static void run_choice(const struct comm_choice *c)
{
    struct loop_job j = { .n = 3, .body = choice_body, .choice = c };

    for (int i = 0; i < 3; i++)
        j.scenario[i] = (struct scenario){ .batch = 43, .measured = 1 };
    loop_job_board(&j);
    loop_job_run(&j);
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
    struct loop_job j = { .n = 3, .body = passing_body };

    for (int i = 0; i < 3; i++)
        j.scenario[i] = (struct scenario){ .batch = 43, .measured = 1 };
    loop_job_board(&j);
    loop_job_publish(&j, split, BOARD_FLAG_PASSING);
    j.scenario[0].after_step = replace_plan;
    j.scenario[0].arg = &j;
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
    struct eddis_error err;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK(tuning_layout(&rows[i].c, 4, &l, &err) == rows[i].rc);
    CHECK(tuning_layout(&rows[0].c, 4, &l, &err) == 1);
    CHECK(l.n == 2 && l.run[0].first == 2 && l.run[0].end == 4 && l.run[1].first == 0);
    chosen = (struct comm_choice){ 0 };
    tuning_set_layout(&chosen, 4, &l);
    CHECK(chosen.n_order == 4 && chosen.order[0] == 1 && chosen.order[3] == 2);
    CHECK(chosen.n_buckets == 2 && chosen.bucket[0] == 2);
}

/* No file may grow: sharing memory fails.  A plan that has it shared is refused, as its bits would
 * be others; without a plan all go on with messages, and the board tells why.
 */
static void unshared_body(struct eddis *e, int rank, struct loop_job *j)
{
    float value[4] = { 0 };
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "x",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = value };
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, "only", EDDIS_LAYER_OTHER, &err), rc;
    const char *reason = board_own(e->board)->choice.reason;

    CHECK(eddis_add_parameter(e, layer, &p, &err) == 0);
    rc = eddis_commit(e, &err);
    CHECK(j->choice || rank > 0 || strstr(reason, "; no memory is shared: making "));
    CHECK(j->choice ? rc < 0 && strstr(err.text, "the plan has workers of a node share memory: ")
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
        struct loop_job j = { .n = 3, .body = unshared_body, .choice = choices[i] };

        for (int r = 0; r < 3; r++)
            j.scenario[r].batch = 43;
        loop_job_board(&j);
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
    struct eddis_error err = { 0 };
    int64_t fixed_ns = 2 * CLOCK_MS, sample_ns = CLOCK_MS / 10 * (rank + 1), least;

    __atomic_add_fetch(&loop_job_failures, scenario_run(e, &j->scenario[rank]), __ATOMIC_RELAXED);
    CHECK(eddis_barrier(e, CLOCK_S * 60, &err) == 0);
    loop_job_page(j, rank, &p);
    least = p.samples_done * sample_ns + (p.samples_done ? p.steps_done * fixed_ns : 0);
    /* the update behind the wait counts too, and is spared in the next step */
    CHECK(p.sum.total_ns >= least - CLOCK_MS);
}

/* One worker has nobody to wait for, whose device may be slow in its stead. */
static void test_emulate(int n, int batch)
{
    struct loop_job j = { .n = n, .body = emulate_body, .emulated = 1 };

    loop_job_board(&j);
    for (int i = 0; i < n; i++)
        j.scenario[i].batch = batch;
    loop_job_run(&j);
}

/* ---- endings ---- */

static int add_to(struct eddis *e, const char *name, size_t n, enum eddis_dtype type, void *value,
                  void *result)
{
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = name,
                                 .dtype = type,
                                 .n_dims = 1,
                                 .dims = { (int64_t)n },
                                 .value = value,
                                 .result = result };
    struct eddis_error err = { 0 };
    int layer = eddis_add_layer(e, name, EDDIS_LAYER_OTHER, &err);

    return eddis_add_parameter(e, layer, &p, &err);
}

static int add_one(struct eddis *e, const char *name, size_t n, enum eddis_dtype type, void *value)
{
    return add_to(e, name, n, type, value, NULL);
}

enum { READ_AHEAD = 25 };

static void *read_ahead(void *arg)
{
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };

    CHECK(eddis_plan_step(arg, READ_AHEAD, EDDIS_FOREVER, &s, &err) == -ECONNABORTED);
    return NULL;
}

/* Ranks 1 and 2 have reported a new plan, so what is read ahead waits for the agreement; then rank
 * 0 ends the job.  Every call fails, none hangs, and nothing freed is touched.
 */
static void abort_body(struct eddis *e, int rank, struct loop_job *j)
{
    static const int64_t split[MAX_RANKS] = { 20, 3, 20 };
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    int64_t begun;
    float value = 0;
    int x = 1;
    pthread_t reader;

    add_one(e, "only", 1, EDDIS_FLOAT32, &value);
    CHECK(eddis_commit(e, &err) == 0);
    if (rank == 0)
        loop_job_publish(j, split, 0);
    CHECK(eddis_barrier(e, 60 * CLOCK_S, &err) == 0 && eddis_step_begin(e, &s, &err) == 1);
    if (rank == 0) {
        while (atomic_load(&j->opened) < 2)
            usleep(1000);
        comm_thread_abort(e->comm_thread, 3);
    } else {
        CHECK(eddis_wait(e, CLOCK_S / 20, &err) == -ETIMEDOUT);
        CHECK(pthread_create(&reader, NULL, read_ahead, e) == 0);
        usleep(20000);
        atomic_fetch_add(&j->opened, 1);
    }
    begun = clock_now_ns();
    CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == -ECONNABORTED);
    for (int i = 0; i < 3; i++) {
        CHECK(eddis_allreduce(e, &x, 1, EDDIS_INT32, EDDIS_SUM, 60 * CLOCK_S, &err) ==
              -ECONNABORTED);
        CHECK(eddis_barrier(e, 60 * CLOCK_S, &err) == -ECONNABORTED);
    }
    if (rank != 0)
        pthread_join(reader, NULL);
    CHECK(clock_now_ns() - begun < 30 * CLOCK_S);
}

static void test_abort(void)
{
    struct loop_job j = { .n = 3, .body = abort_body, .broken = -ECONNABORTED };

    for (int i = 0; i < j.n; i++)
        j.scenario[i].read_ahead = READ_AHEAD;
    loop_job_board(&j);
    for (int i = 0; i < 3; i++)
        j.scenario[i].batch = 43;
    loop_job_run(&j);
}

enum { UNDER_WAY = 50000 };

/* Leaving does not drop what all have begun. */
static void close_body(struct eddis *e, int rank, struct loop_job *j)
{
    struct eddis_request *r[2];
    struct eddis_error err = { 0 };
    float value = 0;

    add_one(e, "only", 1, EDDIS_FLOAT32, &value);
    CHECK(eddis_commit(e, &err) == 0);
    for (int i = 0; i < UNDER_WAY; i++)
        j->buffer[rank][i] = (float)rank;
    CHECK(eddis_broadcast_start(e, j->buffer[rank] + UNDER_WAY, sizeof(float), 1, &r[0], &err) ==
          0);
    if (rank == 2)
        usleep(50000);
    CHECK(eddis_allreduce_start(e, j->buffer[rank], UNDER_WAY, EDDIS_FLOAT32, EDDIS_SUM, &r[1],
                                &err) == 0);
}

static void test_close(void)
{
    struct loop_job j = { .n = 3, .body = close_body };

    for (int i = 0; i < 3; i++) {
        j.buffer[i] = calloc(UNDER_WAY + 1, sizeof(float));
        j.buffer[i][UNDER_WAY] = (float)i;
    }
    loop_job_run(&j);
    for (int i = 0; i < 3; i++) {
        CHECK(j.buffer[i][UNDER_WAY] == 1 && j.buffer[i][0] == 3);
        CHECK(j.buffer[i][UNDER_WAY - 1] == 3);
        free(j.buffer[i]);
    }
}

static void *open_without_board(void *arg)
{
    struct loop_rank *r = arg;
    struct eddis_options o = scenario_options(&r->j->scenario[0]);
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    int rc = worker_open(
        &(struct worker_setup){ .open_transport = loop_job_open,
                                .open_arg = r,
                                .board_path = r->rank == 1 ? "/nonexistent/b" : r->j->path,
                                .local_rank = r->rank,
                                .n_local = r->j->n },
        &o, &e, &err);

    CHECK(rc == -ENOENT && strstr(err.text, "/nonexistent/b"));
    if (rc == 0)
        eddis_close(e, &err);
    return NULL;
}

/* One rank cannot find its board: all are told, nobody waits for it. */
static void test_no_board(void)
{
    struct loop_job j = { .n = 3 };
    struct loop_rank rank[3];
    struct eddis_error err;

    loop_job_board(&j);
    CHECK(loop_new(j.n, 0, &j.loop, &err) == 0);
    for (int i = 0; i < 3; i++) {
        rank[i] = (struct loop_rank){ .j = &j, .rank = i };
        CHECK(pthread_create(&rank[i].thread, NULL, open_without_board, &rank[i]) == 0);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(rank[i].thread, NULL);
    loop_free(j.loop);
    board_close(j.board);
    unlink(j.path);
    rmdir(j.dir);
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
    char name[20];

    for (int p = 0; p < MANY; p++) {
        m->n[p] = p == MANY / 2 ? LARGE : 1 + p % 3;
        m->type[p] = p % 100 < 50 ? EDDIS_FLOAT32 : EDDIS_FLOAT64;
        m->value[p] = calloc((size_t)m->n[p], sizeof(double));
        m->gradient[p] = calloc((size_t)m->n[p], sizeof(double));
        m->result[p] = calloc((size_t)m->n[p], sizeof(double));
        for (int i = 0; i < m->n[p]; i++)
            many_put(m, m->value[p], p, i, rank == 1 ? p + i : -1);
        snprintf(name, sizeof name, "p%d", p);
        m->id[p] = add_to(e, name, (size_t)m->n[p], m->type[p], m->value[p],
                          rank == 2 && p % 10 == 0 ? m->result[p] : NULL);
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
    struct eddis_error err = { 0 };

    for (int k = 0; k < MANY; k++) {
        int p = rank == 0 ? k : rank == 1 ? MANY - 1 - k : k * 7 % MANY;
        double *g = m->gradient[p];

        if (rank == 2 && p % 10 == 5)
            CHECK(eddis_announce(e, m->id[p], EDDIS_ZERO, m->result[p], &err) == 0);
        if (rank == 2 && p % 5 == 0)
            continue; /* every tenth has a result of its own */
        if (p % 3 == 2)
            g = eddis_gradient(e, m->id[p]);
        for (int i = 0; i < m->n[p]; i++)
            many_put(m, g, p, i, (rank + 1) * (p % 64 + i % 8 + step));
        CHECK(eddis_announce(e, m->id[p], p % 3 == 2 ? NULL : g,
                             p % 3 == 0   ? g
                             : p % 6 == 1 ? EDDIS_IN_PLACE
                             : p % 6 == 4 ? m->result[p]
                                          : NULL,
                             &err) == 0);
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
    struct eddis_error err = { 0 };

    (void)j;
    CHECK(eddis_commit(e, &err) == 0 && eddis_broadcast_parameters(e, 1, &err) == 0);
    for (int p = 0; p < MANY; p++)
        CHECK(many_get(m, m->value[p], p, m->n[p] - 1) == p + m->n[p] - 1);
    for (int step = 0; step < MANY_STEPS; step++) {
        struct eddis_step s = { .size = sizeof s };
        int x = 1;

        CHECK(eddis_step_begin(e, &s, &err) == 1);
        many_announce(e, m, rank, step);
        CHECK(eddis_allreduce(e, &x, 1, EDDIS_INT32, EDDIS_SUM, 60 * CLOCK_S, &err) == 0 && x == 3);
        for (int p = 0; rank == 1 && p < MANY; p += 10)
            CHECK(eddis_wait_layer(e, p, 60 * CLOCK_S, &err) == 0);
        CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0);
        many_check(e, m, rank, step);
        CHECK(eddis_step_end(e, NULL, &err) == 0);
    }
    many_free(m);
}

static void test_many(void)
{
    static const int64_t split[MAX_RANKS] = { 16, 32, 16 };
    struct loop_job j = { .n = 3, .body = many_body };

    for (int i = 0; i < 3; i++)
        j.scenario[i].batch = 64;
    loop_job_board_of(&j, split);
    loop_job_run(&j);
}

static void test_fork(void)
{
    struct eddis_options o = { .size = sizeof o, .samples = 10, .epochs = 1 };
    struct eddis_error err = { 0 };
    struct eddis *e = NULL;
    int status = 1;
    pid_t child;

    CHECK(worker_open(&(struct worker_setup){ .n_local = 1 }, &o, &e, &err) == 0);
    child = fork();
    if (child == 0)
        _exit(eddis_commit(e, &err) == -EPERM && eddis_close(e, &err) == -EPERM ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(eddis_close(e, &err) == 0);
    o.samples = -1;
    CHECK(worker_open(&(struct worker_setup){ .n_local = 1 }, &o, &e, &err) == -EINVAL);
    o = (struct eddis_options){ .size = sizeof o, .samples = 10, .read_ahead = 65 };
    CHECK(worker_open(&(struct worker_setup){ .n_local = 1 }, &o, &e, &err) == -EINVAL);
    CHECK(strstr(err.text, "read_ahead is 65"));
    for (int i = -1; i <= 3; i += 4) {
        o = (struct eddis_options){ .size = sizeof o, .samples = 10, .close_at_exit = i };
        CHECK(worker_open(&(struct worker_setup){ .n_local = 1 }, &o, &e, &err) == -EINVAL);
        CHECK(strstr(err.text, i < 0 ? "close_at_exit is -1" : "close_at_exit is 3"));
    }
    CHECK(eddis_close(NULL, &err) == 0 && eddis_commit(NULL, &err) == -EINVAL);
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
    struct eddis_step s = { .size = sizeof s };
    struct eddis_error err = { 0 };
    double begun;

    CHECK(eddis_step_begin(e, &s, &err) == 1);
    begun = cpu_s();
    for (int i = layers - 1; i >= 0; i--)
        CHECK(eddis_announce_layer(e, i, &err) == 0);
    for (int i = layers - 1; i >= 0; i--)
        CHECK(eddis_wait_layer(e, i, 60 * CLOCK_S, &err) == 0);
    CHECK(eddis_wait(e, 60 * CLOCK_S, &err) == 0);
    begun = cpu_s() - begun;
    CHECK(eddis_step_end(e, NULL, &err) == 0);
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
    struct eddis_parameter p = { .size = sizeof p,
                                 .name = "w",
                                 .dtype = EDDIS_FLOAT32,
                                 .n_dims = 1,
                                 .dims = { 4 },
                                 .value = value };
    struct eddis_error err = { 0 };
    double least = 1e9;

    for (int i = 0; i < g->layers; i++)
        CHECK(eddis_add_parameter(e, eddis_add_layer(e, "l", EDDIS_LAYER_OTHER, &err), &p, &err) ==
              i);
    CHECK(eddis_commit(e, &err) == 0);
    for (int i = 0; i < GROWTH_STEPS; i++) {
        double s = growth_step(e, g->layers);

        least = s < least ? s : least;
    }
    if (rank == 0)
        g->least_s = least;
}

static double growth_of(int n, int measured, int layers)
{
    struct growth g = { .layers = layers };
    struct loop_job j = { .n = n, .body = growth_body, .arg = &g };

    for (int i = 0; i < n; i++)
        j.scenario[i] = (struct scenario){ .batch = 43, .measured = measured };
    loop_job_run(&j);
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

        if (ratio > GROWTH_MOST)
            fprintf(stderr, "row %zu: %d layers take %.0f times as long as %d\n", i, LAYERS_MANY,
                    ratio, LAYERS_FEW);
        CHECK(ratio <= GROWTH_MOST);
    }
}

int main(void)
{
    test_fork();
    for (int n = 1; n <= 4; n++)
        test_train(n);
    test_train(7);
    test_plans();
    test_stop();
    test_board();
    test_choice();
    test_passing();
    test_choice_layout();
    test_choice_unshared();
    test_emulate(1, 13);
    test_emulate(3, 43);
    test_no_board();
    test_close();
    test_abort();
    test_many();
    test_growth();
    if (loop_job_failures)
        fprintf(stderr, "%d failures\n", loop_job_failures);
    return loop_job_failures != 0;
}
