/* SPDX-License-Identifier: Apache-2.0 */
/* test_wire.c - engines whose gradients travel as 16 bits between hosts, beside the same engines
 * with float32: bits of ranks, distance of sums, bytes sent, and what is not narrowed. */
#include "bench/loop_thread.h"

#include "lib/base/random.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum { RANKS = 5, MOST_RANKS = 16, PARAMETERS = 3, LONGEST = 30000, STEPS = 10 };

static const size_t lengths[PARAMETERS] = { LONGEST, 7, 7000 };

struct job {
    int ranks;
    enum comm_type type;
    bool hosts;
    struct sync_options options;
    int64_t sent_bytes;
    double sum[STEPS][PARAMETERS][LONGEST]; /* what rank 0 has */
};

static struct job exact, narrow;

static void *slot(struct engine *const *e, int r, int i)
{
    return engine_slot(e[r], i);
}

/* Gradients of unlike sizes, as those of layers are, which fall in time. */
static double draw(uint64_t *random, int i, int step)
{
    return (2 * random_unit(random) - 1) * pow(10, -i) / (1 + 5 * step);
}

static void store(enum comm_type type, void *to, size_t k, double v)
{
    if (type == COMM_FLOAT32)
        ((float *)to)[k] = (float)v;
    else
        ((double *)to)[k] = v;
}

static double load(enum comm_type type, const void *from, size_t k)
{
    return type == COMM_FLOAT32 ? (double)((const float *)from)[k] : ((const double *)from)[k];
}

static void one_step(struct job *j, struct engine *const *e, struct loop_thread *loop, int step)
{
    uint64_t random = (uint64_t)step + 1;

    for (int r = 0; r < j->ranks; r++)
        engine_begin(e[r], &(struct engine_step){ step, r + 1, j->ranks * (j->ranks + 1) / 2 }, 0);
    for (int i = PARAMETERS - 1; i >= 0; i--)
        for (int r = 0; r < j->ranks; r++) {
            for (size_t k = 0; k < lengths[i]; k++)
                store(j->type, slot(e, r, i), k, draw(&random, i, step));
            ck_assert_int_eq(loop_thread_announce(
                                 loop, r, &(struct engine_announcement){ .parameter = i }, NULL),
                             0);
        }
    ck_assert_int_eq(loop_thread_run(loop, step, NULL), 0);
    for (int i = 0; i < PARAMETERS; i++) {
        size_t bytes = lengths[i] * comm_type_bytes(j->type);

        for (int r = 1; r < j->ranks; r++)
            ck_assert(memcmp(slot(e, r, i), slot(e, 0, i), bytes) == 0);
        for (size_t k = 0; k < lengths[i]; k++)
            j->sum[step][i][k] = load(j->type, slot(e, 0, i), k);
    }
}

static void run(struct job *j)
{
    struct engine_parameter p[PARAMETERS];
    struct engine *e[MOST_RANKS];
    struct loop_thread *loop;

    for (int i = 0; i < PARAMETERS; i++)
        p[i] = (struct engine_parameter){ lengths[i], j->type };
    for (int r = 0; r < j->ranks; r++)
        ck_assert_int_eq(engine_new(
                             &(struct engine_options){
                                 .place = { .rank = r, .n_ranks = j->ranks, .hosts = j->hosts },
                                 .algorithm = "allreduce",
                                 .options = j->options,
                                 .parameter = p,
                                 .n_parameters = PARAMETERS },
                             &e[r], NULL),
                         0);
    ck_assert_int_eq(loop_thread_new(e, j->ranks, 3, &loop, NULL), 0);
    for (int step = 0; step < STEPS; step++)
        one_step(j, e, loop, step);
    j->sent_bytes = 0;
    for (int r = 0; r < j->ranks; r++)
        j->sent_bytes += loop_thread_sent_bytes(loop, r);
    loop_thread_free(loop);
    for (int r = 0; r < j->ranks; r++)
        engine_free(e[r]);
}

/* |narrow - exact| / |exact| of a step's gradient. */
static double distance(int step)
{
    double apart = 0, all = 0;

    for (int i = 0; i < PARAMETERS; i++)
        for (size_t k = 0; k < lengths[i]; k++) {
            double x = exact.sum[step][i][k], y = narrow.sum[step][i][k];

            apart += (x - y) * (x - y);
            all += x * x;
        }
    return sqrt(apart / all);
}

static const enum sync_wire wires[] = { SYNC_WIRE_BFLOAT16, SYNC_WIRE_FLOAT16 };

/* Loop: wires, of few ranks and of many. */
START_TEST(sums_are_near_and_alike)
{
    exact =
        (struct job){ .ranks = _i < 2 ? RANKS : MOST_RANKS, .type = COMM_FLOAT32, .hosts = true };
    narrow = exact;
    narrow.options.wire = wires[_i % 2];
    run(&exact);
    run(&narrow);
    for (int step = 0; step < STEPS; step++) {
        ck_assert_double_lt(distance(step), 0.01);
        ck_assert_double_gt(distance(step), 0);
    }
    ck_assert_int_lt(narrow.sent_bytes, 0.6 * (double)exact.sent_bytes);
}
END_TEST

/* float64, and hosts that there is but one of. */
START_TEST(what_is_not_narrowed)
{
    exact = (struct job){ .ranks = RANKS, .type = _i ? COMM_FLOAT32 : COMM_FLOAT64, .hosts = !_i };
    narrow = exact;
    narrow.options.wire = SYNC_WIRE_BFLOAT16;
    run(&exact);
    run(&narrow);
    for (int step = 0; step < STEPS; step++)
        ck_assert_double_eq(distance(step), 0);
    ck_assert_int_eq(narrow.sent_bytes, exact.sent_bytes);
}
END_TEST

/* ---- weights of the program's own ---- */

static const struct weighed {
    enum comm_type type;
    bool hosts;
    enum sync_wire wire;
    double weight, gradient; /* the first rank's weight; the others' are more */
} weighed[] = { { COMM_FLOAT16, false, SYNC_WIRE_FLOAT32, 1e5, 1000 },
                { COMM_FLOAT16, true, SYNC_WIRE_FLOAT32, 1e-3, 1e-3 },
                { COMM_FLOAT32, true, SYNC_WIRE_FLOAT16, 1e5, 1000 },
                { COMM_FLOAT32, true, SYNC_WIRE_FLOAT16, 1e-3, 1e-3 } };

static void fill(enum comm_type type, void *to, size_t n, float v)
{
    for (size_t k = 0; k < n; k++)
        if (type == COMM_FLOAT32)
            ((float *)to)[k] = v;
        else
            comm_to_half(type, (uint16_t *)to + k, &v, 1);
}

static void check_filled(enum comm_type type, const void *from, size_t n, float v)
{
    for (size_t k = 0; k < n; k++) {
        float x = ((const float *)from)[type == COMM_FLOAT32 ? k : 0];

        if (type != COMM_FLOAT32)
            comm_from_half(type, &x, (const uint16_t *)from + k, 1);
        ck_assert_float_eq_tol(x, v, v * 0.005F);
    }
}

/* The batch is far from the sum of weights.  In the last step they are those of samples. */
static void weighed_step(const struct weighed *w, struct engine *const *e, struct loop_thread *loop,
                         int step)
{
    for (int r = 0; r < RANKS; r++) {
        double own = step < 2 ? w->weight * (r + 1) : r + 1;

        engine_begin(e[r], &(struct engine_step){ step, own, RANKS * (RANKS + 1) / 2 }, 0);
    }
    for (int i = PARAMETERS - 1; i >= 0; i--)
        for (int r = 0; r < RANKS; r++) {
            fill(w->type, slot(e, r, i), lengths[i], (float)w->gradient);
            ck_assert_int_eq(loop_thread_announce(
                                 loop, r, &(struct engine_announcement){ .parameter = i }, NULL),
                             0);
        }
    ck_assert_int_eq(loop_thread_run(loop, step, NULL), 0);
    for (int i = 0; i < PARAMETERS; i++)
        for (int r = 0; r < RANKS; r++) {
            ck_assert_int_eq(engine_done_step(e[r], engine_bucket_of(e[r], i)), step);
            check_filled(w->type, slot(e, r, i), lengths[i], (float)w->gradient);
            ck_assert(memcmp(slot(e, r, i), slot(e, 0, i), lengths[i] * comm_type_bytes(w->type)) ==
                      0);
        }
}

/* Loop: weighed.  The mean of equal gradients is each of them. */
START_TEST(weights_of_any_size)
{
    const struct weighed *w = &weighed[_i];
    struct engine_parameter p[PARAMETERS];
    struct engine *e[RANKS];
    struct loop_thread *loop;

    for (int i = 0; i < PARAMETERS; i++)
        p[i] = (struct engine_parameter){ lengths[i], w->type };
    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(engine_new(
                             &(struct engine_options){
                                 .place = { .rank = r, .n_ranks = RANKS, .hosts = w->hosts },
                                 .algorithm = "allreduce",
                                 .options = { .wire = w->wire },
                                 .parameter = p,
                                 .n_parameters = PARAMETERS },
                             &e[r], NULL),
                         0);
    ck_assert_int_eq(loop_thread_new(e, RANKS, 3, &loop, NULL), 0);
    for (int step = 0; step < 3; step++)
        weighed_step(w, e, loop, step);
    loop_thread_free(loop);
    for (int r = 0; r < RANKS; r++)
        engine_free(e[r]);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, weights_of_any_size, 0, sizeof weighed / sizeof *weighed);
    tcase_add_loop_test(tc, sums_are_near_and_alike, 0, 4);
    tcase_add_loop_test(tc, what_is_not_narrowed, 0, 2);
}

SUITE_MAIN("wire", add_tests)
