/* SPDX-License-Identifier: Apache-2.0 */
/* test_learner.c - tests of scheduler/learner.h */
#include "scheduler/learner.h"

#include "lib/base/random.h"
#include "steps.h"
#include "suite.h"

#include <math.h>
#include <string.h>

/* What a device really does. */
struct law {
    double fixed_s, sample_s;
};

static double law_s(struct law t, double work)
{
    return t.fixed_s + t.sample_s * work;
}

static bool take(struct learner *l, int64_t plan, int64_t steps, int64_t count, double own_s)
{
    struct step_metrics f = steps_of(plan, 100 * plan, steps, count, own_s);

    return learner_take(l, &f);
}

static struct learner begun(double fixed_s, double sample_s, enum time_source source)
{
    struct learner l;

    learner_init(&l, &(struct time_model){ fixed_s, sample_s }, source);
    return l;
}

static void expect(const struct learner *l, double fixed_s, double sample_s, double tolerance)
{
    struct time_model m = learner_model(l);

    ck_assert_double_eq_tol(m.fixed_s, fixed_s, tolerance * (fixed_s + sample_s));
    ck_assert_double_eq_tol(m.sample_s, sample_s, tolerance * sample_s);
}

START_TEST(first_model)
{
    struct learner l = begun(0.01, 0.002, TIME_LEARNT);

    expect(&l, 0.01, 0.002, 1e-12);
    ck_assert_int_eq(learner_source(&l), TIME_LEARNT);
    ck_assert_int_eq(l.largest, 0);
    ck_assert(learner_error(&l) == 0);
    take(&l, 1, 2, 64, 1);
    ck_assert_int_eq(learner_source(&l), TIME_LEARNT);
    take(&l, 1, 3, 64, 0.138);
    ck_assert_int_eq(learner_source(&l), TIME_MEASURED);
    ck_assert_int_eq(l.largest, 64);
    expect(&l, 0.01, 0.002, 1e-9);
}
END_TEST

/* The law is that of the paced workers: 110 ms at 64 samples, 46 of them the constant. */
START_TEST(proportional_then_affine)
{
    const struct law t = { 0.046, 0.001 };
    struct learner l = begun(0, 7, TIME_PROBE);

    take(&l, 1, 30, 64, law_s(t, 64));
    expect(&l, 0, law_s(t, 64) / 64, 1e-9);
    take(&l, 2, 30, 74, law_s(t, 74)); /* too near, whatever they say */
    expect(&l, 0, law_s(t, 74) / 74, 1e-9);
    take(&l, 3, 30, 110, law_s(t, 110));
    expect(&l, t.fixed_s, t.sample_s, 1e-9);
}
END_TEST

/* 1.5 times apart: nearer than batches that always tell, so it needs more than noise. */
START_TEST(refuted)
{
    const struct law t = { 0.046, 0.001 };
    struct learner l = begun(0, 7, TIME_PROBE), m = begun(0, 7, TIME_PROBE);

    take(&l, 1, 30, 64, law_s(t, 64));
    take(&l, 2, 30, 96, law_s(t, 96));
    expect(&l, t.fixed_s, t.sample_s, 1e-9);
    take(&m, 1, 4, 64, 0.064);
    take(&m, 2, 4, 96, 0.96 * 0.096);
    expect(&m, 0, 0.00096, 1e-9);
}
END_TEST

START_TEST(shape_of_the_first)
{
    struct learner l = begun(0.02, 0.001, TIME_LEARNT);

    take(&l, 1, 30, 100, 3 * 0.12);
    expect(&l, 3 * 0.02, 3 * 0.001, 1e-9);
    ck_assert_double_eq_tol(l.contradicted, 3, 1e-9);
}
END_TEST

START_TEST(contradicted)
{
    static const struct {
        enum time_source source;
        int64_t steps;
        double ratio, ret;
    } row[] = {
        { TIME_LEARNT, 10, 1.3, 1.3 }, { TIME_LEARNT, 9, 1.3, 0 }, { TIME_LEARNT, 10, 1.2, 0 },
        { TIME_LEARNT, 10, 0.7, 0.7 }, { TIME_LEARNT, 64, 2, 2 },  { TIME_PROBE, 10, 9, 0 },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct learner l = begun(0, 0.001, row[i].source);

        take(&l, 1, 3, 100, 0.1 * row[i].ratio);
        take(&l, 1, row[i].steps, 100, 0.1 * row[i].ratio);
        ck_assert_double_eq_tol(l.contradicted, row[i].ret, 1e-9);
        take(&l, 1, 40, 100, 0.5); /* what comes later is another matter */
        if (row[i].steps >= 10)
            ck_assert_double_eq_tol(l.contradicted, row[i].ret, 1e-9);
    }
}
END_TEST

/* A device that becomes slower in mid-job, under its first plan, had been as earlier jobs have
 * learnt; one whose first window was short is not known to have been.
 */
START_TEST(slower_later)
{
    for (int64_t first = 9; first <= 10; first++) {
        struct learner l = begun(0, 0.001, TIME_LEARNT);
        struct step_metrics f = steps_of(1, 200, 64, 100, 0.15);

        take(&l, 1, first, 100, 0.1);
        ck_assert(learner_take(&l, &f));
        ck_assert_double_eq(l.contradicted, 0);
        f.points = f.steps = 128;
        learner_take(&l, &f);
        ck_assert_double_eq(l.contradicted, 0);
    }
}
END_TEST

/* Recursive least squares with forgetting, on relative residuals, over the steps themselves. */
struct recursion {
    double a, c, p[2][2];
};

static void recursion_take(struct recursion *r, double x, double t, double forget)
{
    double u = 1 / t, v = x / t;
    double pu = r->p[0][0] * u + r->p[0][1] * v, pv = r->p[1][0] * u + r->p[1][1] * v;
    double gain = 1 / (forget + u * pu + v * pv), off = 1 - r->a * u - r->c * v;

    r->a += gain * pu * off;
    r->c += gain * pv * off;
    r->p[0][0] = (r->p[0][0] - gain * pu * pu) / forget;
    r->p[1][1] = (r->p[1][1] - gain * pv * pv) / forget;
    r->p[0][1] = r->p[1][0] = (r->p[0][1] - gain * pu * pv) / forget;
}

static double normal(uint64_t *seed)
{
    return sqrt(-2 * log(1 - random_unit(seed))) * cos(2 * M_PI * random_unit(seed));
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Both see the same steps under three plans, without noise and with 3 % of it. */
START_TEST(against_recursion)
{
    static const int64_t batch[] = { 64, 120, 90 };
    const struct law t = { 0.05, 0.002 };

    for (int round = 0; round < 200; round++) {
        uint64_t seed = 1 + (uint64_t)round;
        double noise = round % 2 ? 0.03 : 0;
        struct learner l = begun(0, 1, TIME_PROBE);
        struct recursion r = { .c = 0.003, .p = { { 1e6, 0 }, { 0, 1e6 } } };
        struct time_model m;

        for (int plan = 0; plan < 3; plan++) {
            double v[40];

            for (int i = 0; i < 40; i++) {
                v[i] = law_s(t, (double)batch[plan]) * (1 + noise * normal(&seed));
                recursion_take(&r, (double)batch[plan], v[i], 0.98);
            }
            qsort(v, 40, sizeof *v, by_size);
            take(&l, plan + 1, 40, batch[plan], (v[19] + v[20]) / 2);
        }
        m = learner_model(&l);
        for (int64_t b = 60; b <= 130; b += 10) {
            double s = law_s(t, (double)b);

            ck_assert_double_eq_tol(time_model_s(&m, b), r.a + r.c * (double)b,
                                    s * (noise > 0 ? 0.05 : 1e-3));
            ck_assert_double_eq_tol(time_model_s(&m, b), s, s * (noise > 0 ? 0.05 : 1e-9));
        }
    }
}
END_TEST

/* Least squares in closed form: three points that no line meets, weighted 1/4, 1/2 and 1. */
START_TEST(least_squares)
{
    const double x[] = { 50, 80, 100 }, t[] = { 0.11, 0.13, 0.17 };
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0, a, c;
    struct learner l = begun(0, 1, TIME_PROBE);
    struct time_model m;

    for (int i = 0; i < 3; i++) {
        double w = ldexp(1, i - 2), u = 1 / t[i], v = x[i] / t[i];

        uu += w * u * u;
        uv += w * u * v;
        vv += w * v * v;
        u1 += w * u;
        v1 += w * v;
        take(&l, i + 1, 64, (int64_t)x[i], t[i]);
    }
    a = (u1 * vv - v1 * uv) / (uu * vv - uv * uv);
    c = (v1 * uu - u1 * uv) / (uu * vv - uv * uv);
    m = learner_model(&l);
    ck_assert_double_eq_tol(m.fixed_s / m.sample_s, a / c, 1e-6 * a / c);
    ck_assert_double_eq_tol(time_model_s(&m, 100), 0.17, 1e-9); /* the newest gives the scale */
}
END_TEST

START_TEST(bounds_of_the_line)
{
    struct learner flat = begun(0, 1, TIME_PROBE), steep = begun(0, 1, TIME_PROBE);
    struct time_model m;

    take(&flat, 1, 64, 20, 0.1);
    take(&flat, 2, 64, 60, 0.098);
    m = learner_model(&flat);
    ck_assert_double_ge(m.sample_s, 0.04 * 0.098 / 60);
    ck_assert_double_eq_tol(time_model_s(&m, 60), 0.098, 1e-9);
    take(&steep, 1, 64, 50, 0.05);
    take(&steep, 2, 64, 100, 0.12);
    m = learner_model(&steep);
    ck_assert(m.fixed_s == 0);
    ck_assert_double_eq_tol(time_model_s(&m, 100), 0.12, 1e-9);
}
END_TEST

/* The batch stands still for 5 000 steps: the constant is kept, and an estimate is still fresh. */
START_TEST(stands_still)
{
    const struct law t = { 0.05, 0.002 };
    struct learner l = begun(0, 1, TIME_PROBE);
    uint64_t seed = 5;

    take(&l, 1, 40, 50, law_s(t, 50));
    for (int64_t step = 3; step < 5000; step++)
        take(&l, 2, step, 100, law_s(t, 100) * (1 + 0.005 * normal(&seed)));
    take(&l, 2, 5000, 100, law_s(t, 100));
    expect(&l, t.fixed_s, t.sample_s, 0.02);
    take(&l, 3, 64, 40, law_s(t, 40));
    expect(&l, t.fixed_s, t.sample_s, 0.02);
}
END_TEST

/* A device that gets faster bit by bit under one plan, by 30 %, has no larger constant by that: as
 * read from the two points alone it would be 0.086.
 */
START_TEST(drifts)
{
    const struct law t = { 0.02, 0.002 };
    struct learner l = begun(0, 1, TIME_PROBE);

    take(&l, 1, 40, 50, law_s(t, 50));
    for (int64_t step = 3; step < 2000; step++)
        take(&l, 2, step, 100, law_s(t, 100) * (1 - 0.00015 * (double)step));
    ck_assert_double_eq_tol(learner_model(&l).fixed_s, 0.7 * t.fixed_s, 0.01);
}
END_TEST

/* Three times slower in mid-run: the shape stays, until points of the new speed tell another. */
START_TEST(changes_speed)
{
    const struct law t = { 0.05, 0.002 }, slow = { 0.05, 0.006 };
    struct learner l = begun(0, 1, TIME_PROBE);
    struct step_metrics f;

    take(&l, 1, 40, 50, law_s(t, 50));
    take(&l, 2, 40, 100, law_s(t, 100));
    f = steps_of(2, 240, STEP_WINDOW_SURE, 100, 3 * law_s(t, 100));
    ck_assert(learner_take(&l, &f));
    expect(&l, 3 * t.fixed_s, 3 * t.sample_s, 1e-9);
    f = steps_of(2, 240, 9, 100, law_s(slow, 100));
    ck_assert(!learner_take(&l, &f));
    ck_assert(!take(&l, 3, 20, 40, law_s(slow, 40)));
    expect(&l, slow.fixed_s, slow.sample_s, 1e-9);
    ck_assert_int_eq(l.largest, 100);
}
END_TEST

/* Three steps that took longer are no other speed, unless the next three say so too. */
START_TEST(held_up)
{
    const struct law t = { 0, 0.002 };
    struct learner l = begun(t.fixed_s, t.sample_s, TIME_GIVEN);
    struct step_metrics f = steps_of(1, 140, STEP_WINDOW_CHANGE, 100, 3 * law_s(t, 100));

    take(&l, 1, 40, 100, law_s(t, 100));
    ck_assert(!learner_take(&l, &f));
    expect(&l, t.fixed_s, t.sample_s, 1e-9);
    f = steps_of(1, 143, 5, 100, law_s(t, 100));
    ck_assert(!learner_take(&l, &f));
    f = steps_of(1, 143, 30, 100, law_s(t, 100));
    ck_assert(learner_take(&l, &f));
    expect(&l, t.fixed_s, t.sample_s, 1e-9);
}
END_TEST

/* Steps of 0.2 s of another speed, by which it is believed: of those behind a speed that has lasted
 * for 20 s fewer than of those behind one that was there for six, as where others come and go.
 */
START_TEST(believed_sooner)
{
    static const struct {
        int before, too_few, enough;
    } row[] = { { 60, 9, 11 }, { 200, 7, 8 } };
    const struct law t = { 0, 0.002 };

    for (int i = 0; i < 2; i++) {
        struct learner l = begun(t.fixed_s, t.sample_s, TIME_GIVEN);
        struct step_metrics f = steps_of(1, 500, row[i].too_few, 50, 2 * law_s(t, 50));

        take(&l, 1, row[i].before, 50, law_s(t, 50));
        ck_assert(!learner_take(&l, &f));
        ck_assert(learner_is_unsure(&l));
        f = steps_of(1, 500, row[i].enough, 50, 2 * law_s(t, 50));
        ck_assert(learner_take(&l, &f));
        expect(&l, 0, 2 * t.sample_s, 1e-9);
    }
}
END_TEST

/* The change falls together with that of the plan. */
START_TEST(changes_with_plan)
{
    const struct law t = { 0.05, 0.002 };
    struct learner l = begun(0, 1, TIME_PROBE);

    take(&l, 1, 40, 50, law_s(t, 50));
    take(&l, 2, 40, 100, law_s(t, 100));
    ck_assert(take(&l, 3, 3, 80, 3 * law_s(t, 80)));
    expect(&l, 3 * t.fixed_s, 3 * t.sample_s, 1e-9);
}
END_TEST

/* Work of four tokens a sample: the model is still one of samples. */
START_TEST(units_of_work)
{
    const struct law t = { 0.05, 0.002 };
    struct learner l = begun(0, 1, TIME_PROBE);

    for (int plan = 1; plan <= 2; plan++) {
        struct step_metrics f = steps_of(plan, 0, 30, 50 * plan, law_s(t, 50 * plan));

        f.work = 4 * (double)f.count;
        learner_take(&l, &f);
    }
    expect(&l, t.fixed_s, t.sample_s, 1e-9);
    ck_assert_int_eq(l.largest, 100);
}
END_TEST

START_TEST(newer_report_replaces)
{
    struct learner l = begun(0, 1, TIME_PROBE);

    take(&l, 2, 10, 50, 1);
    take(&l, 2, 12, 50, 0.9);
    take(&l, 1, 60, 80, 9); /* late */
    ck_assert_int_eq(l.n, 1);
    expect(&l, 0, 0.9 / 50, 1e-9);
}
END_TEST

START_TEST(error)
{
    struct learner l = begun(0, 1, TIME_PROBE);
    double before;

    take(&l, 1, 3, 50, 1);
    before = learner_error(&l);
    ck_assert(before > 0.01 && before < 0.04);
    take(&l, 1, 64, 50, 1);
    ck_assert_double_lt(learner_error(&l), before / 3);
}
END_TEST

START_TEST(input)
{
    struct learner l = begun(0, 1, TIME_PROBE);
    struct step_metrics f = steps_of(1, 0, 30, 50, 1);

    f.input = spread(0.25);
    learner_take(&l, &f);
    ck_assert_double_eq_tol(learner_input(&l), 0.25, 1e-9);
}
END_TEST

/* Whatever comes in, the model stays one. */
START_TEST(hostile)
{
    static const double value[] = { 0,     -1,   NAN, INFINITY, -INFINITY, 1e-300,
                                    1e300, 1e-9, 1e9, 1e18,     0.1,       3 };
    enum { VALUES = sizeof value / sizeof *value };
    uint64_t seed = 9;
    struct learner l = begun(0, 0.001, TIME_PROBE);

    for (int round = 0; round < 100000; round++) {
        struct step_metrics f = steps_of(1 + (int64_t)random_below(&seed, 8), round,
                                         (int64_t)random_below(&seed, 100), 10, 0.1);
        struct time_model m;

        f.count = random_below(&seed, 4) ? 1 + (int64_t)random_below(&seed, 100) : INT64_MAX;
        f.work = random_below(&seed, 4) ? (double)f.count : value[random_below(&seed, VALUES)];
        f.own = spread(value[random_below(&seed, VALUES)]);
        f.input = spread(value[random_below(&seed, VALUES)]);
        if (round % 1000 == 0)
            l = begun(0, 0.001, TIME_PROBE);
        learner_take(&l, &f);
        m = learner_model(&l);
        ck_assert(isfinite(m.fixed_s) && m.fixed_s >= 0);
        ck_assert(isfinite(m.sample_s) && m.sample_s > 0);
        ck_assert(isfinite(learner_error(&l)) && learner_error(&l) >= 0);
        ck_assert(learner_input(&l) >= 0 && learner_input(&l) <= 1);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, first_model);
    tcase_add_test(tc, proportional_then_affine);
    tcase_add_test(tc, refuted);
    tcase_add_test(tc, shape_of_the_first);
    tcase_add_test(tc, contradicted);
    tcase_add_test(tc, slower_later);
    tcase_add_test(tc, against_recursion);
    tcase_add_test(tc, least_squares);
    tcase_add_test(tc, bounds_of_the_line);
    tcase_add_test(tc, stands_still);
    tcase_add_test(tc, drifts);
    tcase_add_test(tc, changes_speed);
    tcase_add_test(tc, held_up);
    tcase_add_test(tc, believed_sooner);
    tcase_add_test(tc, changes_with_plan);
    tcase_add_test(tc, units_of_work);
    tcase_add_test(tc, newer_report_replaces);
    tcase_add_test(tc, error);
    tcase_add_test(tc, input);
    tcase_add_test(tc, hostile);
}

SUITE_MAIN("learner", add_tests)
