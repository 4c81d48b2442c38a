/* SPDX-License-Identifier: Apache-2.0 */
/* test_emulate.c - the times that an emulated device takes for its steps */
#include "lib/base/clock.h"
#include "lib/worker/emulate.h"
#include "suite.h"

#include <math.h>

enum { STEPS = 20000, BATCH = 100 };

static const struct emulation device = {
    .fixed_s = 0.002, .sample_s = 0.0001, .jitter = 0.05, .seed = 7
};
static const double MEAN = 0.012;

/* Mean and deviation are as wanted, by five of their own standard errors. */
START_TEST(as_wanted)
{
    double sum = 0, squares = 0, deviation;

    for (int64_t step = 0; step < STEPS; step++) {
        double s = emulate_step_s(&device, step, BATCH) / MEAN - 1;

        sum += s;
        squares += s * s;
    }
    deviation = sqrt(squares / STEPS);
    ck_assert_double_eq_tol(sum / STEPS, 0, 5 * device.jitter / sqrt(STEPS));
    ck_assert_double_eq_tol(deviation, device.jitter, 5 * device.jitter / sqrt(2.0 * STEPS));
}
END_TEST

/* A step's time follows from the seed and its number. */
START_TEST(repeats)
{
    struct emulation other = device;
    int alike = 0;

    other.seed++;
    for (int64_t step = 0; step < 100; step++) {
        double s = emulate_step_s(&device, step, BATCH);

        ck_assert(emulate_step_s(&device, step, BATCH) == s);
        alike += emulate_step_s(&other, step, BATCH) == s;
        alike += emulate_step_s(&device, step + 1, BATCH) == s;
    }
    ck_assert_int_eq(alike, 0);
}
END_TEST

START_TEST(bounds)
{
    struct emulation m = device;

    m.emulated = true;
    emulate_begin(&m, 3, INT64_C(1) << 60, 1000); /* is never over, and not over before */
    ck_assert(m.until_ns == CLOCK_NEVER);
    ck_assert_double_eq(emulate_step_s(&m, 3, 0), 0);
    m.jitter = 0.5;
    for (int64_t step = 0; step < STEPS; step++)
        ck_assert_double_ge(emulate_step_s(&m, step, BATCH), 0.2 * MEAN * (1 - 1e-12));
    m.jitter = 0;
    ck_assert_double_eq_tol(emulate_step_s(&m, 3, BATCH), MEAN, 1e-15);
    ck_assert_double_eq(emulate_step_s(&(struct emulation){ 0 }, 3, BATCH), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, as_wanted);
    tcase_add_test(tc, repeats);
    tcase_add_test(tc, bounds);
}

SUITE_MAIN("emulate", add_tests)
