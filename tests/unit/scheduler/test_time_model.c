/* SPDX-License-Identifier: Apache-2.0 */
/* test_time_model.c - tests of scheduler/time_model.h */
#include "scheduler/time_model.h"

#include "suite.h"

#include <errno.h>
#include <math.h>

START_TEST(seconds)
{
    struct time_model m = { .fixed_s = 0.5, .sample_s = 0.25 };

    ck_assert_double_eq(time_model_s(&m, 0), 0);
    ck_assert_double_eq(time_model_s(&m, 1), 0.75);
    ck_assert_double_eq(time_model_s(&m, 10), 3);
}
END_TEST

START_TEST(emulated_exactly)
{
    struct device d = {
        .kind = DEVICE_EMULATED, .rate = 0.5, .fixed_s = 0.002, .sample_s = 0.0001
    };
    struct time_model m;
    bool relative = true;

    ck_assert_int_eq(time_model_of_device(&d, TIME_MODEL_ALL, PRECISION_FP32, &m, &relative, NULL),
                     0);
    ck_assert(!relative);
    ck_assert_double_eq(m.fixed_s, 0.002);
    ck_assert_double_eq(m.sample_s, 0.0002);
}
END_TEST

/* Twice the rates, half the time; whatever kind of device it is. */
START_TEST(real_is_relative)
{
    struct device slow = { .kind = DEVICE_CPU, .fp32_flops = 1e12, .memory_bytes_per_s = 2e10 };
    struct device fast = { .kind = DEVICE_CUDA, .fp32_flops = 2e12, .memory_bytes_per_s = 4e10 };
    struct time_model a, b;
    bool relative = false;

    ck_assert_int_eq(
        time_model_of_device(&slow, TIME_MODEL_ALL, PRECISION_FP32, &a, &relative, NULL), 0);
    ck_assert(relative);
    ck_assert_int_eq(
        time_model_of_device(&fast, TIME_MODEL_ALL, PRECISION_FP32, &b, &relative, NULL), 0);
    ck_assert_double_eq_tol(a.sample_s / b.sample_s, 2, 1e-12);
    slow.memory_bytes_per_s = NAN;
    ck_assert_int_eq(time_model_figures(&slow, PRECISION_FP32),
                     TIME_MODEL_PRODUCT | TIME_MODEL_PRECISE);
    ck_assert_int_eq(
        time_model_of_device(&slow, TIME_MODEL_ALL, PRECISION_FP32, &b, &relative, NULL), -ENODATA);
    ck_assert_int_eq(
        time_model_of_device(&slow, TIME_MODEL_PRODUCT, PRECISION_FP32, &a, &relative, NULL), 0);
    ck_assert_int_eq(
        time_model_of_device(&fast, TIME_MODEL_PRODUCT, PRECISION_FP32, &b, &relative, NULL), 0);
    ck_assert_double_eq_tol(a.sample_s / b.sample_s, 2, 1e-12);
}
END_TEST

/* What a device has measured of a precision, what the model of it uses, and with which rate. */
static const struct {
    enum device_kind kind;
    enum precision precision;
    double rate; /* in that precision; fp32: 4 */
    unsigned figures;
    double used;
    bool lacks;
} precise[] = {
    { DEVICE_CUDA, PRECISION_FP16, 64, TIME_MODEL_ALL, 64, false },
    { DEVICE_CUDA, PRECISION_BF16, 64, TIME_MODEL_ALL, 64, false },
    { DEVICE_CUDA, PRECISION_TF32, 32, TIME_MODEL_ALL, 32, false },
    { DEVICE_CUDA, PRECISION_FP16, 64, TIME_MODEL_PRODUCT | TIME_MODEL_MEMORY, 4, false },
    { DEVICE_CUDA, PRECISION_BF16, 0, TIME_MODEL_ALL, 4, true },
    { DEVICE_CUDA, PRECISION_AUTO, 4, TIME_MODEL_ALL, 4, false },
    { DEVICE_CPU, PRECISION_FP16, NAN, TIME_MODEL_ALL, 4, true },
    { DEVICE_CUDA, PRECISION_FP16, NAN, TIME_MODEL_ALL, NAN, false },
};

START_TEST(in_precision)
{
    struct device d = device_unmeasured(precise[_i].kind, 0, -1);
    struct time_model m;
    bool relative;
    int rc;

    d.fp32_flops = 4;
    d.memory_bytes_per_s = 2;
    *(precise[_i].precision == PRECISION_FP16   ? &d.fp16_flops
      : precise[_i].precision == PRECISION_BF16 ? &d.bf16_flops
      : precise[_i].precision == PRECISION_TF32 ? &d.tf32_flops
                                                : &d.fp32_flops) = precise[_i].rate;
    rc = time_model_of_device(&d, precise[_i].figures, precise[_i].precision, &m, &relative, NULL);
    ck_assert_int_eq(time_model_lacks(&d, precise[_i].precision), precise[_i].lacks);
    ck_assert_int_eq(rc, isnan(precise[_i].used) ? -ENODATA : 0);
    if (rc == 0) /* ResNet-50's operations and bytes */
        ck_assert_double_eq_tol(m.sample_s, 24.6e9 / precise[_i].used + 0.4e9 / 2, 1);
}
END_TEST

static const struct device bad[] = {
    { .kind = DEVICE_CPU, .fp32_flops = NAN, .memory_bytes_per_s = NAN },
    { .kind = DEVICE_CPU, .fp32_flops = 0, .memory_bytes_per_s = -1 },
    { .kind = DEVICE_CUDA, .fp32_flops = INFINITY },
    { .kind = DEVICE_EMULATED, .rate = 0, .fixed_s = 1, .sample_s = 1 },
    { .kind = DEVICE_EMULATED, .rate = -1, .fixed_s = 1, .sample_s = 1 },
    { .kind = DEVICE_EMULATED, .rate = 1, .fixed_s = -1, .sample_s = 1 },
    { .kind = DEVICE_EMULATED, .rate = 1, .fixed_s = 1, .sample_s = 0 },
    { .kind = DEVICE_EMULATED, .rate = NAN, .fixed_s = 1, .sample_s = 1 },
};

START_TEST(refuses)
{
    struct eddis_error err = { 0 };
    struct time_model m;
    bool relative;

    ck_assert_int_lt(
        time_model_of_device(&bad[_i], TIME_MODEL_ALL, PRECISION_FP32, &m, &relative, &err), 0);
    ck_assert_str_ne(err.text, "");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, seconds);
    tcase_add_test(tc, emulated_exactly);
    tcase_add_test(tc, real_is_relative);
    tcase_add_loop_test(tc, in_precision, 0, sizeof precise / sizeof *precise);
    tcase_add_loop_test(tc, refuses, 0, sizeof bad / sizeof *bad);
}

SUITE_MAIN("time_model", add_tests)
