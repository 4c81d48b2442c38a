/* SPDX-License-Identifier: Apache-2.0 */
/* test_straggling.c - tests of agents/driver/plan/straggling.h: what is said of workers that are
 * slow, and what their rows of the status say
 */
#include "agents/driver/plan/straggling.h"

#include "lib/base/clock.h"
#include "said.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 3, BATCH = 64, STEPS = 20, TOLD_S = 10 };

#define OWN_S 0.064
#define UNKNOWN                                                                                    \
    {                                                                                              \
        { NAN, NAN, NAN, NAN, NAN }, NAN                                                           \
    }

static struct driver_options options;
static struct job_run run;
static struct state_agent agents[N];
static struct straggling straggling;
static struct plan *plan;
static double now_s;

/* A node each, named "a" and on; a millisecond a sample was learnt, or nothing. */
static void begin(enum time_source source)
{
    options = (struct driver_options){ .view.say = say };
    run = (struct job_run){ .o = &options, .state = { .agent = agents } };
    job_status_init(&run.status);
    ck_assert_int_eq(job_status_resize(&run.status, N, NULL), 0);
    plan = plan_new(N, N);
    ck_assert_ptr_nonnull(plan);
    for (int i = 0; i < N; i++) {
        (void)snprintf(plan->node[i], sizeof plan->node[i], "%c", 'a' + i);
        plan->worker[i] = (struct plan_worker){
            .node = i, .kind = DEVICE_CPU, .batch = BATCH, .sample_s = 1e-3, .time = source
        };
    }
    straggling = (struct straggling){ .run = &run };
    ck_assert_int_eq(straggling_begin(&straggling, plan, NULL), 0);
    said_forget();
    now_s = 0;
}

static void end(void)
{
    straggling_end(&straggling);
    journal_fini(&run.journal);
    job_status_fini(&run.status);
    plan_free(plan);
}

/* Steps of late: how long one takes, and of that waits for data and in the run queue. */
struct steps {
    double own_s, input_s, queued_s;
    struct core_loss lost;
    struct gpu_state gpu;
};

static struct step_spread spread(double s)
{
    return (struct step_spread){ s, s, s, s };
}

static void report(int rank, int64_t since, const struct steps *s)
{
    static const struct time_model model = { .sample_s = 1e-3 };
    const struct progress p = { .rank = rank,
                                .steps_done = since + STEPS,
                                .queued_s = s->queued_s,
                                .core_loss = s->lost,
                                .gpu = s->gpu,
                                .metrics = { .plan = 1,
                                             .since = since,
                                             .steps = STEPS,
                                             .points = STEPS,
                                             .count = BATCH,
                                             .work = BATCH,
                                             .own = spread(s->own_s),
                                             .input = spread(s->input_s),
                                             .compute = spread(s->own_s - s->input_s) } };

    straggling_progress(&straggling, plan, &p, &model, -1);
}

static void report_all(int64_t since, const struct steps *s)
{
    for (int i = 0; i < N; i++)
        report(i, since, s);
}

static void tell(void)
{
    static const int agent[N] = { 0, 1, 2 };

    for (int i = 0; i < TOLD_S; i++, now_s++)
        straggling_report(&straggling, plan, agent, (int64_t)(now_s * CLOCK_S));
}

static const struct steps usual = { OWN_S, 0, NAN, UNKNOWN };
static const struct steps slow = { 3 * OWN_S, 0, NAN, UNKNOWN };

START_TEST(named_and_over)
{
    const struct worker_status *row;

    begin(TIME_PROBE);
    row = &run.status.worker[1];
    report_all(1, &usual);
    tell();
    ck_assert_int_eq(n_said, 0);
    ck_assert_int_eq(run.status.stragglers, 0);
    report_all(100, &usual);
    report(1, 200, &slow);
    tell();
    ck_assert_int_eq(n_said, 1);
    ck_assert_str_eq(
        said, "rank 1 on b takes 3.0 times as long as before since step 200 (compute explains 100 "
              "% of it: it takes 192 ms a step instead of 64); it has 64 samples a step");
    ck_assert_int_eq(run.status.stragglers, 1);
    ck_assert_str_eq(row->straggler, "compute");
    ck_assert_str_eq(row->straggler_says, said + strlen("rank 1 on b "));
    ck_assert_double_eq_tol(row->straggler_times, 3, 1e-6);
    ck_assert_int_eq(row->straggler_since, 200);
    ck_assert_double_eq_tol(row->straggler_confidence, 1, 1e-6);
    report(1, 300, &usual);
    tell();
    ck_assert_int_eq(n_said, 2);
    ck_assert_str_eq(
        said, "rank 1 on b has been as fast as before since step 300; it has 64 samples a step");
    ck_assert_int_eq(run.status.stragglers, 1); /* one was */
    ck_assert_str_eq(row->straggler, "");
    ck_assert_str_eq(row->straggler_says, "");
    ck_assert_double_eq_tol(row->straggler_times, 3, 1e-6);
}
END_TEST

/* The share is that of the plan published last, which may be on its way. */
START_TEST(another_share)
{
    begin(TIME_PROBE);
    report_all(1, &usual);
    report(1, 200, &slow);
    plan->worker[1].batch = 25;
    tell();
    ck_assert_ptr_nonnull(strstr(said, "; it gets 25 samples instead of 64"));
}
END_TEST

START_TEST(causes)
{
    static const struct {
        struct steps now;
        const char *word, *text;
    } row[] = {
        { { 3 * OWN_S, 2 * OWN_S, NAN, UNKNOWN },
          "input",
          "(input explains 100 % of it: it waits 128 of 192 ms a step for its data, which arrives "
          "at 333 samples/s at least)" },
        { { 1.6 * OWN_S, 0.4 * OWN_S, NAN, UNKNOWN },
          "input",
          "(input explains 67 % of it: it waits 25.6 of 102 ms a step for its data)" },
        { { 3 * OWN_S, 0, 2 * OWN_S, UNKNOWN },
          "processor",
          "(processor explains 100 % of it: it takes 192 ms a step instead of 64, and for 67 % of "
          "that time its main thread waits for a processor, which other programs use)" },
        { { 3 * OWN_S, 0, NAN, { { 0.6, NAN, NAN, NAN } } },
          "processor",
          "(processor explains 90 % of it: it takes 192 ms a step instead of 64; 60 % of its "
          "cores' time is stolen by the hypervisor)" },
        { { 3 * OWN_S, 0, NAN, { { NAN, 0.7, 0.05, NAN } } },
          "processor",
          "(processor explains 100 % of it: it takes 192 ms a step instead of 64; it is throttled "
          "in 70 % of its control group's periods)" },
        { { 3 * OWN_S, 0, 2 * OWN_S, { { 0, 0, 0.5, 0.2 } } },
          "processor",
          "(processor explains 100 % of it: it takes 192 ms a step instead of 64, and for 67 % of "
          "that time its main thread waits for a processor; other programs take 50 % of its cores' "
          "time; its clock is 20 % below the highest)" },
        { { 3 * OWN_S, 0, NAN, { { 0, 0, 0, 0.3, 0.6 }, 98.6 } },
          "processor",
          "(processor explains 90 % of it: it takes 192 ms a step instead of 64; its clock is 30 % "
          "below the highest; its cores are slowed down by heat for 60 % of their time, at 99 "
          "degrees Celsius)" },
    };
    struct steps now = row[_i].now;

    begin(TIME_PROBE);
    report_all(1, &(struct steps){ .own_s = OWN_S, .lost = { { 0 } } });
    for (int k = 0; k < 4; k++) { /* a reading counts that is not as the one before */
        report(1, 200, &now);
        for (int c = 0; c < CORE_LOSSES; c++)
            now.lost.part[c] = row[_i].now.lost.part[c] * (k % 2 ? 1 : 0.999999);
    }
    tell();
    ck_assert_msg(strstr(said, row[_i].text), "%s", said);
    ck_assert_str_eq(run.status.worker[1].straggler, row[_i].word);
}
END_TEST

/* What earlier jobs have learnt is a past, too. */
START_TEST(learnt)
{
    begin(TIME_LEARNT);
    report(0, 1, &usual);
    report(1, 1, &slow);
    report(2, 1, &usual);
    tell();
    ck_assert_int_eq(n_said, 1);
    ck_assert_ptr_eq(
        strstr(said, "rank 1 on b takes 3.0 times as long as in earlier jobs since step "), said);
}
END_TEST

/* What the probe says is none. */
START_TEST(probed)
{
    begin(TIME_PROBE);
    report(0, 1, &usual);
    report(1, 1, &slow);
    tell();
    ck_assert_int_eq(n_said, 0);
}
END_TEST

/* Nobody is named, and after three times it is in the job's events only. */
START_TEST(all_at_once)
{
    begin(TIME_PROBE);
    report_all(1, &usual);
    ck_assert(isnan(run.status.all_slow_times));
    for (int i = 1; i <= 5; i++) {
        report_all(1000 * i, &slow);
        tell();
        ck_assert_double_eq_tol(run.status.all_slow_times, 3, 1e-6);
        ck_assert_int_eq(n_said, i <= 3 ? 2 * i - 1 : 6);
        if (i <= 3)
            ck_assert_str_eq(said, "most workers take 3.0 times as long as before, so no single "
                                   "worker is reported as slow");
        report_all(1000 * i + 500, &usual);
        tell();
        ck_assert(isnan(run.status.all_slow_times));
        ck_assert_int_eq(n_said, i <= 3 ? 2 * i : 6);
    }
    ck_assert_str_eq(said, "the workers are as fast as before again");
    ck_assert_int_eq(run.status.stragglers, 0);
}
END_TEST

/* Between generations nobody is watched, and the next one begins without a past. */
START_TEST(generations)
{
    begin(TIME_PROBE);
    report_all(1, &usual);
    report(1, 200, &slow);
    straggling_end(&straggling);
    report(1, 300, &slow);
    tell();
    ck_assert_int_eq(n_said, 0);
    ck_assert_int_eq(straggling_begin(&straggling, plan, NULL), 0);
    report(1, 1, &slow);
    report(0, 1, &usual);
    tell();
    ck_assert_int_eq(n_said, 0);
}
END_TEST

/* Why a GPU's clock is low, and the words for it. */
static const struct {
    struct gpu_state gpu;
    const char *words;
} clocks[] = {
    { { .slowed = GPU_SLOWED_HEAT, .celsius = 86 },
      "; its GPU is throttled by heat, 1 005 of 1 410 MHz, at 86 degrees Celsius)" },
    { { .slowed = GPU_SLOWED_HEAT, .celsius = NAN },
      "; its GPU is throttled by heat, 1 005 of 1 410 MHz)" },
    { { .slowed = GPU_SLOWED_POWER, .watts_most = 250 },
      "; its GPU is throttled by its power cap, 1 005 of 1 410 MHz, at a cap of 250 W)" },
    { { .slowed = GPU_SLOWED_SET }, "; its GPU is set to lower clocks, 1 005 of 1 410 MHz)" },
    { { .slowed = GPU_SLOWED_IDLE }, NULL },
};

/* A GPU whose clock is low is named as the cause; of a worker on another device none is looked at.
 */
START_TEST(slow_clock)
{
    const struct gpu_state *gpu = &clocks[_i / 2].gpu;
    const char *words = _i % 2 ? clocks[_i / 2].words : NULL;
    struct steps before = usual, now = slow;

    begin(TIME_PROBE);
    for (int i = 0; i < N; i++)
        plan->worker[i].kind = _i % 2 ? DEVICE_CUDA : DEVICE_CPU;
    before.gpu = (struct gpu_state){ .reading = 1, .clock_mhz = 1410, .clock_most_mhz = 1410 };
    now.gpu = *gpu;
    now.gpu.reading = 2;
    now.gpu.clock_mhz = 1005;
    now.gpu.clock_most_mhz = 1410;
    report_all(1, &before);
    report_all(100, &before);
    report(1, 200, &now);
    tell();
    ck_assert_int_eq(n_said, 1);
    ck_assert_msg(words ? strstr(said, words) != NULL : !strstr(said, "its GPU is"), "%s", said);
    ck_assert_ptr_nonnull(strstr(said, run.status.worker[1].straggler_says));
}
END_TEST

/* A report of ten steps more of a program that only tells their numbers. */
static void report_steps(int rank, int64_t steps, double step_s)
{
    static const struct time_model model = { .sample_s = 1e-3 };
    const struct progress p = { .rank = rank,
                                .steps_only = true,
                                .steps_done = steps,
                                .steps_here = steps,
                                .recent_steps = 10,
                                .recent.total_ns = (int64_t)(10 * step_s * CLOCK_S),
                                .queued_s = NAN,
                                .core_loss = UNKNOWN };

    straggling_progress(&straggling, plan, &p, &model, -1);
}

/* One of several that becomes slow by itself is named; where one prints for all nobody is, and as
 * little when all become slow as one, as in step with each other.
 */
START_TEST(numbers_only)
{
    int job_report = _i == 1 ? 1 : N;

    begin(TIME_PROBE);
    for (int64_t n = 10; n <= 200; n += 10) {
        for (int r = 0; r < job_report; r++)
            report_steps(r, n, n > 100 && (r == 0 || _i == 2) ? 3 * OWN_S : OWN_S);
        tell();
    }
    ck_assert_int_eq(n_said, _i != 1);
    ck_assert_int_eq(run.status.stragglers, _i == 0);
    if (_i == 0) {
        ck_assert_ptr_nonnull(strstr(said, "rank 0 on a takes 3.0 times as long as before since "));
        ck_assert_ptr_nonnull(strstr(said, "; the program divides its data itself"));
    } else if (_i == 2) {
        ck_assert_ptr_nonnull(strstr(said, "most workers take 3.0 times as long as before"));
    }
}
END_TEST

/* A report of ten steps more of a worker whose steps last step_s, of which own_s are its own; with
 * own_s 0 it reports step numbers alone.
 */
static void report_own(int rank, int64_t steps, double step_s, double own_s)
{
    static const struct time_model model = { .sample_s = 1e-3 };
    struct progress p = { .rank = rank,
                          .steps_only = true,
                          .own_times = own_s > 0,
                          .steps_done = steps,
                          .steps_here = steps,
                          .recent_steps = 10,
                          .recent.total_ns = (int64_t)(10 * step_s * CLOCK_S),
                          .recent.compute_ns =
                              (int64_t)(10 * (own_s > 0 ? own_s : step_s) * CLOCK_S),
                          .queued_s = NAN,
                          .core_loss = UNKNOWN };

    if (own_s > 0)
        p.reported = (struct step_metrics){ .plan = 1,
                                            .since = steps - 10,
                                            .steps = 10,
                                            .points = 10,
                                            .count = 1,
                                            .work = 1,
                                            .own = spread(own_s),
                                            .compute = spread(own_s),
                                            .total = spread(step_s) };
    straggling_progress(&straggling, plan, &p, &model, -1);
}

/* Workers that wait for each other all have long steps: the one whose own part is long is named.
 * If only some report their own part, nobody is; a first step without it makes no difference, since
 * agents report it for some workers alone and for others with the next.
 */
START_TEST(own_times)
{
    begin(TIME_PROBE);
    for (int64_t n = 10; n <= 200; n += 10) {
        double step_s = n > 100 ? 3 * OWN_S : OWN_S;

        for (int r = 0; r < N; r++)
            report_own(r, n, step_s,
                       r == 0                                ? step_s
                       : _i == 1 || (_i == 2 && n == 10 * r) ? 0
                                                             : OWN_S);
        tell();
    }
    ck_assert_int_eq(n_said, _i != 1);
    ck_assert_int_eq(run.status.stragglers, _i != 1);
    if (_i != 1)
        ck_assert_ptr_nonnull(strstr(said, "rank 0 on a takes 3.0 times as long as before since "));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, end);
    tcase_add_loop_test(tc, numbers_only, 0, 3);
    tcase_add_loop_test(tc, own_times, 0, 3);
    tcase_add_test(tc, named_and_over);
    tcase_add_test(tc, another_share);
    tcase_add_loop_test(tc, causes, 0, 7);
    tcase_add_loop_test(tc, slow_clock, 0, 2 * sizeof clocks / sizeof *clocks);
    tcase_add_test(tc, learnt);
    tcase_add_test(tc, probed);
    tcase_add_test(tc, all_at_once);
    tcase_add_test(tc, generations);
}

SUITE_MAIN("straggling", add_tests)
