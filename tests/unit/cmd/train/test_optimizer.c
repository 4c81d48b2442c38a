/* SPDX-License-Identifier: Apache-2.0 */
/* test_optimizer.c - tests of cmd/train/model/optimizer.h */
#include "cmd/train/model/optimizer.h"

#include "suite.h"

#include <string.h>

static const double tolerance = 1e-5;

/* Under a constant gradient g, v after t updates is g (1 - mu^t) / (1 - mu). */
START_TEST(momentum_closed_form)
{
    struct optimizer o = { .kind = OPTIMIZER_SGD, .rate = 0.1, .momentum = 0.9 };
    float w[3] = { 1, -2, 0 }, g[3] = { 0.5, -1, 0 }, v[3] = { 0 };
    double moved = 0;

    for (int t = 1; t <= 20; t++) {
        o.updates++;
        optimizer_update(&o, 1, w, g, v, 3);
        moved += 0.1 * (1 - pow(0.9, t)) / (1 - 0.9);
    }
    ck_assert_double_eq_tol((double)w[0], 1 - 0.5 * moved, 20 * tolerance);
    ck_assert_double_eq_tol((double)w[1], -2 + moved, 20 * tolerance);
    ck_assert(w[2] == 0);
}
END_TEST

/* v = mu v - rate g(w + mu v), w = w + v, on f = w^2 / 2, where g(w) = w. */
START_TEST(nesterov_step_by_step)
{
    struct optimizer o = { .kind = OPTIMIZER_NESTEROV, .rate = 0.1, .momentum = 0.8 };
    float w = 1, v = 0;
    double x = 1, u = 0;

    ck_assert_int_eq(optimizer_states(&o), 1);
    for (int t = 0; t < 40; t++) {
        float g;

        optimizer_look_ahead(&o, &w, &v, 1);
        g = w;
        optimizer_update(&o, 0.5, &w, &g, &v, 1);
        u = 0.8 * u - 0.05 * (x + 0.8 * u);
        x += u;
        ck_assert_double_eq_tol((double)w, x, tolerance);
        ck_assert_double_eq_tol((double)v, u, tolerance);
    }
}
END_TEST

/* Without a gradient, weight decay shrinks w by (1 - rate * decay) an update. */
START_TEST(decay_closed_form)
{
    struct optimizer o = { .kind = OPTIMIZER_SGD, .rate = 0.5, .weight_decay = 0.1 };
    float w[2] = { 4, -8 }, g[2] = { 0, 0 };

    ck_assert_int_eq(optimizer_states(&o), 0);
    for (o.updates = 1; o.updates <= 10; o.updates++)
        optimizer_update(&o, 1, w, g, NULL, 2);
    ck_assert_double_eq_tol((double)w[0], 4 * pow(0.95, 10), tolerance);
    ck_assert_double_eq_tol((double)w[1], -8 * pow(0.95, 10), tolerance);
}
END_TEST

/* Under a constant gradient both corrected means are g and g^2: each update moves by the rate. */
START_TEST(adam_closed_form)
{
    struct optimizer o = { .kind = OPTIMIZER_ADAM, .rate = 0.01 };
    float w[3] = { 1, 1, 1 }, g[3] = { 3, -0.001f, 1e-8f }, state[6] = { 0 };

    ck_assert_int_eq(optimizer_states(&o), 2);
    for (o.updates = 1; o.updates <= 50; o.updates++)
        optimizer_update(&o, 1, w, g, state, 3);
    ck_assert_double_eq_tol((double)w[0], 1 - 50 * 0.01, 1e-4);
    ck_assert_double_eq_tol((double)w[1], 1 + 50 * 0.01 / (1 + 1e-5), 1e-4);
    ck_assert_double_eq_tol((double)w[2], 1 - 50 * 0.01 / (1 + 1), 1e-4); /* g is as small as e */
}
END_TEST

START_TEST(adam_step_by_step)
{
    struct optimizer o = { .kind = OPTIMIZER_ADAM, .rate = 0.02, .weight_decay = 0.1 };
    double w = 0.7, m = 0, s = 0;
    float wr = (float)0.7, state[2] = { 0 };

    for (o.updates = 1; o.updates <= 30; o.updates++) {
        double g = sin((double)o.updates), d = g + 0.1 * w;
        float gr = (float)g;

        m = 0.9 * m + 0.1 * d;
        s = 0.999 * s + 0.001 * d * d;
        w -= 0.02 * 0.5 * (m / (1 - pow(0.9, (double)o.updates))) /
             (sqrt(s / (1 - pow(0.999, (double)o.updates))) + 1e-8);
        optimizer_update(&o, 0.5, &wr, &gr, state, 1);
    }
    ck_assert_double_eq_tol((double)wr, w, 10 * tolerance);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, momentum_closed_form);
    tcase_add_test(tc, nesterov_step_by_step);
    tcase_add_test(tc, decay_closed_form);
    tcase_add_test(tc, adam_closed_form);
    tcase_add_test(tc, adam_step_by_step);
}

SUITE_MAIN("optimizer", add_tests)
