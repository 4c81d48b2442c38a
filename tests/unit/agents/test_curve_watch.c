/* SPDX-License-Identifier: Apache-2.0 */
/* test_curve_watch.c - tests of agents/driver/history/curve_watch.h: which jobs leave their losses
 */
#include "agents/driver/history/curve_watch.h"

#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 1 << 20, BATCH = 100 };

static struct metrics_worker worker;
static struct driver_options options;
static struct job_run run;
static struct job job;
static struct history history;
static struct curve_watch w;
static struct plan plan;
static int64_t now_ns, step;

static void begin(void)
{
    static char workdir[] = "/home/ann", program[] = "./train";
    static char *command[] = { program, NULL };

    ck_assert_int_eq(setenv("XDG_CACHE_HOME", scratch, 1), 0);
    job =
        (struct job){ .workdir = workdir, .command = command, .profile.cache_ns = 3600 * CLOCK_S };
    options = (struct driver_options){ .job = &job };
    run = (struct job_run){ .o = &options };
    ck_assert_int_eq(file_thread_start(&run.reader, NULL), 0);
    run.state.generation = 1;
    run.metrics.plan = &plan;
    run.metrics.worker = &worker;
    run.metrics.n_workers = 1;
    history = (struct history){ .run = &run, .model.bytes = BYTES };
}

static void end(void)
{
    file_thread_stop(run.reader);
}

/* Begin another job with this algorithm and period. */
static void begin_job(const char *algorithm, int models, int64_t period)
{
    static struct plan_worker share = { .batch = BATCH };

    plan = (struct plan){ .worker = &share, .n_workers = 1, .n_groups = models };
    plan.global_batch = BATCH;
    plan.options.period = period;
    (void)snprintf(plan.algorithm, sizeof plan.algorithm, "%s", algorithm);
    worker = (struct metrics_worker){ .seen = true };
    w = (struct curve_watch){ 0 };
    run.state.generation = 1;
    step = 0;
}

/* Train and report so many steps. */
static void train(int steps)
{
    for (int i = 0; i < steps; i++) {
        step++;
        now_ns += CLOCK_S;
        worker.last.steps_here++;
        worker.last.steps_done = step;
        worker.last.samples_done = step * BATCH;
        worker.last.loss = 0.1 + 2 * exp(-(double)step / 30);
        curve_watch_look(&w, &plan, &run, now_ns);
    }
}

/* End the job; return whether it shows the efficiency of this algorithm and period. */
static bool shows(const char *algorithm, int64_t period)
{
    struct efficiency_row row = { .writers = 4, .period = period, .batch = BATCH };
    struct past_efficiencies l = { 0 };
    double value;

    curve_watch_keep(&w, &history);
    snprintf(row.algorithm, sizeof row.algorithm, "%s", algorithm);
    (void)past_efficiencies_load(run.reader, &job, BYTES, &l);
    value = past_efficiency(&l, &row);
    past_efficiencies_fini(&l);
    ck_assert(value == 0 || fabs(value - 1) < 0.1);
    return value > 0;
}

/* Leave the course of a job in sync mode, with which the others are compared. */
static void train_sync(void)
{
    begin_job("allreduce", 1, 0);
    train(100);
    curve_watch_keep(&w, &history);
}

START_TEST(kept)
{
    train_sync();
    begin_job("easgd", 4, 8);
    train(100);
    ck_assert(shows("easgd", 8));
}
END_TEST

START_TEST(periods)
{
    train_sync();
    begin_job("easgd", 4, 16); /* is corrected at once */
    train(10);
    plan.options.period = 2;
    train(50);
    plan.options.period = 3;
    train(40);
    ck_assert(shows("easgd", 3));

    begin_job("easgd", 4, 10); /* changes little by little, but by much in all */
    for (int64_t period = 10; period < 100; period = period * 19 / 10) {
        plan.options.period = period;
        train(25);
    }
    ck_assert(!shows("easgd", plan.options.period));
}
END_TEST

START_TEST(not_kept)
{
    train_sync();
    begin_job("easgd", 4, 8); /* short */
    train(29);
    ck_assert(!shows("easgd", 8));

    begin_job("easgd", 4, 8); /* a part of a comparison */
    train(100);
    options.compared = true;
    ck_assert(!shows("easgd", 8));
    options.compared = false;

    begin_job("easgd", 4, 8); /* a loss that was not finite, also if a later one is */
    train(50);
    worker.last.loss_step = 50;
    train(1);
    worker.last.loss_step = 0;
    train(50);
    ck_assert(!shows("easgd", 8));

    begin_job("easgd", 4, 8); /* goes on from a checkpoint */
    step = 500;
    train(100);
    ck_assert(!shows("easgd", 8));

    begin_job("easgd", 1, 8); /* one model with a center */
    train(100);
    ck_assert(!shows("easgd", 8));
}
END_TEST

/* What was recorded until a restart, or until another algorithm, counts. */
START_TEST(ended)
{
    train_sync();
    begin_job("easgd", 4, 8);
    train(60);
    run.state.generation = 2;
    train(60);
    ck_assert_int_eq(w.curve.last.samples, 60 * BATCH);
    ck_assert(shows("easgd", 8));

    begin_job("hsgd", 4, 8);
    train(60);
    plan.n_groups = 3;
    train(60);
    ck_assert_int_eq(w.curve.last.samples, 60 * BATCH);
    ck_assert(shows("hsgd", 8));
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, kept);
    tcase_add_test(tc, periods);
    tcase_add_test(tc, not_kept);
    tcase_add_test(tc, ended);
}

SUITE_MAIN("curve_watch", add_tests)
