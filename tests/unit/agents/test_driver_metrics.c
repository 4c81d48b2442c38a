/* SPDX-License-Identifier: Apache-2.0 */
/* test_driver_metrics.c - tests of agents/driver/metrics/metrics.h */
#include "agents/driver/metrics/metrics.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 2, STEP_MS = 50, SAMPLES = 64 };

/* Two emulated workers: 10 ms + 1 ms a sample, and 10 ms + 3 ms a sample; batches 30 and 10. */
static struct plan *make_plan(bool emulated, bool relative)
{
    static const double sample_s[N] = { 1e-3, 3e-3 };
    static const int64_t batch[N] = { 30, 10 };
    struct plan *p = plan_new(1, N);

    ck_assert_ptr_nonnull(p);
    strcpy(p->node[0], "a");
    p->version = 1;
    p->global_batch = 40;
    p->relative = relative;
    p->emulated = emulated;
    p->predicted_samples_per_s = 1000;
    p->ideal_samples_per_s = 1000;
    p->equal_samples_per_s = 500;
    for (int i = 0; i < N; i++) {
        struct plan_worker *w = &p->worker[i];

        w->rank = w->local_rank = i;
        w->kind = emulated ? DEVICE_EMULATED : DEVICE_CPU;
        w->fixed_s = 10e-3;
        w->sample_s = sample_s[i];
        w->batch = batch[i];
        w->equal_batch = 20;
        w->step_s = 40e-3;
        w->samples_per_s = (double)batch[i] / 40e-3;
    }
    return p;
}

/* What a board says after `steps` steps of so many samples and ms each, `more` of them new. */
static struct progress progress(int rank, int64_t steps, int64_t more, int64_t samples,
                                int64_t step_ms)
{
    struct board_times t = { .compute_ns = (step_ms - 4) * CLOCK_MS,
                             .input_ns = CLOCK_MS,
                             .exposed_ns = CLOCK_MS,
                             .wait_ns = 2 * CLOCK_MS,
                             .total_ns = step_ms * CLOCK_MS };
    struct progress p = { .rank = rank,
                          .pid = 100 + rank,
                          .phase = 2,
                          .steps_done = steps,
                          .steps_total = 1000,
                          .steps_in_epoch = 100,
                          .epochs = 10,
                          .steps_here = steps,
                          .samples_done = steps * samples,
                          .plan_version = 1,
                          .step_plan = steps ? 1 : 0,
                          .plan_since = 0,
                          .page_age_ns = CLOCK_S,
                          .loss = 1 + rank,
                          .recent_steps = more,
                          .recent_samples = more * samples };
    int64_t *sum = (int64_t *)&p.sum, *recent = (int64_t *)&p.recent, *one = (int64_t *)&t;

    for (size_t i = 0; i < sizeof t / sizeof *one; i++) {
        sum[i] = steps * one[i];
        recent[i] = more * one[i];
    }
    return p;
}

/* p as if the steps before it had been others, under the plan before this version. */
static struct progress after(struct progress p, const struct progress *before, int64_t version,
                             int64_t since)
{
    int64_t *sum = (int64_t *)&p.sum;
    const int64_t *first = (const int64_t *)&before->sum;

    p.steps_done += before->steps_done;
    p.steps_here += before->steps_here;
    p.samples_done += before->samples_done;
    p.plan_version = p.step_plan = version;
    p.plan_since = since;
    for (size_t i = 0; i < sizeof p.sum / sizeof *sum; i++)
        sum[i] += first[i];
    return p;
}

static struct fixture {
    struct plan *plan;
    struct metrics f;
    struct job_status s;
    struct plan *other[2]; /* of other_plan */
    int n_others;
} x;

static void begin_of(bool emulated, bool relative, int64_t version)
{
    x.plan = make_plan(emulated, relative);
    x.plan->version = version;
    x.f = (struct metrics){ 0 };
    ck_assert_int_eq(metrics_next(&x.f, x.plan, version, NULL), 0);
    job_status_init(&x.s);
    ck_assert_int_eq(job_status_resize(&x.s, N, NULL), 0);
}

static void begin(void)
{
    begin_of(true, false, 1);
}

static void finish(void)
{
    metrics_fini(&x.f);
    job_status_fini(&x.s);
    plan_free(x.plan);
}

static void free_others(void)
{
    while (x.n_others > 0)
        plan_free(x.other[--x.n_others]);
}

/* Return a plan beside the fixture's own; free_others frees it. */
static struct plan *other_plan(bool emulated, int64_t version)
{
    struct plan *p = make_plan(emulated, false);

    p->version = version;
    return x.other[x.n_others++] = p;
}

/* Begin with another plan than the one of every test. */
static void begin_anew(bool emulated, bool relative, int64_t version)
{
    finish();
    begin_of(emulated, relative, version);
}

static void next_generation(int64_t step, const struct plan *p)
{
    metrics_end_generation(&x.f, step);
    ck_assert_int_eq(metrics_next(&x.f, p, 1, NULL), 0);
}

static void hear(struct progress p)
{
    metrics_progress(&x.f, &p, 5 * CLOCK_S);
    metrics_fill(&x.f, 6 * CLOCK_S, &x.s);
}

/* Hear of the first steps of both workers, of so many samples each. */
static void hear_both(int64_t steps, int64_t one, int64_t other, int64_t step_ms)
{
    for (int r = 0; r < N; r++)
        hear(progress(r, steps, steps, r ? other : one, step_ms));
}

#define near(a, b) ck_assert_double_eq_tol(a, b, 1e-9 * fabs((double)(b)) + 1e-12)

/* Of the plan in force and one speed, not of what came since the report before. */
START_TEST(medians)
{
    const struct step_metrics f = { .plan = 1,
                                    .since = 1,
                                    .steps = 20,
                                    .points = 20,
                                    .count = 30,
                                    .work = 30,
                                    .compute = { 0.01, 0.02, 0.03, 0.04 },
                                    .input = { 0, 0.001, 0.002, 0.003 },
                                    .exposed = { 0, 0.004, 0.004, 0.004 },
                                    .total = { 0.02, 0.03, 0.04, 0.05 } };
    struct progress p = progress(0, 100, 100, 30, 50);

    p.metrics = f;
    p.queued_s = 0.0005;
    p.memory_bytes = 4096;
    hear(p);
    near(x.s.worker[0].compute_ms, 20);
    near(x.s.worker[0].input_ms, 1);
    near(x.s.worker[0].exposed_ms, 4);
    near(x.s.worker[0].step_ms, 30);
    near(x.s.worker[0].wait_ms, 5);
    near(x.s.worker[0].queued_ms, 0.5);
    ck_assert_int_eq(x.s.worker[0].memory_bytes, 4096);
    ck_assert_int_eq(x.s.worker[0].metrics.steps, 20);
    p.metrics.total.median_s = 0.01; /* medians of parts may be more than that of the whole */
    hear(p);
    near(x.s.worker[0].step_ms, 25);
    ck_assert(x.s.worker[0].wait_ms == 0);
    x.s.state = JOB_ENDED; /* means over the plan */
    hear(p);
    near(x.s.worker[0].step_ms, 50);
}
END_TEST

START_TEST(nothing_known)
{
    metrics_fill(&x.f, 0, &x.s);
    ck_assert(isnan(x.s.samples_per_s) && isnan(x.s.loss) && isnan(x.s.accuracy));
    ck_assert(isnan(x.s.equal_measured_samples_per_s) && isnan(x.s.eta_s));
    near(x.s.ideal_samples_per_s, 30 / 40e-3 + 10 / 40e-3);
    near(x.s.predicted_samples_per_s, 1000);
    ck_assert_str_eq(x.s.worker[0].state, "waiting");
    ck_assert_int_eq(metrics_steps(&x.f), 0);
}
END_TEST

START_TEST(ordinary_run)
{
    struct progress p;

    hear(progress(0, 0, 0, 30, 50)); /* ready for its first step */
    ck_assert_int_eq(x.s.worker[0].batch, 30);
    hear(progress(0, 100, 100, 30, 50));
    ck_assert_int_eq(metrics_steps(&x.f), 0); /* the other has not been heard of */
    ck_assert(isnan(x.s.samples_per_s));
    hear(progress(1, 99, 99, 10, 40));
    ck_assert_int_eq(x.s.steps_done, 99);
    ck_assert_int_eq(x.s.samples, 3000 + 990);
    near(x.s.samples_per_s, 3990 / (100 * 50e-3)); /* the longest of the step times */
    near(x.s.recent_samples_per_s, x.s.samples_per_s);
    near(x.s.loss, (30 * 1 + 10 * 2) / 40.0);
    ck_assert_int_eq(x.s.epoch, 1);
    near(x.s.eta_s, (1000 - 99) * 40 / x.s.recent_samples_per_s);
    near(x.s.worker[0].step_ms, 50);
    near(x.s.worker[0].compute_ms, 46);
    near(x.s.worker[0].relative_speed, 40.0 / 47); /* its own: wait and exposed do not count */
    near(x.s.worker[0].expected_ms, 40);
    near(x.s.worker[0].last_step_age_s, 2);
    ck_assert_str_eq(x.s.worker[0].state, "compute");
    /* No step since: means over all. */
    p = progress(0, 100, 0, 30, 50);
    strcpy(p.metric[2].name, "test_accuracy");
    p.metric[2].value = 0.5;
    p.phase = 4, p.gpu.reading = 3;
    hear(p);
    near(x.s.worker[0].step_ms, 50);
    near(x.s.accuracy, 0.5);
    ck_assert_str_eq(x.s.worker[0].state, "evaluate");
    ck_assert_int_eq(x.s.worker[0].gpu.reading, 3);
    metrics_end(&x.f, 0, "exited");
    hear(p);
    ck_assert(strcmp(x.s.worker[0].state, "exited") == 0 && x.s.worker[0].gpu.reading == 0);
}
END_TEST

/* After a resume at step 500 the boards' sums hold the new steps only. */
START_TEST(resumed_run)
{
    struct progress p = progress(0, 10, 10, 30, 50);

    p.steps_done += 500;
    hear(p);
    p.recent_steps = 0;
    hear(p);
    near(x.s.worker[0].step_ms, 50);
    hear(p = progress(1, 10, 10, 10, 50));
    ck_assert_int_eq(metrics_steps_here(&x.f), 10);
    near(x.s.samples_per_s, 400 / 0.5);
}
END_TEST

/* The next generation resumes, as the driver thinks from step 80; where it really began its first
 * steps tell.  However it was, every step counts once.
 */
START_TEST(restarted_run)
{
    static const struct {
        int64_t from, samples, steps;
    } rows[] = { { 80, 3200 + 400, 90 }, { 60, 2400 + 400, 70 }, { 0, 400, 10 } };
    struct progress p;

    hear_both(100, 30, 10, 50);
    ck_assert_int_eq(x.s.samples, 4000);
    next_generation(80, x.plan);
    ck_assert_int_eq(metrics_steps(&x.f), 80);
    for (int r = 0; r < N; r++) {
        p = progress(r, 10, 10, r ? 10 : 30, 50);
        p.steps_done += rows[_i].from;
        hear(p);
    }
    ck_assert_int_eq(x.s.samples, rows[_i].samples);
    ck_assert_int_eq(x.s.steps_done, rows[_i].steps);
}
END_TEST

/* The next generation has fewer workers: what all did is compared with what all could have done,
 * and the last seconds with what those that are left can do.
 */
START_TEST(smaller_generation)
{
    struct plan *rest = other_plan(true, 1);

    hear_both(100, 30, 10, 50); /* 5 s, 1000 samples/s possible */
    near(x.s.ideal_samples_per_s, 1000);
    rest->n_workers = 1;
    rest->equal_samples_per_s = 800;
    rest->worker[0].batch = 40; /* 50 ms: 800 samples/s possible */
    next_generation(100, rest);
    ck_assert_int_eq(job_status_resize(&x.s, 1, NULL), 0);
    metrics_fill(&x.f, CLOCK_S, &x.s);
    near(x.s.ideal_samples_per_s, 1000);
    near(x.s.recent_ideal_samples_per_s, 800);
    hear(progress(0, 250, 250, 40, 60)); /* 15 s */
    near(x.s.samples_per_s, (4000 + 10000) / 20.0);
    near(x.s.ideal_samples_per_s, (1000 * 5 + 800 * 15) / 20.0);
    near(x.s.equal_predicted_samples_per_s, (500 * 5 + 800 * 15) / 20.0);
    near(x.s.recent_samples_per_s, 40 / 60e-3);
    near(x.s.recent_ideal_samples_per_s, 800);
}
END_TEST

/* The first generation's plan knew ratios only: they say what part of its speed an equal split
 * would have made, 4000 samples / 2.
 */
START_TEST(relative_generation)
{
    struct plan *rest = other_plan(false, 1);

    begin_anew(false, true, 1);
    hear_both(100, 30, 10, 50); /* 5 s */
    next_generation(100, rest);
    hear_both(300, 30, 10, 50); /* 15 s */
    near(x.s.equal_predicted_samples_per_s, (4000 / 2.0 + 500 * 15) / 20.0);
}
END_TEST

/* A node that is silent: what its workers said last is no rate of now. */
START_TEST(silent_node)
{
    struct progress p = progress(1, 100, 0, 10, 40);

    hear(progress(0, 100, 100, 30, 50));
    hear(p);
    near(x.s.recent_samples_per_s, 30 / 50e-3);
    metrics_progress(&x.f, &p, 9 * CLOCK_S);
    metrics_fill(&x.f, 9 * CLOCK_S, &x.s);
    ck_assert(isnan(x.s.recent_samples_per_s) && isnan(x.s.eta_s));
}
END_TEST

/* The program goes back from step 100 to step 50, and is ten steps further. */
START_TEST(back_to_a_checkpoint)
{
    hear_both(100, 30, 10, 50);
    for (int r = 0; r < N; r++) {
        struct progress p = progress(r, 110, 10, r ? 10 : 30, 50);

        p.steps_done = 60;
        hear(p);
    }
    ck_assert_int_eq(x.s.steps_done, 60);
    ck_assert_int_eq(x.s.samples, 110 * 40);
    next_generation(50, x.plan);
    ck_assert_int_eq(metrics_steps(&x.f), 50);
}
END_TEST

/* What the page says of the steps before the plan in force. */
static struct progress with_before(struct progress p, const struct progress *before)
{
    p.steps_before = before->steps_here;
    p.samples_before = before->samples_done;
    p.sum_before = before->sum;
    return p;
}

START_TEST(equal_split_is_measured_apart)
{
    begin_anew(true, false, 2);
    hear_both(50, 20, 20, 100);
    for (int r = 0; r < N; r++)
        ck_assert_int_eq(x.s.worker[r].batch, 20);
    near(x.s.equal_measured_samples_per_s, 400);
    near(x.s.samples_per_s, 400); /* nothing better is known */
    near(x.s.ideal_samples_per_s, 20 / 30e-3 + 20 / 70e-3);
    ck_assert(!metrics_real_begun(&x.f));
    for (int r = 0; r < N; r++) { /* agreed on, not reached: still of the equal split */
        struct progress p = progress(r, 60, 10, 20, 100);

        p.plan_version = 2;
        p.plan_since = 60;
        hear(p);
        ck_assert_int_eq(x.s.worker[r].batch, 20);
    }
    near(x.s.equal_measured_samples_per_s, 400);
    for (int r = 0; r < N; r++) { /* this report holds steps of both plans */
        struct progress at60 = progress(r, 60, 0, 20, 100);
        struct progress p = after(progress(r, 100, 100, r ? 10 : 30, 42), &at60, 2, 60);

        hear(with_before(p, &at60));
        ck_assert_int_eq(x.s.worker[r].batch, r ? 10 : 30);
    }
    ck_assert(metrics_real_begun(&x.f));
    near(x.s.samples_per_s, 100 * 40 / 4.2);
    near(x.s.equal_measured_samples_per_s, 400);
    near(x.s.ideal_samples_per_s, 30 / 40e-3 + 10 / 40e-3);
    near(x.s.worker[0].relative_speed, 40.0 / 39);
    /* First heard of under a third plan: nothing can be told apart any more. */
    begin_anew(true, false, 2);
    for (int r = 0; r < N; r++) {
        struct progress at60 = progress(r, 60, 0, 20, 100);

        hear(with_before(after(progress(r, 1, 1, 20, 100), &at60, 3, 60), &at60));
    }
    ck_assert(isnan(x.s.equal_measured_samples_per_s));
    near(x.s.samples_per_s, 400);
}
END_TEST

/* Each plan's steps count for it alone, also when a report holds steps of two. */
START_TEST(plans)
{
    struct plan *second = other_plan(false, 2), *third = other_plan(false, 4);
    struct progress at[N];

    begin_anew(false, true, 1);
    second->predicted_samples_per_s = 900;
    strcpy(second->change, "rank 1 is slow");
    hear_both(20, 20, 20, 100);
    ck_assert_int_eq(x.s.n_plans, 1);
    ck_assert_int_eq(x.s.plan[0].since, 0);
    near(x.s.plan[0].samples_per_s, 400);
    ck_assert(isnan(x.s.plan[0].predicted_samples_per_s));
    metrics_replan(&x.f, second);
    for (int r = 0; r < N; r++) { /* ten steps more of the first, then thirty of the second */
        struct progress at30 = progress(r, 30, 0, 20, 100);

        at[r] = with_before(after(progress(r, 30, 30, r ? 10 : 30, 50), &at30, 2, 30), &at30);
        hear(at[r]);
        ck_assert(isnan(x.s.plan[1].samples_per_s) == (r == 0));
    }
    ck_assert_int_eq(x.s.n_plans, 2);
    near(x.s.plan[0].samples_per_s, 400);
    ck_assert_int_eq(x.s.plan[0].steps, 30);
    near(x.s.plan[0].ideal_samples_per_s, 2 * 20 / 97e-3);
    near(x.s.plan[1].samples_per_s, 800);
    near(x.s.plan[1].predicted_samples_per_s, 900);
    ck_assert_int_eq(x.s.plan[1].since, 30);
    ck_assert_str_eq(x.s.plan[1].reason, "rank 1 is slow");
    for (int r = 0; r < N; r++) { /* version 3 is the second again, with a checkpoint */
        struct progress at60 = at[r];

        at[r] = with_before(after(progress(r, 10, 10, r ? 10 : 30, 50), &at60, 3, 60), &at60);
        hear(at[r]);
    }
    near(x.s.plan[1].samples_per_s, 800);
    ck_assert_int_eq(x.s.plan[1].steps, 40);
    metrics_replan(&x.f, third);
    at[0].plan_version = 4; /* agreed on, not reached */
    at[0].plan_since = 70;
    hear(at[0]);
    ck_assert_int_eq(x.s.plan[2].since, 70);
    ck_assert_int_eq(x.s.plan[2].steps, 0);
    ck_assert(isnan(x.s.plan[2].samples_per_s));
    for (int r = 0; r < N; r++) {
        struct progress at70 = at[r];

        hear(with_before(after(progress(r, 5, 5, r ? 10 : 30, 20), &at70, 4, 70), &at70));
    }
    ck_assert_int_eq(x.s.n_plans, 3);
    near(x.s.plan[1].samples_per_s, 800);
    near(x.s.plan[2].samples_per_s, 2000);
    ck_assert_int_eq(x.s.plan[2].since, 70);
}
END_TEST

/* The next generation's are apart, and what was is still known, however many there are. */
START_TEST(plans_of_generations)
{
    struct plan *second = other_plan(false, 1);

    begin_anew(false, true, 1);
    hear_both(20, 20, 20, 100);
    second->generation = 2;
    next_generation(20, second);
    hear(progress(0, 10, 10, 30, 50));
    ck_assert_int_eq(x.s.n_plans, 2);
    near(x.s.plan[0].samples_per_s, 400);
    ck_assert(isnan(x.s.plan[1].samples_per_s));
    for (int v = 2; v < 3 * STATUS_MAX_PLANS; v++) {
        second->version = v;
        metrics_replan(&x.f, second);
    }
    hear(progress(0, 11, 1, 30, 50));
    ck_assert_int_eq(x.s.n_plans, STATUS_MAX_PLANS);
    near(x.s.plan[0].samples_per_s, 400);
    ck_assert_int_eq(x.s.plan[STATUS_MAX_PLANS - 1].version, 3 * STATUS_MAX_PLANS - 1);
}
END_TEST

/* A worker went on to the plan after the next between two reports: what is known of it counts. */
START_TEST(plan_that_was_passed_over)
{
    struct plan *second = other_plan(false, 2), *third = other_plan(false, 3);

    begin_anew(false, false, 1);
    hear_both(20, 20, 20, 100);
    metrics_replan(&x.f, second);
    metrics_replan(&x.f, third);
    for (int r = 0; r < N; r++) {
        struct progress at30 = progress(r, 30, 0, 20, 100);

        hear(with_before(after(progress(r, 30, 30, 20, 50), &at30, 3, 30), &at30));
    }
    near(x.s.plan[0].samples_per_s, 400);
    ck_assert_int_eq(x.s.plan[0].steps, 20);
    ck_assert(isnan(x.s.plan[1].samples_per_s));
    ck_assert_int_eq(x.s.plan[1].since, -1);
    near(x.s.plan[2].samples_per_s, 800);
}
END_TEST

/* Few steps are not measured by the first ones, in which a program warms up. */
START_TEST(cold_steps_do_not_count)
{
    begin_anew(true, false, 2);
    for (int r = 0; r < N; r++) {
        struct progress cold = progress(r, 3 + r, 3 + r, 20, 900);
        struct progress at8 = after(progress(r, 5 - r, 5 - r, 20, 100), &cold, 1, 0);

        hear(cold);
        hear(at8);
        hear(with_before(after(progress(r, 1, 1, 20, 50), &at8, 2, 8), &at8));
    }
    ck_assert(metrics_real_begun(&x.f));
    near(x.s.equal_measured_samples_per_s, 200 * N);
}
END_TEST

/* A checkpoint and the end were asked for while the equal split was measured: plan 2 is no other.
 */
START_TEST(equal_split_to_the_end)
{
    begin_anew(true, false, 2);
    metrics_only_equal(&x.f);
    for (int r = 0; r < N; r++) {
        struct progress p = progress(r, 11, 11, 20, 100);

        p.plan_version = p.step_plan = 2;
        p.plan_since = 10;
        hear(p);
    }
    ck_assert(!metrics_real_begun(&x.f));
    ck_assert_int_eq(x.s.n_plans, 0);
    near(x.s.samples_per_s, 400);
    near(x.s.equal_measured_samples_per_s, 400);
}
END_TEST

/* A few slow steps say nothing about a device; once they are part of a window they count. */
START_TEST(own_speed_needs_a_window)
{
    struct progress slow = progress(0, 5, 5, 30, 400), fast;

    hear(slow);
    ck_assert(isnan(x.s.worker[0].relative_speed));
    fast = after(progress(0, METRICS_WINDOW, METRICS_WINDOW, 30, 44), &slow, 1, 0);
    hear(fast);
    ck_assert(x.s.worker[0].relative_speed < 0.6);
    for (int i = 0; i < 3; i++)
        hear(fast = after(progress(0, METRICS_WINDOW, METRICS_WINDOW, 30, 44), &fast, 1, 0));
    near(x.s.worker[0].relative_speed, 40.0 / 41);
    /* The last report of a job is a short one. */
    hear(fast = after(progress(0, 1, 1, 30, 200), &fast, 1, 0));
    ck_assert_double_gt(x.s.worker[0].relative_speed, 0.7);
    x.s.state = JOB_ENDED; /* all of its steps */
    hear(fast);
    near(x.s.worker[0].relative_speed, 86 * 40.0 / (5 * 397 + 197 + 80 * 41));
    near(x.s.worker[0].step_ms, (5 * 400 + 200 + 80 * 44) / 86.0);
}
END_TEST

/* A device that others slow down in the end is held against its own steps, not against the last. */
START_TEST(ideal_is_of_the_same_steps)
{
    struct progress at[N];

    begin_anew(false, false, 1);
    for (int r = 0; r < N; r++)
        hear(at[r] = progress(r, 100, 100, 20, 50));
    near(x.s.samples_per_s, 40 / 50e-3);
    near(x.s.ideal_samples_per_s, 40 / 47e-3);
    for (int r = 0; r < N; r++) {
        struct progress p = after(progress(r, 10, 10, 20, 200), &at[r], 1, 0);

        p.metrics =
            (struct step_metrics){ .plan = 1, .steps = 10, .points = 10, .count = 20, .work = 20 };
        p.metrics.own.median_s = 197e-3;
        hear(p);
    }
    near(x.s.samples_per_s, 110 * 40 / (100 * 50e-3 + 10 * 200e-3));
    near(x.s.ideal_samples_per_s, 110 * 40 / (100 * 47e-3 + 10 * 197e-3));
    near(x.s.plan[0].samples_per_s, x.s.samples_per_s);
    near(x.s.plan[0].ideal_samples_per_s, x.s.ideal_samples_per_s);
    near(x.s.recent_samples_per_s, 40 / 200e-3);
    near(x.s.recent_ideal_samples_per_s, 40 / 197e-3);
    for (int r = 0; r < N; r++) { /* nothing new: as it was in its latest steps */
        struct progress p = x.f.worker[r].last;

        p.recent_steps = p.recent_samples = 0;
        p.recent = (struct board_times){ 0 };
        p.metrics.own.median_s = 100e-3;
        hear(p);
    }
    near(x.s.recent_ideal_samples_per_s, 40 / 100e-3);
}
END_TEST

START_TEST(relative_model)
{
    struct plan *seconds = other_plan(false, 1); /* its workers were measured */

    begin_anew(false, true, 1);
    metrics_fill(&x.f, 0, &x.s);
    ck_assert(isnan(x.s.predicted_samples_per_s) && isnan(x.s.equal_predicted_samples_per_s));
    ck_assert(isnan(x.s.ideal_samples_per_s));
    hear_both(10, 30, 10, 50);
    ck_assert(isnan(x.s.predicted_samples_per_s) && isnan(x.s.worker[0].expected_ms));
    ck_assert(isnan(x.s.equal_predicted_samples_per_s)); /* only the plan's model could tell */
    near(x.s.ideal_samples_per_s, 40 / 47e-3);           /* compute and input: 46 + 1 ms */
    ck_assert(isnan(x.s.plan[0].predicted_samples_per_s));
    metrics_refine(&x.f, seconds);
    hear(progress(0, 20, 10, 30, 50));
    near(x.s.predicted_samples_per_s, 1000);
    near(x.s.equal_predicted_samples_per_s, 500);
    near(x.s.worker[0].expected_ms, 40);
    near(x.s.plan[0].predicted_samples_per_s, 1000);
    ck_assert_int_eq(x.s.n_plans, 1);
}
END_TEST

START_TEST(nonsense)
{
    hear(progress(-1, 10, 10, 30, 50));
    hear(progress(N, 10, 10, 30, 50));
    metrics_end(&x.f, N, "exited");
    ck_assert_int_eq(x.s.samples, 0);
}
END_TEST

/* At their own paces one worker's steps tell nothing: 40 samples are a step of the job. */
START_TEST(own_paces)
{
    strcpy(x.plan->algorithm, "easgd");
    x.plan->options.period = 8;
    x.plan->worker[1].group = 1;
    hear(progress(0, 300, 1, 30, 40));
    hear(progress(1, 100, 1, 10, 40));
    ck_assert_int_eq(x.s.steps_done, 300 * 30 / 40 + 100 * 10 / 40);
    ck_assert_int_eq(x.s.epoch, 3);
    ck_assert_int_eq(x.s.worker[1].group, 1);
}
END_TEST

/* A progress that went on behind so many samples of the job, with steps of its own. */
static struct progress restored(struct progress p, int64_t samples, int64_t step)
{
    p.samples_in_epoch = 3990; /* an epoch's 100th step is a shorter one */
    p.restored_samples = samples;
    p.steps_done += step;
    return p;
}

/* Behind a checkpoint at its 155th step the job's samples count, up to the last one, whether the
 * workers go at their own paces or do together what such ones left out.
 */
START_TEST(restored_at_own_paces)
{
    const int64_t before = 3990 + 55 * 40;

    strcpy(x.plan->algorithm, _i ? "easgd" : "");
    x.plan->options.period = _i ? 8 : 0;
    hear(restored(progress(0, 0, 0, 30, 40), before, 155));
    ck_assert_int_eq(x.s.steps_done, 155);
    ck_assert_int_eq(x.s.epoch, 2);
    hear(restored(progress(0, 40, 40, 30, 40), before, 155));
    hear(restored(progress(1, 20, 20, 10, 40), before, 155));
    ck_assert_int_eq(x.s.steps_done, 155 + 35);
    next_generation(180, x.plan);
    ck_assert_int_eq(metrics_steps(&x.f), 180);
    hear(restored(progress(1, 5, 5, 10, 40), before + 25 * 40, 180));
    ck_assert_int_eq(x.s.steps_done, 181);
    hear(restored(progress(0, 1, 1, 39900 - before - 25 * 40 - 50, 40), before + 25 * 40, 180));
    ck_assert_int_eq(x.s.steps_done, 1000);
}
END_TEST

/* It goes back, from 400 steps to 100. */
START_TEST(back_at_own_paces)
{
    strcpy(x.plan->algorithm, "easgd");
    x.plan->options.period = 8;
    for (int r = 0; r < N; r++) {
        struct progress p = restored(progress(r, 410, 10, r ? 10 : 30, 40), 3990, 0);

        p.restored_at = 400 * (r ? 10 : 30);
        hear(p);
    }
    ck_assert_int_eq(x.s.steps_done, 110);
}
END_TEST

/* The first rank tells `here` steps behind those before, of so many; the other one says nothing. */
static void tell(int64_t before, int64_t here, int64_t total)
{
    struct progress p = progress(0, here, 0, SAMPLES, STEP_MS);

    p.steps_only = true;
    p.steps_done += before;
    p.steps_total = total;
    p.steps_in_epoch = p.epochs = 0;
    p.loss = p.queued_s = NAN;
    hear(p);
}

/* A program that tells its steps goes on by itself: what it does again counts once. */
START_TEST(reported_run)
{
    static const int64_t from[] = { 100, 40, 0 };

    begin_anew(false, true, 1);
    tell(0, 100, 0);
    ck_assert_int_eq(x.s.steps_done, 100);
    near(x.s.samples_per_s, SAMPLES / 50e-3);
    next_generation(-1, x.plan);
    metrics_fill(&x.f, 0, &x.s);
    ck_assert_int_eq(x.s.samples, 100 * SAMPLES);
    tell(from[_i], 10, 0);
    ck_assert_int_eq(x.s.samples, (from[_i] + 10) * SAMPLES);
    ck_assert_int_eq(x.s.steps_done, from[_i] + 10);
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

    begin_anew(false, true, 1);
    x.f.all_steps = row[_i].job;
    tell(0, row[_i].here, row[_i].program);
    ck_assert_int_eq(x.s.steps_total, row[_i].total);
    if (row[_i].eta_s < 0)
        ck_assert(isnan(x.s.eta_s));
    else
        ck_assert_double_eq_tol(x.s.eta_s, row[_i].eta_s, 1e-9);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, free_others); /* behind finish */
    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_loop_test(tc, reported_run, 0, 3);
    tcase_add_loop_test(tc, all_steps, 0, 7);
    tcase_add_test(tc, own_paces);
    tcase_add_loop_test(tc, restored_at_own_paces, 0, 2);
    tcase_add_test(tc, back_at_own_paces);
    tcase_add_test(tc, nothing_known);
    tcase_add_test(tc, medians);
    tcase_add_test(tc, ordinary_run);
    tcase_add_test(tc, resumed_run);
    tcase_add_test(tc, smaller_generation);
    tcase_add_test(tc, relative_generation);
    tcase_add_test(tc, silent_node);
    tcase_add_test(tc, back_to_a_checkpoint);
    tcase_add_loop_test(tc, restarted_run, 0, 3);
    tcase_add_test(tc, equal_split_is_measured_apart);
    tcase_add_test(tc, equal_split_to_the_end);
    tcase_add_test(tc, cold_steps_do_not_count);
    tcase_add_test(tc, plans);
    tcase_add_test(tc, plans_of_generations);
    tcase_add_test(tc, plan_that_was_passed_over);
    tcase_add_test(tc, own_speed_needs_a_window);
    tcase_add_test(tc, ideal_is_of_the_same_steps);
    tcase_add_test(tc, relative_model);
    tcase_add_test(tc, nonsense);
}

SUITE_MAIN("driver_figures", add_tests)
