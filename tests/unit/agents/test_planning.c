/* SPDX-License-Identifier: Apache-2.0 */
/* test_planning.c - tests of agents/driver/plan/planning.h: a restart waits for the list of
 * checkpoints
 */
#include "agents/driver/plan/planning.h"

#include "held_thread.h"
#include "lib/base/clock.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <string.h>
#include <sys/stat.h>

static struct held held; /* the folder answers when it is let go */
static struct job job;
static struct driver_options options;
static struct job_run run;
static const struct run_network network;
static struct planning planning;
static char said[2048], resume[] = "auto";

static void say(void *ctx, const char *sentence)
{
    (void)ctx;
    strncat(said, sentence, sizeof said - strlen(said) - 1);
}

/* The second generation is to be planned, and a checkpoint of step 40 lies in the folder. */
static void begin(void)
{
    const struct state_options so = { .n_agents = 1, .restarts = 3, .launch_ns = 60 * CLOCK_S };
    cleanup_free char *step = file_join(scratch, "step-00000040");
    cleanup_free char *manifest = file_join(step, "MANIFEST");

    ck_assert_int_eq(mkdir(step, 0700), 0);
    ck_assert_int_eq(file_write_atomic(manifest, "", 0, 0600, NULL), 0);
    job = (struct job){ .timeouts.launch_ns = 60 * CLOCK_S, .checkpoint.resume = resume };
    options = (struct driver_options){ .job = &job, .view.say = say };
    run = (struct job_run){ .o = &options, .n_agents = 1, .checkpoint_dir = scratch };
    planning = (struct planning){ 0 };
    planning_join(&planning, &run, &network);
    said[0] = '\0';
    ck_assert_int_eq(state_init(&run.state, &so, clock_now_ns(), NULL), 0);
    run.state.phase = STATE_PHASE_PLAN;
    run.state.generation = 2;
    run.state.resume_step = 20;
    ck_assert_int_eq(file_thread_start(&run.reader, NULL), 0);
    hold(run.reader, &held);
}

static void end(void)
{
    let_go(&held);
    file_thread_stop(run.reader);
    journal_fini(&run.journal);
    state_fini(&run.state);
}

static void ask_for_plan(void)
{
    ck_assert(planning_ops.on_action(&planning, &(struct action){ .type = ACTION_PLAN }));
    ck_assert_ptr_null(planning.published.plans.plan);
}

/* Nothing else stands still meanwhile, people hear of it once, and then the plan is asked for
 * again.
 */
START_TEST(waits)
{
    int64_t now_ns = clock_now_ns();
    struct action a;

    ask_for_plan();
    planning_ops.tick(&planning, now_ns + CLOCK_S);
    ck_assert_str_eq(said, "");
    planning_ops.tick(&planning, now_ns + 5 * CLOCK_S);
    planning_ops.tick(&planning, now_ns + 6 * CLOCK_S);
    ck_assert_ptr_nonnull(strstr(said, "the restart waits for the list of checkpoints in '"));
    ck_assert_ptr_null(strstr(strstr(said, "waits") + 1, "waits"));
    ck_assert(!state_action(&run.state, &a));
    let_go(&held);
    settle(run.reader);
    ck_assert_int_eq(run.state.resume_step, 40);
    ck_assert(state_action(&run.state, &a) && a.type == ACTION_PLAN);
}
END_TEST

/* A folder that never answers ends the job by a sentence that names it and the limit. */
START_TEST(gives_up)
{
    struct action a = { .type = ACTION_PLAN };

    ask_for_plan();
    planning_ops.tick(&planning, clock_now_ns() + 61 * CLOCK_S);
    ck_assert(state_action(&run.state, &a) && a.type == ACTION_SAY);
    ck_assert_ptr_nonnull(strstr(a.text, "could not be listed within 60 s (timeouts.launch)"));
    ck_assert(state_is_ending(&run.state));
}
END_TEST

static void agree(int64_t version, int64_t since)
{
    planning.published.plans.plan->version = version;
    plan_watch_progress(&planning.watch,
                        &(struct progress){ .plan_version = version, .plan_since = since },
                        clock_now_ns());
    plan_watch_progress(
        &planning.watch, /* a second worker says the same */
        &(struct progress){ .rank = 1, .plan_version = version, .plan_since = since },
        clock_now_ns());
}

static int count_of(const char *word)
{
    int n = 0;

    for (const char *at = said; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

/* Each once, from the step that was agreed on; many are counted and do not fill the screen. */
START_TEST(tells_replans)
{
    struct plan *p = plan_new(1, 1);

    ck_assert_ptr_nonnull(p);
    planning.published.plans.plan = p;
    agree(1, 0); /* the first is no re-plan */
    ck_assert_str_eq(said, "");
    strcpy(p->change,
           "rank 3 takes 380 ms for 107 samples; with 34 samples the longest step takes 200 ms");
    p->gain = 1.9;
    agree(2, 28);
    ck_assert_str_eq(said,
                     "re-planned from step 28: rank 3 takes 380 ms for 107 samples; with 34 "
                     "samples the longest step takes 200 ms; predicted to be 1.9 times as fast");
    said[0] = '\0';
    p->gain = 1.04;
    agree(3, 60);
    ck_assert_ptr_nonnull(strstr(said, "200 ms; predicted to be 4 % faster"));
    p->gain = 0.9; /* a bound forced it */
    agree(4, 90);
    ck_assert_int_eq(count_of("predicted"), 1);
    for (int v = 5; v < 50; v++)
        agree(v, 30 * v);
    ck_assert_int_eq(count_of("re-planned from"), 4);
    ck_assert_int_eq(count_of("only counted"), 1);
    ck_assert_int_eq(count_of("re-planned"), 5);
    planning.published.plans.plan = NULL;
    plan_free(p);
}
END_TEST

/* What earlier jobs have learnt holds for none of many workers: a few sentences say so. */
START_TEST(tells_of_contradictions)
{
    enum { N = 40 };
    struct plan *p = plan_new(1, N);
    struct planner_history history = { 0 };
    struct progress report = {
        .metrics = { .plan = 1, .since = 1, .steps = 20, .points = 20, .count = 10, .work = 10 },
    };

    ck_assert_ptr_nonnull(p);
    job.batch.min = job.batch.grain = 1;
    strcpy(p->algorithm, "allreduce");
    p->global_batch = 10 * N;
    for (int i = 0; i < N; i++) {
        p->worker[i].batch = p->worker[i].equal_batch = 10;
        p->worker[i].sample_s = 0.001;
        p->worker[i].time = TIME_LEARNT;
    }
    planning.watch.replan.run = &run;
    planning.published.plans.plan = p;
    ck_assert_int_eq(
        replanner_begin(&planning.watch.replan, &planning.published.plans, &history, NULL), 0);
    report.metrics.own = report.metrics.compute =
        (struct step_spread){ .low_s = 0.03, .median_s = 0.03, .high_s = 0.03, .max_s = 0.03 };
    for (int i = 0; i < N; i++) {
        report.rank = i;
        plan_watch_progress(&planning.watch, &report, clock_now_ns());
    }
    ck_assert_int_eq(count_of("the time that earlier jobs measured"), 3);
    ck_assert_ptr_nonnull(strstr(said, "rank 2 takes 3.00 times as long"));
    replanner_end(&planning.watch.replan);
    planning.published.plans.plan = NULL;
    plan_free(p);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, waits);
    tcase_add_test(tc, gives_up);
    tcase_add_test(tc, tells_replans);
    tcase_add_test(tc, tells_of_contradictions);
}

SUITE_MAIN("planning", add_tests)
