/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics_reported.c - figures of a program that tells the numbers of its steps, or prints
 * them */
#include "agents/driver/metrics/metrics.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum { N = 2, STEP_MS = 50, SAMPLES = 64 };

struct fixture {
    struct plan *plan;
    struct metrics f;
    struct job_status s;
};

static void begin(struct fixture *x)
{
    x->plan = plan_new(1, N);
    ck_assert_ptr_nonnull(x->plan);
    strcpy(x->plan->node[0], "a");
    x->plan->version = 1;
    x->plan->global_batch = 40;
    x->plan->relative = true;
    for (int i = 0; i < N; i++)
        x->plan->worker[i] = (struct plan_worker){ .rank = i, .local_rank = i, .batch = 20 };
    x->f = (struct metrics){ 0 };
    ck_assert_int_eq(metrics_next(&x->f, x->plan, 1, NULL), 0);
    job_status_init(&x->s);
    ck_assert_int_eq(job_status_resize(&x->s, N, NULL), 0);
}

/* The first rank tells `here` steps behind those before, of so many; the other one says nothing. */
static void tell(struct fixture *x, int64_t before, int64_t here, int64_t total)
{
    const struct progress p = { .pid = 100,
                                .phase = 2,
                                .steps_only = true,
                                .steps_done = before + here,
                                .steps_total = total,
                                .steps_here = here,
                                .samples_done = here * SAMPLES,
                                .plan_version = 1,
                                .step_plan = 1,
                                .page_age_ns = 0,
                                .sum = { .compute_ns = here * STEP_MS * CLOCK_MS,
                                         .total_ns = here * STEP_MS * CLOCK_MS },
                                .loss = NAN,
                                .queued_s = NAN };

    metrics_progress(&x->f, &p, 0);
    metrics_fill(&x->f, 0, &x->s);
}

static void finish(struct fixture *x)
{
    metrics_fini(&x->f);
    job_status_fini(&x->s);
    plan_free(x->plan);
}

/* One that goes on by itself: what it does again is taken off when it tells from where. */
START_TEST(reported_run)
{
    static const int64_t from[] = { 100, 40, 0 };
    struct fixture x;

    begin(&x);
    tell(&x, 0, 100, 0);
    ck_assert_int_eq(x.s.steps_done, 100);
    ck_assert_double_eq_tol(x.s.samples_per_s, SAMPLES / 50e-3, 1e-9 * SAMPLES / 50e-3);
    metrics_end_generation(&x.f, -1);
    ck_assert_int_eq(metrics_next(&x.f, x.plan, 1, NULL), 0);
    metrics_fill(&x.f, 0, &x.s);
    ck_assert_int_eq(x.s.samples, 100 * SAMPLES);
    tell(&x, from[_i], 10, 0);
    ck_assert_int_eq(x.s.samples, (from[_i] + 10) * SAMPLES);
    ck_assert_int_eq(x.s.steps_done, from[_i] + 10);
    finish(&x);
}
END_TEST

/* The job's word of all steps comes before the program's, which may be of one epoch; and what has
 * been passed is not the number of all.
 */
START_TEST(all_steps)
{
    static const struct {
        int64_t job, program, here, total;
        double eta_s; /* -1: unknown */
    } row[] = {
        { 0, 0, 100, 0, -1 },       { 400, 0, 100, 400, 15 },  { 0, 400, 100, 400, 15 },
        { 400, 150, 100, 400, 15 }, { 400, 150, 400, 400, 0 }, { 0, 150, 151, 0, -1 },
        { 400, 150, 401, 0, -1 },
    };
    struct fixture x;

    begin(&x);
    x.f.all_steps = row[_i].job;
    tell(&x, 0, row[_i].here, row[_i].program);
    ck_assert_int_eq(x.s.steps_total, row[_i].total);
    if (row[_i].eta_s < 0)
        ck_assert(isnan(x.s.eta_s));
    else
        ck_assert_double_eq_tol(x.s.eta_s, row[_i].eta_s, 1e-9);
    finish(&x);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, reported_run, 0, 3);
    tcase_add_loop_test(tc, all_steps, 0, 7);
}

SUITE_MAIN("figures_told", add_tests)
