/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_report.c - tests of agents/driver/report/job_report.h: figures as time passes, and
 * trouble said */
#include "agents/driver/report/job_report.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

static struct fixture {
    struct job job;
    struct driver_options o;
    struct listeners listeners;
    struct job_run run;
    struct job_report t;
    int shown, said;
    const char *sentence; /* the only one that may be said */
    enum job_state state; /* as it was shown last */
} f;

static void progress(void *ctx, const struct job_status *s)
{
    (void)ctx;
    f.shown++;
    f.state = s->state;
}

static void say(void *ctx, const char *sentence)
{
    (void)ctx;
    f.said++;
    ck_assert_str_eq(sentence, f.sentence);
}

static void begin(void)
{
    static char name[] = "a";

    f = (struct fixture){ .job.name = name };
    f.o.job = &f.job;
    f.o.view.progress = progress;
    f.o.view.say = say;
    f.run.o = &f.o;
    f.t.run = &f.run;
    f.t.listeners = &f.listeners;
    f.t.waiting = "";
    job_report_begin(&f.t);
}

static void end(void)
{
    journal_fini(&f.run.journal);
    job_status_fini(&f.run.status);
}

/* Once a second while all ranks are up, those of the probe, too, and in no other phase. */
START_TEST(metrics)
{
    enum state_phase phase = (enum state_phase)_i;
    bool up = phase == STATE_PHASE_RUN || phase == STATE_PHASE_PROBE_RUN;
    int64_t now_ns = 1000 * CLOCK_S;

    f.run.state.phase = phase;
    for (int i = 0; i < 8; i++)
        job_report_metrics(&f.t, now_ns + i * CLOCK_S / 4);
    ck_assert_int_eq(f.shown, up ? 2 : 0);
    ck_assert_int_eq(job_report_next_ns(&f.t), up ? now_ns + 2 * CLOCK_S : CLOCK_NEVER);
    if (up)
        ck_assert_int_eq((int)f.state, phase == STATE_PHASE_RUN ? JOB_RUNNING : JOB_PROFILING);
}
END_TEST

/* However many reports come, ten times a second at most, and the last one is shown as well. */
START_TEST(many_reports)
{
    int64_t now_ns = 1000 * CLOCK_S;

    f.run.state.phase = STATE_PHASE_STOP; /* without lines of metrics.jsonl */
    for (int i = 0; i < 1000; i++) {
        job_report_ops.on_report(&f.t, clock_now_ns());
        job_report_metrics(&f.t, now_ns + i * CLOCK_MS);
    }
    ck_assert_int_eq(f.shown, 10);
    ck_assert_int_eq(job_report_next_ns(&f.t), now_ns + CLOCK_S);
    job_report_metrics(&f.t, now_ns + CLOCK_S);
    ck_assert_int_eq(f.shown, 11);
    ck_assert_int_eq(job_report_next_ns(&f.t), CLOCK_NEVER);
}
END_TEST

START_TEST(trouble)
{
    f.sentence =
        "the disk is full; the job continues; free space there, or its records will have gaps";
    job_report_ops.tick(&f.t, 0);
    ck_assert_int_eq(f.said, 0);
    (void)eddis_fail(&f.run.journal.trouble, -1, "the disk is full");
    job_report_ops.tick(&f.t, 0);
    job_report_ops.tick(&f.t, 0);
    ck_assert_int_eq(f.said, 1);
}
END_TEST

/* Once, of a program of several workers that has not opened libeddis 30 s after it came to life. */
START_TEST(equal_batches)
{
    static const char sentence[] =
        "the program divides its data itself, so all workers have batches of the same size; with "
        "eddis.torch or libeddis the batches follow the plan";
    struct run_plans plans = { .plan = plan_new(1, 2) };
    int64_t now_ns = 1000 * CLOCK_S;
    char text[300];

    f.t.plans = &plans;
    plans.plan->equal_samples_per_s = 100;
    plans.plan->predicted_samples_per_s = _i == 1 ? 104 : 183;
    (void)snprintf(text, sizeof text, "%s%s; see eddis-python(7)", sentence,
                   _i == 1 ? "" : ", which is predicted to be 1.83x as fast");
    f.sentence = text;
    f.run.state.phase = STATE_PHASE_RUN;
    f.run.state.n_ranks = _i == 2 ? 1 : 2;
    f.run.state.any_page = _i == 3;
    f.run.state.alive_ns = _i == 4 ? 0 : now_ns;
    job_report_ops.tick(&f.t, now_ns + 29 * CLOCK_S);
    ck_assert_int_eq(f.said, 0);
    for (int i = 30; i < 40; i++)
        job_report_ops.tick(&f.t, now_ns + i * CLOCK_S);
    ck_assert_int_eq(f.said, _i < 2);
    plan_free(plans.plan);
}
END_TEST

/* Three workers on two nodes that have told what is in last. */
static struct team {
    struct metrics_worker worker[3];
    struct state_rank rank[3];
    struct state_agent agent[2];
} team;

static void begin_team(void)
{
    team = (struct team){ .agent = { { .host = "a" }, { .host = "b" } } };
    f.job.timeouts.heartbeat_ns = CLOCK_S;
    f.run.metrics.worker = team.worker;
    f.run.metrics.n_workers = f.run.state.n_ranks = 3;
    f.run.state.rank = team.rank;
    f.run.state.agent = team.agent;
    f.run.state.generation = 1;
    for (int i = 0; i < 3; i++) {
        team.worker[i].seen = true;
        team.worker[i].last.rank = i;
        team.rank[i].agent = i / 2;
    }
}

/* The rank whose loss was not finite first may be heard of last. */
START_TEST(first_loss)
{
    const int64_t now_ns = 1000 * CLOCK_S;

    begin_team();
    f.sentence = "the loss of rank 2 (node b) at step 4 was not finite";
    model_watch_look(&f.t.models, &f.run, now_ns, false);
    team.worker[0].last.loss_step = 5;
    model_watch_look(&f.t.models, &f.run, now_ns, false);
    team.worker[2].last.loss_step = 4;
    model_watch_look(&f.t.models, &f.run, now_ns + CLOCK_S, false);
    ck_assert_int_eq(f.said, 0);
    for (int i = 2; i < 5; i++)
        model_watch_look(&f.t.models, &f.run, now_ns + i * CLOCK_S, i == 4);
    ck_assert_int_eq(f.said, 1);
    ck_assert_str_eq(f.run.status.loss_says, f.sentence);
}
END_TEST

START_TEST(models)
{
    static const struct {
        struct model_check found;
        const char *sentence;
    } row[] = {
        { { 3, 0, 0, MODEL_CHECK_DIFFER, 2, -1, 4, 2 },
          "after step 4 the model of rank 2 (node b) is not that of the other workers (nothing was "
          "wrong after step 2)" },
        { { 1, 0, 0, MODEL_CHECK_DIFFER, 1, 2, 1, 0 },
          "after step 1 the models of rank 1 (node a) and rank 2 (node b) are not the same" },
        { { 1, 0, 0, MODEL_CHECK_NOT_FINITE, -1, -1, 256, 0 },
          "after step 256 the model holds NaN or infinity on all workers" },
    };
    char message[512] = "rank 0 exited 1; ";

    begin_team();
    f.sentence = row[_i].sentence;
    model_watch_look(&f.t.models, &f.run, 1, false);
    ck_assert_int_eq(f.said, 0);
    team.worker[1].last.models = row[_i].found;
    for (int i = 0; i < 3; i++)
        model_watch_look(&f.t.models, &f.run, 1, i == 2);
    ck_assert_int_eq(f.said, 1);
    strcpy(f.run.status.message, "rank 0 exited 1");
    f.run.status.exit_code = 1;
    model_watch_end(&f.t.models, &f.run);
    ck_assert_str_eq(f.run.status.message, strcat(message, f.sentence));
    model_watch_fill(&f.run, &f.run.status);
    ck_assert_int_eq(f.run.status.models_compared, row[_i].found.compared);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, first_loss);
    tcase_add_loop_test(tc, models, 0, 3);
    tcase_add_loop_test(tc, equal_batches, 0, 5);
    tcase_add_loop_test(tc, metrics, 0, STATE_PHASES);
    tcase_add_test(tc, many_reports);
    tcase_add_test(tc, trouble);
}

SUITE_MAIN("telling", add_tests)
