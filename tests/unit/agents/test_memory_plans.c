/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_plans.c - jobs on GPUs of unlike memory that run out of it, plan after plan, until
 * one fits; the next job begins with what fits
 */
#include "agents/driver/plan/memory_retry.h"

#include "said.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 6, PLANS = 16 };

/* What the GPUs of a job hold, in samples, and which plans are made for it. */
static const struct {
    int n;
    int64_t holds[MOST], batch, grain;
    double rate[MOST]; /* relative speeds */
    bool fits;
} jobs[] = {
    { 3, { 100, 60, 20 }, 168, 1, { 1, 1, 1 }, true },
    { 3, { 100, 60, 20 }, 178, 1, { 1, 1, 1 }, true },
    { 3, { 100, 60, 20 }, 180, 1, { 1, 1, 1 }, true },
    { 3, { 100, 60, 20 }, 168, 1, { 1, 2, 9 }, true },
    { 3, { 100, 60, 20 }, 168, 4, { 1, 1, 1 }, true },
    { 3, { 100, 60, 20 }, 181, 1, { 1, 1, 1 }, false },
    { 2, { 1000, 3 }, 1002, 1, { 1, 1 }, true },
    { 2, { 2, 2 }, 4, 1, { 1, 30 }, true },
    { 6, { 90, 80, 70, 60, 50, 10 }, 350, 1, { 1, 1, 1, 1, 1, 1 }, true },
};

static struct job job;
static struct driver_options options;
static struct node_profile node;
static struct state_rank ranks[MOST];
static struct job_run run;
static struct history history;
static struct memory_watch watch;
static struct plan *plan;

static void begin(void)
{
    static char automatic[] = "auto", sync[] = "sync";

    job = (struct job){ .batch = { .global = jobs[0].batch, .min = 1, .grain = 1 },
                        .sync = { .mode = sync, .algorithm = automatic },
                        .communication.wire = automatic };
    options = (struct driver_options){ .job = &job, .view.say = say };
    run = (struct job_run){ .o = &options, .n_agents = 1 };
    run.state.rank = ranks;
    run.state.before = (struct state_failure){ .cause = CAUSE_OOM };
    history = (struct history){ .run = &run };
    said_forget();
}

static void end(void)
{
    memory_watch_end(&watch);
    past_memory_fini(&history.memory);
    journal_fini(&run.journal);
    plan_free(plan);
    plan = NULL;
}

/* The node of the i-th job: GPUs that have equal memory, so that it tells nothing. */
static void make_node(int i)
{
    job.batch.global = jobs[i].batch;
    job.batch.grain = jobs[i].grain;
    run.state.n_ranks = jobs[i].n;
    node = (struct node_profile){ .host = "a", .n_devices = jobs[i].n, .cpu_quota = 8 };
    for (int r = 0; r < jobs[i].n; r++) {
        struct device *d = &node.device[r];

        *d = device_unmeasured(DEVICE_CUDA, r, -1);
        (void)snprintf(d->id, sizeof d->id, "GPU-%d", r);
        (void)snprintf(d->name, sizeof d->name, "card %d", r);
        d->memory_bytes = INT64_C(1) << 34;
        d->fp32_flops = jobs[i].rate[r] * 1e13;
        d->memory_bytes_per_s = jobs[i].rate[r] * 1e12;
    }
}

/* Make the next plan.  Return 0 or a negative error. */
static int make_plan(struct eddis_error *err)
{
    const struct node_profile *nodes[] = { &node };
    const struct planner_history known = { .bound = history.memory.list.row,
                                           .n_bounds = history.memory.list.n };

    plan_free(plan);
    plan = NULL;
    if (planner_plan(&job, &node, 1, &known, &plan, err) < 0)
        return -1;
    plan->version = 1;
    return memory_watch_begin(&watch, plan, nodes, &history.memory, err);
}

/* Start the plan of the i-th job: each rank that gets more than its GPU holds runs out of memory,
 * the others finish no step.  Return how many do.
 */
static int lacking(int i)
{
    int n = 0;

    for (int r = 0; r < jobs[i].n; r++) {
        int64_t batch = plan->worker[r].batch;
        bool oom = batch > jobs[i].holds[r];

        ranks[r] = (struct state_rank){ .oom = oom, .code = oom ? 79 : 0, .at_once = batch };
        n += oom;
    }
    return n;
}

/* All ranks finish steps, and the job ends. */
static void finish(int i)
{
    const struct node_profile *nodes[] = { &node };

    for (int r = 0; r < jobs[i].n; r++) {
        const struct progress p = { .rank = r,
                                    .plan_version = 1,
                                    .step_plan = 1,
                                    .metrics = { .plan = 1, .count = plan->worker[r].batch } };

        memory_watch_progress(&watch, plan, &p);
    }
    memory_watch_learnt(&watch, plan, nodes, &history.memory);
}

/* A plan is found where one exists, in few attempts, and at once in the next job. */
START_TEST(found)
{
    struct eddis_error err = { 0 };
    int n = 0, rc;

    make_node(_i);
    for (rc = make_plan(&err); rc == 0 && lacking(_i) > 0; rc = make_plan(&err)) {
        ck_assert_int_lt(++n, PLANS);
        ck_assert_msg(memory_retry(&history, &run.state.before, plan, &node, &watch, &err) > 0,
                      "%s", err.text);
    }
    ck_assert_msg((rc == 0) == jobs[_i].fits, "plan %d: %s", n, err.text);
    if (rc < 0)
        return;
    finish(_i);
    history.limited = false;
    ck_assert_msg(make_plan(&err) == 0, "%s", err.text);
    ck_assert_int_eq(lacking(_i), 0);
}
END_TEST

/* If no plan is left, the end names the most that may fit, and the card, its bytes and the samples
 * that failed on it.
 */
START_TEST(none_left)
{
    struct eddis_error err = { 0 };
    const int hopeless = 5;

    make_node(hopeless);
    while (make_plan(&err) == 0 && lacking(hopeless) > 0)
        ck_assert_int_gt(memory_retry(&history, &run.state.before, plan, &node, &watch, &err), 0);
    ck_assert_str_eq(err.text, "batch.global is 181, more than the 180 samples that may fit in the "
                               "workers' memory: card 2 on node a, with 17179869184 bytes, could "
                               "not hold 21 at once; lower batch.global, or let the program take "
                               "micro-batches (eddis_options.pieces)");
}
END_TEST

/* The user hears that limits are raised, and of which batch they hold how much. */
START_TEST(says_so)
{
    struct eddis_error err = { 0 };

    make_node(0);
    ck_assert_int_eq(make_plan(&err), 0);
    memory_retry_raised(&history, plan, &node);
    ck_assert_int_eq(n_said, 0);
    for (int r = 0; r < 3; r++)
        ranks[r] = (struct state_rank){ .oom = true, .code = 79, .at_once = 56 };
    ck_assert_int_eq(memory_retry(&history, &run.state.before, plan, &node, &watch, &err), 3);
    job.batch.global = 150;
    ck_assert_int_eq(make_plan(&err), 0);
    memory_retry_raised(&history, plan, &node);
    ck_assert_str_eq(said, "the workers' memory limits hold 84 of 150 samples, so the limits of 3 "
                           "workers are raised, to fewer samples than failed before");
    node.max_batch = 40; /* which leaves them little room */
    job.batch.global = 100;
    ck_assert_int_eq(make_plan(&err), 0);
    memory_retry_raised(&history, plan, &node);
    ck_assert_ptr_nonnull(strstr(said, "hold 84 of 100 samples"));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, found, 0, sizeof jobs / sizeof *jobs);
    tcase_add_test(tc, none_left);
    tcase_add_test(tc, says_so);
}

SUITE_MAIN("plans without memory", add_tests)
