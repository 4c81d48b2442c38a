/* SPDX-License-Identifier: Apache-2.0 */
/* test_replanner.c - tests of agents/driver/plan/replanner.h: what is said of a worker that takes
 * another time than was known, and when ratios are seconds
 */
#include "agents/driver/plan/replanner.h"

#include "lib/base/clock.h"
#include "said.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { N = 2, BATCH = 64, STEPS = 30 };

static struct job job;
static struct driver_options options;
static struct job_run run;
static struct replanner replanner;
static struct plan *plan;

/* A millisecond a sample, of this source; the last worker may have no samples. */
static void begin(enum time_source source, int64_t last_batch)
{
    static char automatic[] = "auto";
    const struct planner_history history = { .model_bytes = 0 };
    const struct run_plans *plans;

    job = (struct job){ .batch = { .global = N * BATCH, .grain = 1 },
                        .sync = { .mode = automatic, .algorithm = automatic },
                        .communication.wire = automatic };
    options = (struct driver_options){ .job = &job, .view.say = say };
    run = (struct job_run){ .o = &options };
    said_forget();
    plan = plan_new(N, N);
    ck_assert_ptr_nonnull(plan);
    strcpy(plan->algorithm, "allreduce");
    strcpy(plan->mode, "sync");
    plan->version = plan->generation = 1;
    plan->global_batch = BATCH + last_batch;
    plan->relative = source == TIME_PROBE;
    for (int i = 0; i < N; i++)
        plan->worker[i] = (struct plan_worker){ .sample_s = 1e-3,
                                                .time = source,
                                                .batch = i == N - 1 ? last_batch : BATCH };
    plans = &(struct run_plans){ .plan = plan };
    replanner = (struct replanner){ .run = &run };
    run.metrics = (struct metrics){ 0 };
    ck_assert_int_eq(metrics_next(&run.metrics, plan, 1, NULL), 0);
    ck_assert_int_eq(replanner_begin(&replanner, plans, &history, NULL), 0);
}

static void end(void)
{
    replanner_end(&replanner);
    metrics_fini(&run.metrics);
    journal_fini(&run.journal);
    plan_free(plan);
}

static void report(int rank, double own_s)
{
    const struct step_spread s = { own_s, own_s, own_s, own_s };
    const struct progress p = { .rank = rank,
                                .steps_done = STEPS,
                                .steps_here = STEPS,
                                .metrics = { .plan = 1,
                                             .since = 1,
                                             .steps = STEPS - 1,
                                             .points = STEPS - 1,
                                             .count = own_s > 0 ? BATCH : 0,
                                             .work = BATCH,
                                             .own = s,
                                             .compute = s } };

    metrics_progress(&run.metrics, &p, 0);
    replanner_progress(&replanner, &p, 0);
}

/* The period follows once model and network are known, unless the job itself gives it. */
START_TEST(period_follows)
{
    const int64_t given = _i ? 16 : 0;
    const struct planner_history nothing = { .model_bytes = 0 };
    const struct planner_history history = { .model_bytes = 1 << 20, .bytes_per_s = 125e6 };
    const struct run_plans *plans;
    struct replan_proposal proposal;
    struct plan *p;

    begin(TIME_GIVEN, BATCH);
    replanner_end(&replanner);
    strcpy(plan->algorithm, "easgd");
    strcpy(plan->mode, "async");
    plan->options = (struct sync_options){ .period = 16, .moving_rate = 0.45 };
    plan->worker[1].node = plan->worker[1].group = 1;
    plan->n_groups = N;
    job.sync.options.period = given;
    plans = &(struct run_plans){ .plan = plan };
    ck_assert_int_eq(replanner_begin(&replanner, plans, &nothing, NULL), 0);
    report(0, 0.064);
    report(1, 0.064);
    ck_assert(!replanner_decide(&replanner, 100 * CLOCK_S, &proposal));
    replanner_known(&replanner, plan, &history);
    ck_assert_int_eq(replanner_decide(&replanner, 100 * CLOCK_S, &proposal), given == 0);
    p = given ? NULL : replanner_plan(&replanner, plan, &history, &proposal);
    ck_assert(given || (p && p->options.period > 0 && p->options.period < 16));
    ck_assert(given || strncmp(p->change, "models are exchanged every ", 27) == 0);
    plan_free(p);
}
END_TEST

/* By what was known before, and nothing of a ratio, which is known to be a guess. */
START_TEST(contradicted)
{
    static const struct {
        enum time_source source;
        const char *text;
    } row[] = {
        { TIME_PROBE, NULL },
        { TIME_GUESSED, NULL },
        { TIME_GIVEN, "rank 1 takes 3.00 times as long as its configured time; " },
        { TIME_LEARNT, "rank 1 takes 3.00 times as long as the time that earlier jobs measured; " },
        { TIME_MEASURED, "rank 1 takes 3.00 times as long as before the restart; " },
    };

    begin(row[_i].source, BATCH);
    report(0, 0.064);
    ck_assert_str_eq(said, "");
    report(1, 3 * 0.064);
    ck_assert_int_eq(said[0] != '\0', row[_i].text != NULL);
    ck_assert(!row[_i].text || strncmp(said, row[_i].text, strlen(row[_i].text)) == 0);
    said[0] = '\0';
    report(1, 3 * 0.064);
    ck_assert_str_eq(said, "");
}
END_TEST

/* A worker without samples is never measured: its ratio is set beside the others. */
START_TEST(ratios_become_seconds)
{
    const struct planner_history history = { .model_bytes = 0 };
    struct plan *p;

    begin(TIME_PROBE, _i ? 0 : BATCH);
    report(1, _i ? 0 : 0.064);
    ck_assert(!replanner_knows_seconds(&replanner, plan));
    report(0, 0.064);
    ck_assert(replanner_knows_seconds(&replanner, plan));
    p = replanner_refined(&replanner, plan, &history);
    ck_assert_ptr_nonnull(p);
    ck_assert(!p->relative);
    ck_assert(!replanner_knows_seconds(&replanner, p)); /* once */
    plan_free(p);
}
END_TEST

/* What the program tells at eddis_commit that a worker takes at least holds from then on. */
START_TEST(program_takes_no_fewer)
{
    const struct planner_history history = { .model_bytes = 1 << 20, .program.min_count = 8 };
    struct replan_proposal proposal;

    begin(TIME_GIVEN, 4);
    report(0, 0.064);
    replanner_known(&replanner, plan, &(struct planner_history){ .model_bytes = 1 << 20 });
    ck_assert(!replanner_decide(&replanner, 100 * CLOCK_S, &proposal));
    replanner_known(&replanner, plan, &history);
    ck_assert(replanner_decide(&replanner, 100 * CLOCK_S, &proposal));
    ck_assert_int_ge(proposal.batch[1], 8);
}
END_TEST

/* Steps of an equal split (--measure-equal) are steps of the workers: what they tell counts behind
 * it and for the next job, with the batches of that split.  The plan is tried before it is changed.
 */
START_TEST(equal_split_counts)
{
    static const struct node_profile node = { .n_devices = 0 };
    static const struct node_profile *const nodes[N] = { &node, &node };
    const struct planner_history history = { .model_bytes = 0 };
    struct past_times learnt = { .list.n = 0 };
    struct replan_proposal proposal;
    const struct planner_time *row;
    struct time_model t;

    begin(TIME_PROBE, BATCH);
    for (int i = 0; i < N; i++) {
        plan->worker[i].equal_batch = BATCH;
        plan->worker[i].batch = i ? BATCH / 2 : 3 * BATCH / 2;
        plan->worker[i].local_rank = i;
    }
    ck_assert_int_eq(replanner_begin(&replanner, &(struct run_plans){ .plan = plan, .equal = plan },
                                     &history, NULL),
                     0);
    report(0, 0.064);
    report(1, 2 * 0.064);
    replanner_published(&replanner, 2, plan);
    replanner_agreed(&replanner, 2, CLOCK_S);
    ck_assert(!replanner_decide(&replanner, 100 * CLOCK_S, &proposal));
    ck_assert(replanner_model(&replanner, 1, &t));
    ck_assert_double_eq_tol(t.sample_s, 2e-3, 1e-9);
    replanner_learn(&replanner, plan, nodes, &learnt);
    ck_assert_int_eq(learnt.list.n, N);
    row = learnt.list.row;
    ck_assert_double_eq_tol(row[1].sample_s, 2e-3, 1e-9);
    ck_assert_int_eq(row[1].largest, BATCH);
    past_times_fini(&learnt);
}
END_TEST

/* 64 ms were predicted and 80 measured; a plan of ratios predicts nothing in seconds. */
START_TEST(prediction_follows)
{
    double per_s;

    begin(TIME_GIVEN, BATCH);
    plan->predicted_samples_per_s = N * BATCH / 0.064;
    ck_assert(!replanner_predicts(&replanner, plan, &per_s));
    for (int i = 0; i < N; i++)
        report(i, 0.080);
    plan->relative = true;
    ck_assert(!replanner_predicts(&replanner, plan, &per_s));
    plan->relative = false;
    ck_assert(replanner_predicts(&replanner, plan, &per_s));
    ck_assert_double_eq_tol(per_s, N * BATCH / 0.080, 1);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, end);
    tcase_add_test(tc, prediction_follows);
    tcase_add_test(tc, program_takes_no_fewer);
    tcase_add_loop_test(tc, period_follows, 0, 2);
    tcase_add_loop_test(tc, contradicted, 0, 5);
    tcase_add_loop_test(tc, ratios_become_seconds, 0, 2);
    tcase_add_test(tc, equal_split_counts);
}

SUITE_MAIN("replanning", add_tests)
