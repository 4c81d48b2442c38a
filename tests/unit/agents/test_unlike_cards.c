/* SPDX-License-Identifier: Apache-2.0 */
/* test_unlike_cards.c - plans for GPUs of unlike memory, from the first one through many re-plans:
 * no batch is more than its GPU holds, and the next job begins with that
 */
#include "agents/driver/plan/memory_watch.h"
#include "agents/driver/plan/replanner.h"

#include "lib/base/clock.h"
#include "said.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { N = 3, BATCH = 1600, STEPS = 1000, REPLANS = 20, MOMENTS = 1000 };

#define GB      INT64_C(1000000000)
#define FIXED   GB        /* what the program takes on a GPU */
#define SAMPLE  (GB / 64) /* and for each sample */
#define FITS(g) (((g)*9 / 10 - FIXED) / SAMPLE)

/* The GPU of the least memory is the fastest by far, and the first one gets slower and slower. */
static const int64_t memory[N] = { 80 * GB, 40 * GB, 11 * GB };
static double sample_s[N];

static struct job job;
static struct driver_options options;
static struct job_run run;
static struct node_profile node;
static const struct node_profile *const nodes[] = { &node };
static struct past_memory known;
static struct memory_watch watch;
static struct replanner replanner;
static struct plan *plan;

static void begin(void)
{
    static char automatic[] = "auto", sync[] = "sync";

    job = (struct job){ .batch = { .global = BATCH, .min = 1, .grain = 1 },
                        .sync = { .mode = sync, .algorithm = automatic },
                        .communication.wire = automatic };
    options = (struct driver_options){ .job = &job, .view.say = say };
    run = (struct job_run){ .o = &options };
    node = (struct node_profile){ .host = "a", .n_devices = N, .cpu_quota = 8, .software = 7 };
    for (int i = 0; i < N; i++) {
        struct device *d = &node.device[i];

        *d = device_unmeasured(DEVICE_CUDA, i, -1);
        (void)snprintf(d->id, sizeof d->id, "GPU-%d", i);
        (void)snprintf(d->name, sizeof d->name, "card %d", i);
        d->memory_bytes = memory[i];
        d->fp32_flops = 1e13;
        d->memory_bytes_per_s = 1e12;
    }
    sample_s[0] = 1e-3;
    sample_s[1] = 2e-3;
    sample_s[2] = 0.5e-3;
}

static void end(void)
{
    memory_watch_end(&watch);
    past_memory_fini(&known);
    replanner_end(&replanner);
    metrics_fini(&run.metrics);
    journal_fini(&run.journal);
    plan_free(plan);
    plan = NULL;
}

/* Make the first plan of a job that knows this much. */
static void plan_first(void)
{
    const struct planner_history history = { .line = known.lines.row, .n_lines = known.lines.n };
    struct eddis_error err;

    ck_assert_msg(planner_plan(&job, &node, 1, &history, &plan, &err) == 0, "%s", err.text);
}

/* A rank reports STEPS steps more under the plan that is in force since a moment: times, and the
 * peak of its GPU.
 */
static void report(int rank, int moment, int since)
{
    int64_t count = plan->worker[rank].batch;
    double own_s = sample_s[rank] * (double)count;
    const struct step_spread s = { own_s, own_s, own_s, own_s };
    const struct progress p = { .rank = rank,
                                .steps_done = STEPS * moment,
                                .steps_here = STEPS * moment,
                                .plan_version = plan->version,
                                .step_plan = plan->version,
                                .metrics = { .plan = plan->version,
                                             .since = STEPS * since + 1,
                                             .steps = STEPS * (moment - since) - 1,
                                             .points = 30,
                                             .count = count,
                                             .work = (double)count,
                                             .own = s,
                                             .compute = s },
                                .memory_told = true,
                                .memory_bytes = FIXED + SAMPLE * count };

    replanner_progress(&replanner, &p, 0);
    memory_watch_progress(&watch, plan, &p);
}

/* Take the plan that is due at this moment, if one is.  Return whether one was. */
static bool replan(int moment, int since)
{
    const struct planner_history history = { .model_bytes = 0 };
    struct replan_proposal proposal;
    struct plan *next;

    for (int r = 0; r < N; r++)
        report(r, moment, since);
    if (memory_watch_look(&watch))
        replanner_memory(&replanner, plan, watch.most, false);
    if (!replanner_decide(&replanner, moment * 100 * CLOCK_S, &proposal))
        return false;
    next = replanner_plan(&replanner, plan, &history, &proposal);
    ck_assert_ptr_nonnull(next);
    next->version = plan->version + 1;
    plan_free(plan);
    plan = next;
    replanner_published(&replanner, plan->version, plan);
    replanner_agreed(&replanner, plan->version, moment * 100 * CLOCK_S);
    return true;
}

START_TEST(twenty_plans)
{
    const struct planner_history history = { .model_bytes = 0 };
    struct run_plans plans;
    int n = 0, since = 0;

    plan_first();
    for (int i = 0; i < N; i++)
        ck_assert_int_le(plan->worker[i].batch, BATCH * (memory[i] / GB) / 131 + 1);
    plan->version = 1;
    plans = (struct run_plans){ .plan = plan };
    replanner = (struct replanner){ .run = &run };
    ck_assert_int_eq(metrics_next(&run.metrics, plan, 1, NULL), 0);
    ck_assert_int_eq(replanner_begin(&replanner, &plans, &history, NULL), 0);
    ck_assert_int_eq(memory_watch_begin(&watch, plan, nodes, &known, NULL), 0);
    for (int moment = 1; moment < MOMENTS && n < REPLANS; moment++) {
        sample_s[0] *= 1.04;
        if (replan(moment, since)) {
            since = moment;
            n++;
        }
        for (int i = 0; i < N; i++)
            ck_assert_int_le(plan->worker[i].batch, FITS(memory[i]));
    }
    ck_assert_int_eq(n, REPLANS);
    ck_assert_int_eq(plan->worker[2].batch, FITS(memory[2])); /* all that fits, and it got it */
    memory_watch_learnt(&watch, plan, nodes, &known);
    ck_assert_int_ge(known.lines.n, 1);
    plan_free(plan);
    plan_first();
    ck_assert_int_eq(plan->worker[2].piece, FITS(memory[2]));
    node.software = 8; /* of which nothing is known */
    plan_free(plan);
    plan_first();
    ck_assert(plan->worker[2].guessed);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, twenty_plans);
}

SUITE_MAIN("unlike cards", add_tests)
