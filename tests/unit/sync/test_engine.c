/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine.c - properties 1 to 3 of synchronous training, on N engines over the in-process loop:
 * a small least squares problem, its weights in several parameters, by three optimizers in double.
 */
#include "bench/loop_thread.h"
#include "lib/base/random.h"
#include "lib/comm/node_groups.h"
#include "lib/comm/shm_impl.h"
#include "lib/sync/arena.h"
#include "suite.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { MAX_RANKS = 11, PARAMETERS = 5, DIM = 41, BATCH = 24, STEPS = 25, SAMPLES = 240 };

static const size_t lengths[PARAMETERS] = { 3, 20, 1, 10, 7 }; /* DIM in all */

struct problem {
    double x[SAMPLES][DIM], y[SAMPLES];
};

static struct problem problem;

static void set_up(void)
{
    uint64_t random = 17;
    double truth[DIM];

    for (int j = 0; j < DIM; j++)
        truth[j] = random_unit(&random) - 0.5;
    for (int i = 0; i < SAMPLES; i++) {
        problem.y[i] = 0.01 * random_unit(&random);
        for (int j = 0; j < DIM; j++) {
            problem.x[i][j] = random_unit(&random) - 0.5;
            problem.y[i] += truth[j] * problem.x[i][j];
        }
    }
}

/* Mean gradient over count samples from first on. */
static void gradient(const double *w, int first, int count, double *ret)
{
    memset(ret, 0, DIM * sizeof *ret);
    for (int i = first; i < first + count; i++) {
        const double *x = problem.x[i % SAMPLES];
        double e = -problem.y[i % SAMPLES];

        for (int j = 0; j < DIM; j++)
            e += w[j] * x[j];
        for (int j = 0; j < DIM; j++)
            ret[j] += e * x[j] / count;
    }
}

enum { MOMENTUM, NESTEROV, ADAM, OPTIMIZERS };

struct model {
    double w[DIM], v[DIM], squares[DIM];
};

/* To where the gradient is taken. */
static void look_ahead(struct model *m, int optimizer)
{
    for (int j = 0; optimizer == NESTEROV && j < DIM; j++)
        m->w[j] += 0.9 * m->v[j];
}

static void update(struct model *m, int optimizer, int step, const double *g)
{
    double corrected = 0.01 * sqrt(1 - pow(0.999, step + 1)) / (1 - pow(0.9, step + 1));

    for (int j = 0; j < DIM; j++) {
        if (optimizer == MOMENTUM) {
            m->v[j] = 0.9 * m->v[j] + g[j];
            m->w[j] -= 0.05 * m->v[j];
        } else if (optimizer == NESTEROV) {
            m->v[j] = 0.9 * m->v[j] - 0.05 * g[j];
            m->w[j] -= 0.05 * g[j];
        } else {
            m->v[j] = 0.9 * m->v[j] + 0.1 * g[j];
            m->squares[j] = 0.999 * m->squares[j] + 0.001 * g[j] * g[j];
            m->w[j] -= corrected * m->v[j] / (sqrt(m->squares[j]) + 1e-8);
        }
    }
}

static struct model alone, m; /* trained by one process, and by several */

static void train_alone(int optimizer)
{
    double g[DIM];

    alone = (struct model){ 0 };
    for (int t = 0; t < STEPS; t++) {
        look_ahead(&alone, optimizer);
        gradient(alone.w, t * BATCH, BATCH, g);
        update(&alone, optimizer, t, g);
    }
}

struct trial {
    int ranks;
    int split[MAX_RANKS]; /* samples of each rank */
    double weight[MAX_RANKS];
    int optimizer;
    bool resplit; /* anew at every step */
    enum comm_type type;
    size_t bucket_bytes;
    uint64_t seed;
    bool shuffle;  /* announce in random orders, the ranks at random moments */
    bool separate; /* gradients and results in the program's own memory */
    int nodes;     /* ranks are dealt to so many and share their memory; 0: messages */
    bool in_place; /* results are read where they are */
    int64_t sent_bytes;
    int empty; /* steps of ranks without samples */
};

struct workers {
    struct trial *t;
    struct engine *engine[MAX_RANKS];
    struct loop_thread *loop;
    struct node_groups *nodes[MAX_RANKS];
    double own[MAX_RANKS][DIM]; /* of either type */
    double result[MAX_RANKS][DIM];
    struct model model[MAX_RANKS];
};

static size_t offset_of(int parameter)
{
    size_t at = 0;

    while (parameter-- > 0)
        at += lengths[parameter];
    return at;
}

static void store(enum comm_type type, void *to, const double *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (type == COMM_FLOAT32)
            ((float *)to)[i] = (float)from[i];
        else
            ((double *)to)[i] = from[i];
}

static void load(enum comm_type type, double *to, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = type == COMM_FLOAT32 ? ((const float *)from)[i] : ((const double *)from)[i];
}

/* Memory of every node, opened by each of its ranks as another process would. */
static void workers_share(struct workers *w, size_t bytes)
{
    const struct comm_shm_size size = { .arena_bytes = bytes, .slots = PARAMETERS + 2 };
    int node_of[MAX_RANKS];

    for (int r = 0; r < w->t->ranks; r++)
        node_of[r] = r % w->t->nodes;
    for (int r = 0; r < w->t->ranks; r++) {
        struct node_groups *n;
        struct shm_region_mark mark;

        ck_assert_int_eq(node_groups_new(&(struct comm_place){ r, w->t->ranks }, node_of, &n, NULL),
                         0);
        w->nodes[r] = n;
        if (n->here == 0) {
            ck_assert_int_eq(shm_make(n->n_here, &size, &n->shm, NULL), 0);
            continue;
        }
        ck_assert_int_eq(shm_describe(w->nodes[n->member[0]]->shm, &mark, NULL), 0);
        ck_assert_int_eq(shm_attach(&mark, n->here, n->n_here, &size, &n->shm, NULL), 0);
    }
}

/* Only the last bucket's tail carries what ranks agree on, whichever bucket ends last. */
static void mark_tail(void *arg, struct sync_trailer *tail)
{
    (void)arg;
    tail->version = 5;
}

static void check_tail(void *arg, int64_t step, const struct sync_trailer *tail)
{
    (void)arg;
    (void)step;
    ck_assert_int_eq(tail->version, 5);
}

static void workers_open(struct workers *w, struct trial *t)
{
    struct engine_parameter p[PARAMETERS];
    size_t bytes = 0;

    *w = (struct workers){ .t = t };
    for (int i = 0; i < PARAMETERS; i++) {
        p[i] = (struct engine_parameter){ lengths[i], t->type };
        bytes += arena_slot_bytes(lengths[i], t->type);
    }
    if (t->nodes)
        workers_share(w, arena_bytes(bytes));
    for (int r = 0; r < t->ranks; r++)
        ck_assert_int_eq(engine_new(
                             &(struct engine_options){
                                 .place = { .rank = r, .n_ranks = t->ranks, .nodes = w->nodes[r] },
                                 .algorithm = "allreduce",
                                 .bucket_bytes = t->bucket_bytes,
                                 .cost = { 1e-5, 1e9 },
                                 .parameter = p,
                                 .n_parameters = PARAMETERS,
                                 .hooks = { .report = mark_tail, .agreed = check_tail } },
                             &w->engine[r], NULL),
                         0);
    ck_assert_int_eq(loop_thread_new(w->engine, t->ranks, t->seed, &w->loop, NULL), 0);
}

static void workers_close(struct workers *w)
{
    for (int r = 0; r < w->t->ranks; r++)
        w->t->sent_bytes += loop_thread_sent_bytes(w->loop, r);
    loop_thread_free(w->loop);
    for (int r = 0; r < w->t->ranks; r++)
        engine_free(w->engine[r]);
    for (int r = 0; r < w->t->ranks && w->t->nodes; r++) {
        comm_shm_close(w->nodes[r]->shm);
        node_groups_free(w->nodes[r]);
    }
}

static void *own_memory(struct workers *w, double (*of)[DIM], int rank, int parameter)
{
    size_t width = comm_type_bytes(w->t->type);

    return (char *)of[rank] + offset_of(parameter) * width;
}

static void announce(struct workers *w, int rank, int parameter, const double *g)
{
    struct engine_announcement a = { .parameter = parameter };
    void *to = w->t->separate ? own_memory(w, w->own, rank, parameter)
                              : engine_slot(w->engine[rank], parameter);

    store(w->t->type, to, g + offset_of(parameter), lengths[parameter]);
    if (w->t->separate) {
        a.source = to;
        a.result = own_memory(w, w->result, rank, parameter);
    }
    if (w->t->in_place)
        a.result = ENGINE_IN_PLACE;
    ck_assert_int_eq(loop_thread_announce(w->loop, rank, &a, NULL), 0);
}

static void result(struct workers *w, int rank, double *g)
{
    for (int i = 0; i < PARAMETERS; i++)
        load(w->t->type, g + offset_of(i),
             w->t->in_place   ? engine_result(w->engine[rank], i)
             : w->t->separate ? own_memory(w, w->result, rank, i)
                              : engine_slot(w->engine[rank], i),
             lengths[i]);
}

/* Announce everything on all ranks in an order of the seed's, moving messages in between. */
static void announce_all(struct workers *w, double g[][DIM], uint64_t *random)
{
    int order[MAX_RANKS * PARAMETERS], n = w->t->ranks * PARAMETERS;

    for (int i = 0; i < n; i++)
        order[i] = n - 1 - i;
    for (int i = n - 1; w->t->shuffle && i > 0; i--) {
        int j = (int)random_below(random, (uint64_t)i + 1), k = order[i];

        order[i] = order[j];
        order[j] = k;
    }
    for (int i = 0; i < n; i++) {
        int rank = order[i] / PARAMETERS;

        announce(w, rank, order[i] % PARAMETERS, g[rank]);
        while (w->t->shuffle && random_below(random, 2))
            ck_assert_int_ge(loop_thread_step(w->loop, NULL), 0);
    }
}

/* A random split of the batch, with zeros among it. */
static void trial_split(struct trial *t, uint64_t *random)
{
    for (int r = 0; r < t->ranks; r++)
        t->split[r] = 0;
    for (int i = 0; i < BATCH; i++) {
        uint64_t a = random_below(random, (uint64_t)t->ranks);
        uint64_t b = random_below(random, (uint64_t)t->ranks);

        t->split[a < b ? a : b]++;
    }
    for (int r = 0; r < t->ranks; r++)
        t->weight[r] = t->split[r];
}

static void train(struct trial *t)
{
    static struct workers w;
    static double g[MAX_RANKS][DIM];
    uint64_t random = t->seed;

    workers_open(&w, t);
    for (int step = 0; step < STEPS; step++) {
        int first = step * BATCH;

        if (t->resplit)
            trial_split(t, &random);
        for (int r = 0; r < t->ranks; r++) {
            engine_begin(w.engine[r], &(struct engine_step){ step, t->weight[r], BATCH }, 0);
            look_ahead(&w.model[r], t->optimizer);
            gradient(w.model[r].w, first, t->split[r], g[r]);
            for (int j = 0; j < DIM && !t->split[r]; j++)
                g[r][j] = NAN; /* what it has must not be looked at */
            t->empty += !t->split[r];
            first += t->split[r];
        }
        announce_all(&w, g, &random);
        ck_assert_int_eq(loop_thread_run(w.loop, step, NULL), 0);
        for (int r = 0; r < t->ranks; r++) {
            result(&w, r, g[r]);
            ck_assert_mem_eq(g[r], g[0], sizeof g[r]);
            update(&w.model[r], t->optimizer, step, g[r]);
        }
    }
    for (int r = 0; r < t->ranks; r++) {
        ck_assert_mem_eq(&w.model[r], &w.model[0], sizeof w.model[0]);
        ck_assert_int_eq(engine_layouts(w.engine[r]), t->bucket_bytes || t->ranks == 1 ? 1 : 2);
    }
    m = w.model[0];
    workers_close(&w);
}

/* Return how far the two models are apart. */
static double distance(void)
{
    double d = 0, n = 0;

    for (int j = 0; j < DIM; j++) {
        d += (m.w[j] - alone.w[j]) * (m.w[j] - alone.w[j]);
        n += alone.w[j] * alone.w[j];
    }
    return sqrt(d / n);
}

START_TEST(property_1_any_split_equals_one_process)
{
    static const size_t buckets[] = { 1, 100, 1 << 20, 0 }; /* 0: as measured */
    uint64_t random = 4;

    train_alone(MOMENTUM);
    for (int ranks = 1; ranks <= MAX_RANKS; ranks++)
        for (int k = 0; k < 8; k++) {
            struct trial t = { .ranks = ranks,
                               .type = k < 4 ? COMM_FLOAT32 : COMM_FLOAT64,
                               .bucket_bytes = buckets[k % 4],
                               .shuffle = k % 3,
                               .separate = k % 2,
                               .seed = 1 + random_next(&random) % 1000 };

            trial_split(&t, &random);
            train(&t);
            ck_assert_double_le(distance(), t.type == COMM_FLOAT64 ? 1e-12 : 1e-6);
        }
}
END_TEST

/* What an optimizer remembers of the steps before is the same too, whatever the splits of these
 * were; 1e-12 is what orders of summation may change in double, 1e-6 in float.
 */
START_TEST(property_1_with_momentum_nesterov_and_adam)
{
    static const int ranks[] = { 1, 2, 3, 5, 8, MAX_RANKS };
    int empty = 0;

    train_alone(_i);
    for (int k = 0; k < 2 * (int)(sizeof ranks / sizeof *ranks); k++) {
        struct trial t = { .ranks = ranks[k / 2],
                           .optimizer = _i,
                           .resplit = true,
                           .type = k % 2 ? COMM_FLOAT32 : COMM_FLOAT64,
                           .bucket_bytes = 100,
                           .shuffle = true,
                           .seed = (uint64_t)k + 1 };
        double far;

        train(&t);
        far = distance();
        ck_assert_msg(far <= (t.type == COMM_FLOAT64 ? 1e-12 : 1e-6), "%d ranks are %g away",
                      t.ranks, far);
        empty += t.empty;
    }
    ck_assert_int_gt(empty, STEPS);
}
END_TEST

/* The same test must notice a mean that takes unequal workers for equal. */
START_TEST(property_1_plain_mean_fails)
{
    struct trial t = { .ranks = 3,
                       .optimizer = _i,
                       .split = { 3, 6, 15 },
                       .weight = { 8, 8, 8 },
                       .type = COMM_FLOAT64,
                       .bucket_bytes = 64,
                       .seed = 3 };

    train_alone(_i);
    train(&t);
    ck_assert_double_gt(distance(), 1e-3);
    memcpy(t.weight, (double[]){ 3, 6, 15 }, 3 * sizeof(double));
    train(&t);
    ck_assert_double_le(distance(), 1e-12);
}
END_TEST

/* Nothing changes when gradients lie in memory that ranks share, on one node or several, nor when
 * results are read where they are.
 */
START_TEST(property_1_in_shared_memory)
{
    static const size_t buckets[] = { 1, 100, 0 };
    uint64_t random = 4;

    train_alone(MOMENTUM);
    for (int ranks = 1; ranks <= MAX_RANKS; ranks += ranks < 4 ? 1 : 3)
        for (int k = 0; k < 12; k++) {
            struct trial t = { .ranks = ranks,
                               .type = k < 6 ? COMM_FLOAT32 : COMM_FLOAT64,
                               .bucket_bytes = buckets[k % 3],
                               .shuffle = k % 5,
                               .separate = k % 2,
                               .nodes = _i,
                               .in_place = k % 4 > 1,
                               .seed = 1 + random_next(&random) % 1000 };

            trial_split(&t, &random);
            for (int r = 0; r < ranks && k % 7 == 0; r++)
                t.weight[r] *= 1e5; /* in any unit */
            train(&t);
            ck_assert_double_le(distance(), t.type == COMM_FLOAT64 ? 1e-12 : 1e-6);
        }
}
END_TEST

/* Weights that do not add up to the batch count by their proportions. */
START_TEST(weights_of_any_sum)
{
    struct trial t = { .ranks = 3,
                       .split = { 3, 6, 15 },
                       .weight = { 3e5, 6e5, 15e5 },
                       .type = COMM_FLOAT64,
                       .bucket_bytes = 64,
                       .separate = true,
                       .seed = 3 };

    train_alone(MOMENTUM);
    train(&t);
    ck_assert_double_le(distance(), 1e-12);
}
END_TEST

START_TEST(property_2_same_bits_everywhere_and_again)
{
    struct model first;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        /* Unlike orders of announcement and delivery: the same bits. */
        struct trial t = { .ranks = 5,
                           .split = { 1, 7, 0, 10, 6 },
                           .weight = { 1, 7, 0, 10, 6 },
                           .type = COMM_FLOAT32,
                           .bucket_bytes = 100,
                           .shuffle = true,
                           .seed = seed };

        train(&t);
        if (seed == 1)
            first = m;
        ck_assert_mem_eq(&m, &first, sizeof m);
    }
}
END_TEST

START_TEST(property_3_a_rank_without_samples_changes_nothing)
{
    struct trial two = { .ranks = 2, .split = { 9, 15 }, .weight = { 9, 15 } };
    struct trial three = { .ranks = 3, .split = { 9, 15, 0 }, .weight = { 9, 15, 0 } };
    struct model first;

    two.type = three.type = COMM_FLOAT32;
    two.bucket_bytes = three.bucket_bytes = 1 << 20;
    two.seed = three.seed = 8;
    train(&two);
    first = m;
    train(&three);
    ck_assert_mem_eq(&first, &m, sizeof m); /* x + 0 is x: even the bits */
}
END_TEST

/* One step of ranks whose buckets fill in unlike orders; a thousand of them end. */
START_TEST(property_3_no_order_deadlocks)
{
    static struct workers w;
    static double g[MAX_RANKS][DIM];

    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct trial t = { .ranks = 2 + (int)(seed % 5),
                           .type = COMM_FLOAT32,
                           .bucket_bytes = 1,
                           .shuffle = true,
                           .seed = seed };
        uint64_t random = seed;

        workers_open(&w, &t);
        for (int r = 0; r < t.ranks; r++) {
            engine_begin(w.engine[r], &(struct engine_step){ 0, 1, t.ranks }, 0);
            for (int j = 0; j < DIM; j++)
                g[r][j] = r + j;
        }
        announce_all(&w, g, &random);
        ck_assert_int_eq(loop_thread_run(w.loop, 0, NULL), 0);
        result(&w, 0, g[0]);
        ck_assert_double_eq_tol(g[0][7], 7 + (t.ranks - 1) / 2.0, 1e-5);
        workers_close(&w);
    }
}
END_TEST

/* What a rank never announced counts as zero; with no parameter at all a step ends too. */
START_TEST(not_announced_is_zero)
{
    struct trial t = {
        .ranks = 2, .type = COMM_FLOAT64, .bucket_bytes = 100, .seed = 2, .separate = true
    };
    static struct workers w;
    double g[DIM];

    workers_open(&w, &t);
    for (int i = 0; i < DIM; i++)
        g[i] = 8;
    for (int r = 0; r < 2; r++)
        engine_begin(w.engine[r], &(struct engine_step){ 0, 3, 6 }, 0);
    announce(&w, 0, 1, g);
    announce(&w, 0, 3, g);
    announce(&w, 1, 3, g);
    ck_assert_int_eq(loop_thread_run(w.loop, 0, NULL), -EDEADLK);
    ck_assert_int_eq(loop_thread_finish(w.loop, 0, NULL), 0);
    ck_assert_int_eq(loop_thread_finish(w.loop, 1, NULL), 0);
    ck_assert_int_eq(loop_thread_run(w.loop, 0, NULL), 0);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < PARAMETERS; i++) {
            bool given = r == 0 ? i == 1 || i == 3 : i == 3; /* has a result pointer */
            const double *x = given ? own_memory(&w, w.result, r, i) : engine_slot(w.engine[r], i);

            for (size_t k = 0; k < lengths[i]; k++)
                ck_assert_double_eq(x[k], i == 1 ? 4 : i == 3 ? 8 : 0);
        }
    workers_close(&w);
}
END_TEST

START_TEST(a_step_without_parameters)
{
    struct engine *e[2];
    struct loop_thread *d;

    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(engine_new(&(struct engine_options){ .place = { r, 2 },
                                                              .algorithm = "allreduce",
                                                              .bucket_bytes = 1 },
                                    &e[r], NULL),
                         0);
    ck_assert_int_eq(loop_thread_new(e, 2, 1, &d, NULL), 0);
    for (int step = 0; step < 3; step++) {
        for (int r = 0; r < 2; r++) {
            engine_begin(e[r], &(struct engine_step){ step, 1, 2 }, 0);
            ck_assert_int_eq(loop_thread_finish(d, r, NULL), 0);
        }
        ck_assert_int_eq(loop_thread_run(d, step, NULL), 0);
    }
    loop_thread_free(d);
    engine_free(e[0]);
    engine_free(e[1]);
}
END_TEST

/* u' v with a mean's 1/count in it, weighted like any gradient. */
START_TEST(factors)
{
    struct engine_parameter p = { 6, COMM_FLOAT32 };
    float u[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }; /* [k = 2, m = 2] of either rank */
    float v[2][6] = { { 1, 0, 2, 0, 1, 1 }, { 3, 1, 0, 0, 2, 1 } };
    double want[6] = { 0 };
    struct engine *e[2];
    struct loop_thread *d;

    for (int r = 0; r < 2; r++)
        ck_assert_int_eq(engine_new(&(struct engine_options){ .place = { r, 2 },
                                                              .algorithm = "allreduce",
                                                              .bucket_bytes = 100,
                                                              .parameter = &p,
                                                              .n_parameters = 1 },
                                    &e[r], NULL),
                         0);
    ck_assert_int_eq(loop_thread_new(e, 2, 1, &d, NULL), 0);
    for (int r = 0; r < 2; r++) {
        double weight = r ? 3 : 1;

        engine_begin(e[r], &(struct engine_step){ 0, weight, 4 }, 0);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 3; j++)
                    want[i * 3 + j] += weight / 4 * u[r][k * 2 + i] * v[r][k * 3 + j];
        ck_assert_int_eq(
            loop_thread_announce(d, r,
                                 &(struct engine_announcement){
                                     .parameter = 0, .u = u[r], .v = v[r], .k = 2, .m = 2, .n = 3 },
                                 NULL),
            0);
    }
    ck_assert_int_eq(loop_thread_run(d, 0, NULL), 0);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 6; i++)
            ck_assert_double_eq_tol(((float *)engine_slot(e[r], 0))[i], want[i], 1e-5);
    loop_thread_free(d);
    engine_free(e[0]);
    engine_free(e[1]);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, property_1_any_split_equals_one_process);
    tcase_add_loop_test(tc, property_1_with_momentum_nesterov_and_adam, 0, OPTIMIZERS);
    tcase_add_loop_test(tc, property_1_plain_mean_fails, 0, OPTIMIZERS);
    tcase_add_loop_test(tc, property_1_in_shared_memory, 1, 4);
    tcase_add_test(tc, weights_of_any_sum);
    tcase_add_test(tc, property_2_same_bits_everywhere_and_again);
    tcase_add_test(tc, property_3_a_rank_without_samples_changes_nothing);
    tcase_add_test(tc, property_3_no_order_deadlocks);
    tcase_add_test(tc, not_announced_is_zero);
    tcase_add_test(tc, a_step_without_parameters);
    tcase_add_test(tc, factors);
}

SUITE_MAIN("engine", add_tests)
