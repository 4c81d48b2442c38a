/* SPDX-License-Identifier: Apache-2.0 */
/* test_modes.c - tests of scheduler/modes.h */
#include "scheduler/modes.h"

#include "suite.h"

#include <math.h>

/* The mix: four each of four speeds, a step of 10 ms + 4 ms * b / speed. */
static const double speeds[] = { 1, 0.6, 0.35, 0.15 };
static const int64_t batches[] = { 61, 37, 21, 9 };

static struct modes_worker worker[16];

/* As 16 nodes of one worker, or as 4 of four unlike ones. */
static struct modes_setup mix(int n_nodes, double bytes_per_s)
{
    for (int i = 0; i < 16; i++) {
        int k = n_nodes == 4 ? i % 4 : i / 4;

        worker[i] = (struct modes_worker){ .t = { 0.010, 0.004 / speeds[k] },
                                           .batch = batches[k],
                                           .node = n_nodes == 4 ? i / 4 : i };
    }
    return (struct modes_setup){ .worker = worker,
                                 .n = 16,
                                 .n_nodes = n_nodes,
                                 .model_bytes = 4000000,
                                 .bucket_bytes = 1 << 18,
                                 .latency_s = 1e-4,
                                 .bytes_per_s = bytes_per_s };
}

static double ideal(const struct modes_setup *s)
{
    double sum = 0;

    for (int i = 0; i < s->n; i++)
        sum += (double)s->worker[i].batch / time_model_s(&s->worker[i].t, s->worker[i].batch);
    return sum;
}

static double elastic(const struct modes_setup *s, const int *group, int64_t period)
{
    double ret;

    ck_assert_int_eq(modes_elastic(s, group, period, &ret, NULL), 0);
    return ret;
}

static double sync_of(const struct modes_setup *s)
{
    return modes_sync(s);
}

/* Half the bytes travel between nodes, and none inside one: as with twice the link, but for what
 * the converting takes.
 */
START_TEST(sixteen_bits_are_half_the_bytes)
{
    struct modes_setup twice = mix(16, 1e7), half = mix(16, 5e6), one;
    double of_one;

    twice.latency_s = half.latency_s;
    half.wire = SYNC_WIRE_BFLOAT16;
    ck_assert_double_eq_tol(sync_of(&half), sync_of(&twice), 1e-3 * sync_of(&twice));
    half.wire = SYNC_WIRE_FLOAT32;
    ck_assert_double_lt(sync_of(&half), 0.7 * sync_of(&twice));
    one = half;
    one.n_nodes = 1;
    for (int i = 0; i < one.n; i++)
        worker[i].node = 0;
    of_one = sync_of(&one);
    one.wire = SYNC_WIRE_FLOAT16;
    ck_assert_double_eq(sync_of(&one), of_one);
    half = mix(16, 100e9); /* where converting costs more than it saves */
    half.model_bytes = 100000000000;
    of_one = sync_of(&half);
    half.wire = SYNC_WIRE_BFLOAT16;
    ck_assert_double_lt(sync_of(&half), of_one);
}
END_TEST

/* A group's root passes values on as they are, of 16 bits too, whatever the centre has. */
START_TEST(groups_get_values)
{
    const int four[] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3 };
    struct modes_setup narrow = mix(16, 5e6), wide;

    narrow.program = (struct program){ .gradient_bytes = 4000000, .centre_bytes = 8000000 };
    wide = narrow;
    wide.model_bytes = 8000000;
    ck_assert_double_gt(elastic(&narrow, four, 8), 1.01 * elastic(&wide, four, 8));
    ck_assert_double_eq(elastic(&narrow, NULL, 8), elastic(&wide, NULL, 8));
}
END_TEST

/* Only what is float32 is halved on the wire; the centre has its own size. */
START_TEST(sizes_of_unlike_types)
{
    struct modes_setup of_float32 = mix(16, 5e6), s = of_float32;
    double wide = sync_of(&of_float32), half;

    s.program = (struct program){ .gradient_bytes = 4000000, .centre_bytes = 8000000 };
    s.wire = SYNC_WIRE_BFLOAT16;
    ck_assert_double_eq(sync_of(&s), wide); /* of 16 bits, or of float64: nothing is gained */
    s.program.float32_bytes = 2000000;
    of_float32.wire = SYNC_WIRE_BFLOAT16;
    half = sync_of(&of_float32);
    ck_assert(sync_of(&s) > 1.05 * wide && sync_of(&s) < 0.95 * half);
    of_float32.model_bytes = 8000000;
    ck_assert_double_eq(elastic(&s, NULL, 8), elastic(&of_float32, NULL, 8));
    s.program.centre_bytes = 4000000;
    ck_assert_double_gt(elastic(&s, NULL, 8), elastic(&of_float32, NULL, 8));
    s.bucket_bytes = of_float32.bucket_bytes = 1 << 22; /* one, where the model is in two */
    s.wire = of_float32.wire = SYNC_WIRE_FLOAT32;
    s.model_bytes = 8000000;
    s.program = (struct program){ .gradient_bytes = 4000000, .centre_bytes = 8000000 };
    of_float32.model_bytes = 4000000;
    ck_assert_double_eq(sync_of(&s), sync_of(&of_float32));
}
END_TEST

/* What is predicted to be waited for is what is missing from the devices' sum. */
START_TEST(times_add_up)
{
    static const int64_t periods[] = { 1, 8, 100 };
    static const double links[] = { 2e6, 25e6, 125e6, 1e9 };
    int group[16];

    for (int k = 0; k < 24; k++) {
        struct modes_setup s = mix(k % 2 ? 4 : 16, links[k / 6]);
        int64_t period = periods[k / 2 % 3];
        struct modes_time t[16];
        double sum = 0, samples[16] = { 0 }, combined = 0;

        for (int i = 0; i < 16; i++) {
            group[i] = i / 4;
            samples[i / 4] += (double)s.worker[i].batch;
            combined += (double)s.worker[i].batch;
        }
        ck_assert_int_eq(modes_times(&s, group, period, t, NULL), 4);
        for (int g = 0; g < 4; g++)
            sum += samples[g] / (t[g].compute_s + t[g].exposed_s +
                                 (t[g].exchange_s - t[g].hidden_s) / (double)period);
        ck_assert_double_eq_tol(sum, elastic(&s, group, period), 1e-6 * sum);
        for (int i = 0; i < 16; i++)
            group[i] = 0;
        ck_assert_int_eq(modes_times(&s, group, 0, t, NULL), 1);
        ck_assert_double_eq(t[0].exchange_s, 0);
        ck_assert_double_eq_tol(combined / (t[0].compute_s + t[0].exposed_s), sync_of(&s), 1e-6);
    }
}
END_TEST

/* Hidden behind back-propagation at 1 Gbit/s; at 200 Mbit/s no float32 step of the mix can end
 * before 0.40 s.
 */
START_TEST(sync_is_bound_by_the_wire)
{
    struct modes_setup s = mix(16, 125e6);

    ck_assert_double_ge(sync_of(&s), 0.93 * ideal(&s));
    s = mix(16, 25e6);
    ck_assert_double_le(512 / sync_of(&s), 0.44);
    ck_assert_double_ge(512 / sync_of(&s), 0.38);
}
END_TEST

/* Where the wire is what counts a step ends when all has gone through it since the first gradient
 * was ready: how many share the backward pass is what the prediction hangs on.
 */
START_TEST(first_gradient_begins)
{
    struct modes_setup s = mix(16, 25e6);
    const double ring = 2 * 15 / 16.0 * 4e6 / 25e6 + 2 * 15 * 1e-4;
    const double compute = 0.010 + 0.004 * 37 / 0.6;
    static const struct {
        int64_t gradients;
        double parts;
    } rows[] = { { 16, 16 }, { 40, 40 }, { 1000, 64 }, { 0, 8 }, { 2, 8 } };

    s.bucket_bytes = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double first = compute * (1 + 2 / rows[i].parts) / 3;

        s.n_gradients = rows[i].gradients;
        ck_assert_double_eq_tol(512 / sync_of(&s), first + ring, 1e-9);
    }
}
END_TEST

/* Seconds of a step whose layers' gradients leave one after the other, in a backward pass's order,
 * each when it is ready: layers take the pass as they do the bytes.
 */
static double pipeline_s(double compute, double ring, const double *part, int n)
{
    double ready = compute / 3, end = 0;

    for (int i = 0; i < n; i++) {
        ready += compute * part[i] * 2 / 3;
        end = fmax(end, ready) + ring * part[i];
    }
    return end;
}

/* A layer that has most of the parameters has its gradients late, and they leave whole. */
START_TEST(largest_gradient_leaves_whole)
{
    static const struct {
        double part[3];
        int largest;
    } rows[] = {
        { { 0.01, 0.93, 0.06 }, 1 },
        { { 0.3, 0.1, 0.6 }, 2 }, /* an embedding */
        { { 0.9, 0.05, 0.05 }, 0 },
    };
    static const double links[] = { 8e6, 25e6, 125e6 };

    for (size_t i = 0; i < 3 * sizeof rows / sizeof *rows; i++) {
        struct modes_setup s = mix(16, links[i % 3]);
        const double *part = rows[i / 3].part, all = 4e6;
        const double ring = 2 * 15 / 16.0 * all / links[i % 3] + 2 * 15 * 1e-4;
        double behind = 0, step;

        for (int k = rows[i / 3].largest + 1; k < 3; k++)
            behind += part[k];
        s.bucket_bytes = 0;
        s.program = (struct program){ .gradient_bytes = (int64_t)all,
                                      .float32_bytes = (int64_t)all,
                                      .centre_bytes = (int64_t)all,
                                      .largest_bytes = (int64_t)(part[rows[i / 3].largest] * all),
                                      .largest_behind = (int64_t)(behind * all) };
        step = pipeline_s(0.010 + 0.004 * 37 / 0.6, ring, part, 3);
        ck_assert_double_eq_tol(512 / sync_of(&s), step, 0.03 * step);
    }
}
END_TEST

/* Samples per second that flows.py computed for links of 23.9 MB/s: flows that share full-duplex
 * links fairly, a flow for each message under way.
 */
struct computed {
    enum sync_wire wire;
    int64_t period;
    double samples_per_s;
};

/* Compare predictions for n nodes of one worker with the n_rows computed rows. group: as for
 * modes_elastic. unlike: part of a step by which each worker is slower than the one before.
 */
static void check_computed(int n, const int *group, double unlike, const struct computed *row,
                           size_t n_rows)
{
    for (size_t i = 0; i < n_rows; i++) {
        struct modes_setup s = mix(16, 23.9e6);
        double predicted;

        s.n = s.n_nodes = n;
        s.wire = row[i].wire;
        for (int k = 0; k < n; k++) {
            double times = 1 + unlike * k;

            worker[k] = (struct modes_worker){ .t = { 0.010 * times, 0.0015 * times },
                                               .batch = 32,
                                               .node = k };
        }
        predicted = elastic(&s, group, row[i].period);
        ck_assert_msg(fabs(predicted / row[i].samples_per_s - 1) < 0.08,
                      "%d nodes, row %d: %.0f samples/s predicted", n, (int)i, predicted);
    }
}

/* The root of a group sends its model to the center and to its group by one link, and gradients
 * wait for what is exchanged.
 */
START_TEST(groups_share_links)
{
    static const struct computed rows[] = {
        { SYNC_WIRE_FLOAT32, 2, 297 },  { SYNC_WIRE_FLOAT32, 4, 402 },
        { SYNC_WIRE_FLOAT32, 8, 527 },  { SYNC_WIRE_FLOAT32, 16, 570 },
        { SYNC_WIRE_BFLOAT16, 2, 368 }, { SYNC_WIRE_BFLOAT16, 4, 548 },
        { SYNC_WIRE_BFLOAT16, 8, 801 }, { SYNC_WIRE_BFLOAT16, 16, 966 },
    };
    const int two[] = { 0, 0, 1, 1 };

    check_computed(4, two, 0, rows, sizeof rows / sizeof *rows);
}
END_TEST

/* Reads and writes of unlike workers meet by chance, at each period. */
START_TEST(workers_share_links)
{
    static const struct computed rows[] = {
        { SYNC_WIRE_FLOAT32, 1, 568 },   { SYNC_WIRE_FLOAT32, 2, 1130 },
        { SYNC_WIRE_FLOAT32, 4, 2054 },  { SYNC_WIRE_FLOAT32, 8, 2616 },
        { SYNC_WIRE_FLOAT32, 16, 2623 },
    };

    check_computed(8, NULL, 0.25, rows, sizeof rows / sizeof *rows);
}
END_TEST

/* A group on several nodes reads the center, then writes to it and passes the model on by the same
 * link: an exchange is never shorter, whatever its steps hide.
 */
START_TEST(root_sends_one_thing_after_another)
{
    const int four[] = { 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3 };
    struct modes_time t[16];

    for (int64_t period = 1; period <= 256; period *= 4) {
        struct modes_setup s = mix(16, 25e6);

        ck_assert_int_eq(modes_times(&s, four, period, t, NULL), 4);
        for (int g = 0; g < 4; g++)
            ck_assert_double_ge(t[g].exchange_s, (2 * 15 / 16.0 + 1) * 4e6 / 25e6);
        ck_assert_double_le(t[0].exchange_s, 1.5 * (2 * 15 / 16.0 + 1) * 4e6 / 25e6);
    }
}
END_TEST

START_TEST(unknown_costs_nothing)
{
    struct modes_setup s = mix(16, 125e6);

    s.model_bytes = 0;
    ck_assert_double_eq_tol(sync_of(&s), 512 / (0.010 + 0.004 * 37 / 0.6), 1e-6);
    ck_assert_double_eq_tol(elastic(&s, NULL, 1), ideal(&s), 1e-6);
}
END_TEST

/* No wire carries more than it can, and longer periods are never slower. */
START_TEST(wire_is_never_overrun)
{
    struct modes_setup s = mix(4, 1e6);
    double before = 0;

    /* Each node reads three quarters of a model for each exchange of its four workers. */
    ck_assert_double_le(elastic(&s, NULL, 1), 16 * 1e6 / (0.75 * 4e6) * 512 / 16 * 1.3);
    for (int64_t period = 1; period < 2000; period = period * 3 / 2 + 1) {
        double now = elastic(&s, NULL, period);

        ck_assert_double_ge(now, before * (1 - 1e-9));
        ck_assert_double_le(now, ideal(&s));
        before = now;
    }
}
END_TEST

/* Groups do not wait for each other: what one loses by a slow member stays its own. */
START_TEST(groups_keep_their_own_pace)
{
    struct modes_setup s = mix(4, 125e6);
    int by_node[16];
    double even, slowed;

    for (int i = 0; i < 16; i++)
        by_node[i] = i / 4;
    even = elastic(&s, by_node, 32);
    worker[3].t.sample_s *= 5;
    worker[3].t.fixed_s *= 5;
    slowed = elastic(&s, by_node, 32);
    ck_assert_double_ge(slowed, even * (0.75 + 0.25 / 5.2));
    ck_assert_double_le(sync_of(&s), even / 4);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, sixteen_bits_are_half_the_bytes);
    tcase_add_test(tc, sizes_of_unlike_types);
    tcase_add_test(tc, groups_get_values);
    tcase_add_test(tc, times_add_up);
    tcase_add_test(tc, sync_is_bound_by_the_wire);
    tcase_add_test(tc, first_gradient_begins);
    tcase_add_test(tc, largest_gradient_leaves_whole);
    tcase_add_test(tc, groups_share_links);
    tcase_add_test(tc, workers_share_links);
    tcase_add_test(tc, root_sends_one_thing_after_another);
    tcase_add_test(tc, unknown_costs_nothing);
    tcase_add_test(tc, wire_is_never_overrun);
    tcase_add_test(tc, groups_keep_their_own_pace);
}

SUITE_MAIN("modes", add_tests)
