/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_window.c - tests of lib/model/step_window.h */
#include "lib/model/step_window.h"

#include "suite.h"

#include <float.h>
#include <math.h>

enum { BATCH = 32 };

static int64_t next; /* step */
static struct step_window w;
static struct step_metrics f; /* of it, when they were last read */

/* n steps of this plan, of these seconds each. */
static void add(int64_t plan, int n, double own_s)
{
    for (int i = 0; i < n; i++) {
        struct window_step s = { .step = next++,
                                 .plan = plan,
                                 .count = BATCH,
                                 .work = BATCH,
                                 .compute_s = own_s * 0.75,
                                 .input_s = own_s * 0.25,
                                 .exposed_s = 0.5,
                                 .total_s = own_s + 0.75 };

        step_window_add(&w, &s, BATCH);
    }
}

static struct step_metrics metrics(void)
{
    f = (struct step_metrics){ .plan = 0 };
    step_window_metrics(&w, &f);
    return f;
}

static void set_up(void)
{
    next = 0;
    step_window_init(&w);
}

START_TEST(too_few_tell_nothing)
{
    ck_assert(!step_window_metrics(&w, &f));
    add(1, 1 + STEP_WINDOW_CHANGE - 1, 1);
    ck_assert(!step_window_metrics(&w, &f));
    add(1, 1, 1);
    ck_assert(step_window_metrics(&w, &f));
}
END_TEST

/* Quartiles of 1 .. 9 by linear interpolation, as numpy.quantile gives them. */
START_TEST(quartiles)
{
    add(7, 1, 100);
    for (int i = 0; i < 9; i++)
        add(7, 1, 10 + (i * 5 % 9) * 0.25);
    f = metrics();
    ck_assert_int_eq(f.plan, 7);
    ck_assert_int_eq(f.since, 1);
    ck_assert_int_eq(f.steps, 9);
    ck_assert_int_eq(f.count, BATCH);
    ck_assert_double_eq_tol(f.own.low_s, 10.5, 1e-12);
    ck_assert_double_eq_tol(f.own.median_s, 11, 1e-12);
    ck_assert_double_eq_tol(f.own.high_s, 11.5, 1e-12);
    ck_assert_double_eq_tol(f.own.max_s, 12, 1e-12);
    ck_assert_double_eq_tol(f.compute.median_s, 8.25, 1e-12);
    ck_assert_double_eq_tol(f.input.median_s, 2.75, 1e-12);
    ck_assert_double_eq_tol(f.exposed.median_s, 0.5, 1e-12);
    ck_assert_double_eq_tol(f.total.low_s, 11.25, 1e-12);
    ck_assert_double_eq_tol(f.total.max_s, 12.75, 1e-12);
}
END_TEST

/* Whatever a program gives as its times and work. */
START_TEST(nonsense_is_known)
{
    static const struct window_step bad[] = {
        { .count = BATCH, .work = 1e-300, .compute_s = 1 },
        { .count = BATCH, .work = 1, .compute_s = STEP_FIGURES_MAX_S, .input_s = 1 },
        { .count = BATCH, .work = 1, .compute_s = 1, .exposed_s = -100 },
        { .count = BATCH, .work = 1, .compute_s = 1, .total_s = -100 },
    };

    add(1, 1 + STEP_WINDOW_CHANGE, 1);
    f = metrics();
    ck_assert(step_metrics_are_valid(&f));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct window_step s = bad[i];

        set_up();
        add(1, 1 + STEP_WINDOW_CHANGE, 1);
        s.step = next;
        s.plan = 1;
        step_window_add(&w, &s, 0);
        f = metrics();
        ck_assert(!step_metrics_are_valid(&f));
    }
    set_up();
    add(1, 1 + STEP_WINDOW_CHANGE, 1);
    f = metrics();
    f.work = DBL_MIN / 2; /* who reads a report refuses it */
    ck_assert(!step_metrics_are_valid(&f));
    f = metrics();
    f.since = INT64_MAX - f.steps;
    ck_assert(step_metrics_are_valid(&f));
    f.since++; /* its last step would have no number */
    ck_assert(!step_metrics_are_valid(&f));
    f = (struct step_metrics){ .plan = 0 };
    ck_assert(!step_metrics_are_valid(&f));
}
END_TEST

/* The first step under a plan is left out, and none of the plan before is in. */
START_TEST(plans_do_not_mix)
{
    add(1, 100, 1);
    add(2, 1, 50);
    add(2, 3, 2);
    ck_assert_int_eq(metrics().plan, 2);
    ck_assert_int_eq(metrics().since, 101);
    ck_assert_int_eq(metrics().steps, 3);
    ck_assert_double_eq(metrics().own.max_s, 2);
}
END_TEST

START_TEST(speeds_do_not_mix)
{
    add(1, 200, 1);
    add(1, 2, 3); /* two slow steps may be chance */
    ck_assert_int_eq(metrics().since, 1);
    add(1, 1, 3);
    ck_assert_int_eq(metrics().since, 200);
    ck_assert_double_eq(metrics().own.median_s, 3);
    add(1, 10, 3);
    add(1, 3, 1);
    ck_assert_int_eq(metrics().since, 213);
    ck_assert_double_eq(metrics().own.median_s, 1);
}
END_TEST

/* Of 5 % jitter, and of single steps that are held up, no change is made. */
START_TEST(jitter_is_no_change)
{
    uint64_t seed = 1;

    for (int i = 0; i < 2000; i++) {
        double noise = 0;

        for (int k = 0; k < 12; k++) { /* about normal */
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            noise += (double)(seed >> 33) / (double)(1u << 31) - 0.5;
        }
        add(1, 1, i % 50 == 0 ? 4 : 1 + 0.05 * noise);
    }
    ck_assert_int_eq(metrics().since, 1);
    ck_assert_double_eq_tol(metrics().own.median_s, 1, 0.03);
}
END_TEST

/* Steps become 1 % longer each: the median is that of the last few. The window stays the same,
 * and grows again when the speed stays. That of the next plan is short from its first report on.
 */
START_TEST(drifts_shorten_a_window)
{
    add(1, 31, 1);
    ck_assert_int_eq(metrics().points, 30);
    for (int i = 1; i <= 40; i++)
        add(1, 1, 1 + 0.01 * i);
    ck_assert_int_lt(metrics().points, 16);
    ck_assert_double_gt(f.own.median_s, 1.32);
    ck_assert_int_eq(f.since, 1);
    ck_assert_int_eq(f.steps, 70);
    add(2, 21, 1.4);
    ck_assert_int_lt(metrics().points, 20);
    add(2, 200, 1.4);
    ck_assert_int_ge(metrics().points, STEP_WINDOW_MAX);
    ck_assert_double_eq_tol(f.own.median_s, 1.4, 1e-9);
}
END_TEST

/* Steps of two speeds, changing every few steps, are no drift. */
START_TEST(passing_changes_are_no_drift)
{
    for (int i = 0; i < 600; i++) {
        add(1, 1, i / 7 % 2 ? 1 : 1.15);
        ck_assert_int_eq(metrics().points, i < STEP_WINDOW_CHANGE ? f.points : i);
    }
    ck_assert_int_eq(f.since, 1);
}
END_TEST

START_TEST(short_and_old_steps_are_left_out)
{
    struct window_step s = { .plan = 1, .count = BATCH / 2, .work = BATCH / 2, .compute_s = 0.5 };

    add(1, 10, 1);
    s.step = next++;
    step_window_add(&w, &s, BATCH);
    s.count = BATCH;
    s.step = 3;
    step_window_add(&w, &s, BATCH);
    s.step = next++;
    s.compute_s = 0;
    step_window_add(&w, &s, BATCH);
    ck_assert_int_eq(metrics().steps, 9);
    ck_assert_double_eq(metrics().own.low_s, 1);
}
END_TEST

/* Steps of unlike work, at one speed. */
START_TEST(scaled_by_work)
{
    static const double work[] = { 100, 500, 900, 200, 600, 1000, 300, 700, 400, 800 };

    add(1, 1, 1);
    for (int i = 0; i < 50; i++) {
        struct window_step s = { .step = next++, .plan = 1, .count = BATCH, .work = work[i % 10] };

        s.compute_s = s.work * 0.001;
        step_window_add(&w, &s, BATCH);
    }
    ck_assert_int_eq(metrics().since, 1);
    ck_assert_double_eq_tol(metrics().work, 550, 1e-9);
    ck_assert_double_eq_tol(metrics().own.low_s, 0.55, 1e-9);
    ck_assert_double_eq_tol(metrics().own.max_s, 0.55, 1e-9);
}
END_TEST

/* One short step in ten is held up for long: that is in the figures, and no change of speed. */
START_TEST(short_steps_are_put_together)
{
    for (int i = 0; i <= 1000; i++) {
        double own_s = i % 10 ? 0.001 : 0.011;
        struct window_step s = { .step = next++,
                                 .plan = 1,
                                 .count = BATCH,
                                 .work = BATCH,
                                 .compute_s = own_s,
                                 .total_s = own_s };

        step_window_add(&w, &s, BATCH);
    }
    f = metrics();
    ck_assert(step_metrics_are_valid(&f));
    ck_assert_int_eq(f.since, 1);
    ck_assert_int_eq(f.steps, 1000);
    ck_assert_int_eq(f.points, 20);
    ck_assert_int_eq(f.count, BATCH);
    ck_assert_double_eq_tol(f.own.median_s, 0.002, 1e-9);
    ck_assert_double_eq_tol(f.own.max_s, 0.002, 1e-9);
    next += 100; /* steps that nobody saw have taken their time, too */
    add(1, 1, 0.001);
    ck_assert_int_eq(metrics().points, 21);
}
END_TEST

/* One change of speed that is too small to restart the window is no walk. */
START_TEST(small_changes_are_no_drift)
{
    for (int i = 0; i < 60; i++)
        add(1, 1, i % 2 ? 1 : 1.02);
    for (int i = 0; i < 60; i++)
        add(1, 1, i % 2 ? 1.2 : 1.22);
    ck_assert_int_eq(metrics().points, 119);
    ck_assert_int_eq(f.since, 1);
}
END_TEST

/* Speeds that stay and then change at once are no walk, however often: each restarts the window,
 * and no statistic is shortened.
 */
START_TEST(changes_of_speed_are_no_drift)
{
    for (int i = 0; i < 600; i++) {
        add(1, 1, (i / 40 % 2 ? 1 : 1.5) * (i % 2 ? 1 : 1.02));
        ck_assert_int_eq(metrics().points, f.points < 3 ? f.points : next - f.since);
    }
    ck_assert_int_ge(f.since, 560);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, short_steps_are_put_together);
    tcase_add_test(tc, too_few_tell_nothing);
    tcase_add_test(tc, quartiles);
    tcase_add_test(tc, nonsense_is_known);
    tcase_add_test(tc, plans_do_not_mix);
    tcase_add_test(tc, speeds_do_not_mix);
    tcase_add_test(tc, jitter_is_no_change);
    tcase_add_test(tc, drifts_shorten_a_window);
    tcase_add_test(tc, passing_changes_are_no_drift);
    tcase_add_test(tc, small_changes_are_no_drift);
    tcase_add_test(tc, changes_of_speed_are_no_drift);
    tcase_add_test(tc, short_and_old_steps_are_left_out);
    tcase_add_test(tc, scaled_by_work);
}

SUITE_MAIN("step_window", add_tests)
