/* SPDX-License-Identifier: Apache-2.0 */
/* test_past_curves.c - tests of agents/driver/history/past_curves.h: efficiencies from the losses
 * of ordinary jobs
 */
#include "agents/driver/history/past_curves.h"

#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 1 << 20, BATCH = 100 };

static struct file_thread *reader;
static struct job job;

static void begin(void)
{
    static char workdir[] = "/home/ann", program[] = "./train";
    static char *command[] = { program, NULL };

    ck_assert_int_eq(setenv("XDG_CACHE_HOME", scratch, 1), 0);
    ck_assert_int_eq(file_thread_start(&reader, NULL), 0);
    job =
        (struct job){ .workdir = workdir, .command = command, .profile.cache_ns = 3600 * CLOCK_S };
}

static void end(void)
{
    file_thread_stop(reader);
}

/* Return a number between -1 and 1 that depends on x without a pattern. */
static double noise(uint64_t x)
{
    x = (x + 1) * 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
    return (double)(x >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

/* Return the curve of a run with this efficiency, `value`. It has a point every `apart` of its
 * `steps` steps, and each loss differs from the mean by at most `part` of it, by chance.
 */
static struct curve curve_of(double value, int steps, int apart, double part, uint64_t seed)
{
    struct curve c = { 0 };

    for (int i = apart; i <= steps; i += apart) {
        double t = value * i, loss = 0.1 + 2.2 * exp(-t / 300) + 0.5 / sqrt(1 + t / 30);

        curve_add(&c,
                  &(struct curve_point){ .samples = (int64_t)i * BATCH,
                                         .loss = loss * (1 + part * noise(seed + (uint64_t)i)) },
                  BATCH);
    }
    curve_end(&c);
    return c;
}

static struct past_curve past_of(const char *algorithm, int writers, int period, double value)
{
    struct curve c = curve_of(value, 1000, 3, 0, 0);
    struct past_curve p = { .writers = writers, .period = period, .batch = BATCH };

    snprintf(p.algorithm, sizeof p.algorithm, "%s", algorithm);
    past_curve_take(&p, &c);
    return p;
}

START_TEST(ratio)
{
    struct curve sync = curve_of(1, 1000, 3, 0, 0), c = curve_of(0.5, 900, 4, 0, 0);

    ck_assert_double_eq_tol(curve_ratio(sync.point, sync.n, c.point, c.n), 0.5, 0.02);
    ck_assert_double_eq_tol(curve_ratio(c.point, c.n, sync.point, sync.n), 2, 0.08);
    ck_assert_double_eq_tol(curve_ratio(sync.point, sync.n, sync.point, sync.n), 1, 1e-12);

    for (uint64_t seed = 0; seed < 50; seed++) { /* losses of batches, by chance */
        double value = 0.3 + 0.02 * (double)seed;
        struct curve a = curve_of(1, 1000, 3, 0.3, 2000 * seed),
                     b = curve_of(value, 1000, 5, 0.3, 2000 * seed + 1000000);

        ck_assert_double_eq_tol(curve_ratio(a.point, a.n, b.point, b.n) / value, 1, 0.2);
    }

    c = curve_of(1, 20, 3, 0, 0); /* too short */
    ck_assert(isnan(curve_ratio(sync.point, sync.n, c.point, c.n)));
    c = curve_of(1e-6, 1000, 3, 0, 0); /* learns nothing */
    ck_assert(isnan(curve_ratio(sync.point, sync.n, c.point, c.n)));
    c = curve_of(-1e-4, 1000, 3, 0, 0); /* gets worse */
    ck_assert(isnan(curve_ratio(sync.point, sync.n, c.point, c.n)));
    ck_assert(isnan(curve_ratio(sync.point, 0, c.point, c.n)));

    for (int i = 0; i < sync.n; i++) /* as those of a flow */
        sync.point[i].loss = -5 - 2 * (double)i / sync.n;
    c = sync;
    for (int i = 0; i < c.n; i++)
        c.point[i].loss = -1 - 3.4 * (double)i / c.n;
    ck_assert(isnan(curve_ratio(sync.point, sync.n, c.point, c.n)));
    ck_assert(isnan(curve_ratio(c.point, c.n, sync.point, sync.n)));
}
END_TEST

START_TEST(taken)
{
    struct curve c = curve_of(1, 1000, 4, 0, 0);
    struct past_curve p = { 0 };

    ck_assert_int_gt(c.n, PAST_POINTS);
    past_curve_take(&p, &c);
    ck_assert_int_eq(p.n, PAST_POINTS);
    ck_assert_int_eq(p.point[0].samples, c.point[0].samples);
    ck_assert_int_eq(p.point[p.n - 1].samples, c.point[c.n - 1].samples);
    c.n = 1;
    past_curve_take(&p, &c);
    ck_assert_int_eq(p.n, 1);
    c.n = 0;
    past_curve_take(&p, &c);
    ck_assert_int_eq(p.n, 0);
}
END_TEST

static int keep(const struct past_curve *c)
{
    struct eddis_error err = { 0 };
    int rc = past_curve_keep(reader, &job, BYTES, c, &err);

    ck_assert_msg(rc >= 0, "%s", err.text);
    return rc;
}

/* Return the stored efficiency; 0: there is none. */
static double stored(const char *algorithm, int writers, int period, int64_t bytes)
{
    struct efficiency_row row = { .writers = writers, .period = period, .batch = BATCH };
    struct past_efficiencies l = { 0 };
    double value;

    snprintf(row.algorithm, sizeof row.algorithm, "%s", algorithm);
    (void)past_efficiencies_load(reader, &job, bytes, &l);
    value = past_efficiency(&l, &row);
    past_efficiencies_fini(&l);
    return value;
}

START_TEST(jobs)
{
    struct past_curve sync = past_of("allreduce", 1, 0, 1), easgd = past_of("easgd", 4, 8, 0.5),
                      other = past_of("easgd", 4, 8, 0.5);

    ck_assert_int_eq(keep(&easgd), 0); /* nothing to compare it with */
    ck_assert_int_eq(keep(&sync), 1);  /* in either order */
    ck_assert_double_eq_tol(stored("easgd", 4, 8, BYTES), 0.5, 0.03);
    ck_assert(stored("easgd", 4, 8, BYTES + 1) == 0); /* another model */

    easgd = past_of("easgd", 4, 16, 0.4);
    ck_assert_int_eq(keep(&easgd), 1);
    ck_assert_double_eq_tol(stored("easgd", 4, 16, BYTES), 0.4, 0.03);
    ck_assert_double_eq_tol(stored("easgd", 4, 8, BYTES), 0.5, 0.03);

    easgd = past_of("easgd", 4, 16, 0.8); /* the new one counts a third */
    ck_assert_int_eq(keep(&easgd), 1);
    ck_assert_double_eq_tol(stored("easgd", 4, 16, BYTES), 0.4 * cbrt(2), 0.04);

    sync = past_of("external", 1, 0, 2); /* the newest course of sync mode counts, and it alone */
    ck_assert_int_eq(keep(&sync), 2);
    easgd = past_of("easgd", 4, 32, 0.5);
    ck_assert_int_eq(keep(&easgd), 1);
    ck_assert_double_eq_tol(stored("easgd", 4, 32, BYTES), 0.25, 0.03);

    easgd = past_of("easgd", 1, 8, 0.5); /* one model with a center is no sync mode */
    ck_assert_int_eq(keep(&easgd), 0);

    easgd = past_of("easgd", 4, 0, 0.5); /* no efficiency has such a period: the others stay */
    ck_assert_int_eq(keep(&easgd), 0);
    ck_assert(stored("easgd", 4, 32, BYTES) > 0);

    other.batch = BATCH / 2; /* losses of other batches are not compared */
    ck_assert_int_eq(keep(&other), 0);
}
END_TEST

/* A table that cannot be read is not replaced. */
START_TEST(no_cache)
{
    struct past_curve sync = past_of("allreduce", 1, 0, 1), easgd = past_of("easgd", 4, 8, 0.5);

    ck_assert_int_eq(keep(&sync), 0);
    job.profile.cache_ns = 0;
    ck_assert_int_eq(keep(&easgd), 0);
    job.profile.cache_ns = 3600 * CLOCK_S;
    ck_assert_int_eq(keep(&easgd), 1); /* the first course is still there */
}
END_TEST

START_TEST(oldest)
{
    for (int i = 0; i < PAST_CURVES + 10; i++) { /* the first ones go */
        struct past_curve c = past_of("easgd", 4, i + 1, 0.5);

        ck_assert_int_eq(keep(&c), 0);
    }
    ck_assert_int_eq(keep(&(struct past_curve){
                         .algorithm = "allreduce", .writers = 1, .batch = BATCH, .n = 0 }),
                     0);
    struct past_curve sync = past_of("allreduce", 1, 0, 1);
    ck_assert_int_eq(keep(&sync), PAST_CURVES - 1);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, ratio);
    tcase_add_test(tc, taken);
    tcase_add_test(tc, jobs);
    tcase_add_test(tc, no_cache);
    tcase_add_test(tc, oldest);
}

SUITE_MAIN("past_curves", add_tests)
