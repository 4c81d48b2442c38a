/* SPDX-License-Identifier: Apache-2.0 */
/* test_precision.c - tests of plans by the rates of a precision, of scheduler/planner.h */
#include "scheduler/devices.h"
#include "suite.h"

#include "tests/unit/planning.h"

/* An A100, a V100 and a 1080 Ti: rates in 1e12 and 1e9, as benchmarks have them; 0: it has none. */
static const struct {
    double rate[PRECISIONS], memory;
} cards[] = {
    { { 0, 19, 130, 270, 270 }, 1500 },
    { { 0, 14.5, 0, 0, 100 }, 780 },
    { { 0, 11, 0, 0, 11 }, 370 },
};

enum { CARDS = sizeof cards / sizeof *cards };

static void add_cards(void)
{
    make_nodes(1);
    for (int i = 0; i < CARDS; i++) {
        struct device *d = add_device(node, DEVICE_CUDA, 1);

        d->fp32_flops = cards[i].rate[PRECISION_FP32] * 1e12;
        d->tf32_flops = cards[i].rate[PRECISION_TF32] * 1e12;
        d->bf16_flops = cards[i].rate[PRECISION_BF16] * 1e12;
        d->fp16_flops = cards[i].rate[PRECISION_FP16] * 1e12;
        d->memory_bytes_per_s = cards[i].memory * 1e9;
    }
    job.batch.global = 256;
}

/* Return the longest time of a step with these batches, of workers with these times of a sample. */
static double longest_s(const int64_t *batch, const double *sample_s)
{
    double s = 0;

    for (int i = 0; i < CARDS; i++)
        s = fmax(s, (double)batch[i] * sample_s[i]);
    return s;
}

/* Return the shortest step over all splits of the global batch. */
static double best_s(const double *sample_s)
{
    double best = INFINITY;

    for (int64_t a = 1; a < job.batch.global; a++)
        for (int64_t b = 1; a + b < job.batch.global; b++) {
            const int64_t batch[] = { a, b, job.batch.global - a - b };

            best = fmin(best, longest_s(batch, sample_s));
        }
    return best;
}

/* Return how near the plan is to the best split for cards of these times of a sample, 1: it is. */
static double quality(const double *sample_s)
{
    int64_t batch[CARDS];

    for (int i = 0; i < CARDS; i++)
        batch[i] = p->worker[i].batch;
    return best_s(sample_s) / longest_s(batch, sample_s);
}

/* In each precision the plan is the best split by the rates of that precision; a card that lacks it
 * counts with its rate in fp32.
 */
START_TEST(in_precision)
{
    double sample_s[CARDS];

    add_cards();
    for (int i = 0; i < CARDS; i++) {
        double rate = cards[i].rate[_i] > 0 ? cards[i].rate[_i] : cards[i].rate[PRECISION_FP32];

        sample_s[i] = 24.6e9 / (rate * 1e12) + 0.4e9 / (cards[i].memory * 1e9);
    }
    job.profile.precision = word_of(precision_name((size_t)_i));
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_double_eq_tol(quality(sample_s), 1, 1e-9);
    ck_assert_int_eq(p->program.precision, _i > PRECISION_AUTO ? _i : PRECISION_FP32);
    devices_remark(0, (enum precision)_i, node, 1);
    ck_assert_str_eq(node->note,
                     _i == PRECISION_TF32
                         ? "GPU 1 and 1 more have no tf32, so they are planned by their fp32 rates"
                     : _i == PRECISION_BF16
                         ? "GPU 1 and 1 more have no bf16, so they are planned by their fp32 rates"
                         : "");
}
END_TEST

/* Which cards lack a precision that a program reports while it runs, on how many nodes. */
START_TEST(lacking)
{
    char text[300];

    add_cards();
    ck_assert_int_eq(devices_lacking(node, 1, PRECISION_FP16, false, text, sizeof text), 0);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(devices_lacking(node, 1, PRECISION_BF16, false, text, sizeof text), 1);
    ck_assert_str_eq(text, "node login1: GPU 1 and 1 more have no bf16, so they are planned by "
                           "their fp32 rates");
    node->n_devices = 2;
    ck_assert_int_eq(devices_lacking(node, 1, PRECISION_BF16, true, text, sizeof text), 1);
    ck_assert_str_eq(text, "node login1: GPU 1 has no bf16, but is planned by its measured times");
    node->device[0].bf16_flops = NAN;
    ck_assert_int_eq(devices_lacking(node, 1, PRECISION_BF16, false, text, sizeof text), 0);
    make_nodes(4); /* the first one has only CPUs */
    add_device(&node[0], DEVICE_CPU, 1);
    for (int i = 1; i < 4; i++)
        add_device(&node[i], DEVICE_CUDA, 1)->bf16_flops = 0;
    ck_assert_int_eq(devices_lacking(node, 4, PRECISION_BF16, false, text, sizeof text), 3);
    ck_assert_str_eq(text, "node node1: GPU 0 has no bf16, so it is planned by its fp32 rate; "
                           "the same holds on 2 more nodes");
}
END_TEST

/* With mixed precision these cards are 6 : 3.4 : 1. */
START_TEST(mixed_precision)
{
    static const double sample_s[CARDS] = { 1 / 6.0, 1 / 3.4, 1 };
    const struct planner_history reported = { .program = { .precision = PRECISION_FP16 } };

    add_cards();
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert(quality(sample_s) < 0.5);
    ck_assert_int_eq(plan_nodes(1, &reported), 0); /* as an earlier job has reported */
    ck_assert_msg(quality(sample_s) >= 0.9, "%g", quality(sample_s));
    job.profile.precision = word_of("fp32"); /* what the job sets counts more */
    ck_assert_int_eq(plan_nodes(1, &reported), 0);
    ck_assert(quality(sample_s) < 0.5);
    job.profile.precision = word_of("fp16");
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_msg(quality(sample_s) >= 0.9, "%g", quality(sample_s));
}
END_TEST

/* A card whose products in the precision were not measured, although it has them, is not taken for
 * one without them: all are compared in fp32.
 */
START_TEST(precision_unmeasured)
{
    add_cards();
    node->device[2].fp16_flops = NAN;
    job.profile.precision = word_of("fp16");
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(p->program.precision, PRECISION_FP32);
    ck_assert((double)p->worker[0].batch < 2.3 * (double)p->worker[2].batch);
    devices_remark(0, PRECISION_FP16, node, 1);
    ck_assert_str_eq(node->note, "without a matrix product in fp16 of GPU 2 all devices are "
                                 "compared by their fp32 rates");
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_loop_test(tc, in_precision, 0, PRECISIONS);
    tcase_add_test(tc, lacking);
    tcase_add_test(tc, mixed_precision);
    tcase_add_test(tc, precision_unmeasured);
}

SUITE_MAIN("precision", add_tests)
