/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_watch.c - tests of agents/driver/plan/memory_watch.h: what reports of peaks come to
 */
#include "agents/driver/plan/memory_watch.h"

#include "scheduler/planner.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

#define MB INT64_C(1000000)

enum { GLOBAL = 1000, BATCH = 100 };

static struct memory_watch watch;
static struct past_memory known;
static struct node_profile node;
static const struct node_profile *nodes[] = { &node };
static struct plan *plan;

static void begin_of(int n, int64_t piece)
{
    plan = plan_new(1, n);
    ck_assert_ptr_nonnull(plan);
    plan->version = 1;
    plan->global_batch = GLOBAL;
    strcpy(plan->node[0], "n");
    for (int i = 0; i < n; i++)
        plan->worker[i] = (struct plan_worker){ .batch = BATCH, .piece = piece };
    watch = (struct memory_watch){ 0 };
}

static void begin(int64_t piece)
{
    begin_of(1, piece);
    ck_assert_int_eq(memory_watch_begin(&watch, plan, nodes, &known, NULL), 0);
}

static void end(void)
{
    memory_watch_end(&watch);
    past_memory_fini(&known);
    plan_free(plan);
}

/* Steps of so many samples under a version of the plan, the present one of at_once. */
static void report(int64_t version, int64_t count, int64_t at_once, int64_t bytes, bool pieces)
{
    const struct progress p = { .plan_version = version,
                                .step_plan = version,
                                .metrics = { .plan = version, .count = count },
                                .at_once = at_once,
                                .takes_pieces = pieces,
                                .memory_bytes = bytes,
                                .memory_limit_bytes = 1000 * MB };

    memory_watch_progress(&watch, plan, &p);
}

/* Peaks of two counts of samples, 300 MB of the half of them. */
static void report_line(int64_t bytes)
{
    report(1, BATCH, BATCH, 300 * MB, false);
    report(1, 2 * BATCH, 2 * BATCH, bytes, false);
}

static const struct planner_bound *first(void)
{
    return known.list.row;
}

static int64_t bound(void)
{
    ck_assert(memory_watch_look(&watch));
    return watch.most[0];
}

/* The peak of whole steps is not that of an epoch's last one, which is under way. */
START_TEST(short_step)
{
    begin(0);
    report(1, BATCH, 10, 300 * MB, false);
    report(1, BATCH, BATCH, 300 * MB, false);
    ck_assert_int_eq(bound(), 300); /* as if all of it grew */
    report(1, 2 * BATCH, 10, 500 * MB, false);
    ck_assert_int_eq(bound(), 400); /* 100 MB and 2 MB a sample, in 900 MB */
}
END_TEST

/* Who takes pieces holds one at a time, and the last step may be less than that. */
START_TEST(short_step_in_pieces)
{
    begin(50);
    report(1, BATCH, 10, 200 * MB, true);
    report(1, BATCH, 50, 200 * MB, true);
    ck_assert_int_eq(bound(), 225);
    plan->worker[0].piece = 0; /* another plan, by which all is held at once */
    plan->version = 3;
    report(1, BATCH, 50, 200 * MB, true); /* it does not know of it yet */
    ck_assert(!memory_watch_look(&watch));
    report(4, BATCH, 7, 300 * MB, true); /* the same once more, with a checkpoint */
    ck_assert_int_eq(bound(), 400);
}
END_TEST

/* What it failed with is not outdone by its peaks; where they bind the next job knows of it. */
START_TEST(kept)
{
    struct planner_bound row = { .samples = 250 };

    begin(0);
    report_line(500 * MB);
    ck_assert_int_eq(bound(), 400);
    memory_watch_learnt(&watch, plan, nodes, &known);
    ck_assert_int_eq(known.list.n, 1);
    ck_assert_int_eq(first()->samples, 400);
    ck_assert(first()->measured);
    strcpy(row.key, first()->key);
    ck_assert_int_eq(past_memory_set(&known, &row, NULL), 0);
    memory_watch_learnt(&watch, plan, nodes, &known);
    ck_assert_int_eq(first()->samples, 250);
    plan->worker[0].piece = 250;
    ck_assert_int_eq(memory_watch_begin(&watch, plan, nodes, &known, NULL), 0);
    report_line(500 * MB);
    ck_assert_int_eq(bound(), 250);
}
END_TEST

/* A line by which all fits takes what was measured before away. */
START_TEST(binds_no_more)
{
    begin(0);
    report_line(500 * MB);
    ck_assert(memory_watch_look(&watch));
    memory_watch_learnt(&watch, plan, nodes, &known);
    ck_assert_int_eq(known.list.n, 1);
    ck_assert_int_eq(memory_watch_begin(&watch, plan, nodes, &known, NULL), 0);
    report_line(310 * MB);
    ck_assert(memory_watch_look(&watch));
    memory_watch_learnt(&watch, plan, nodes, &known);
    ck_assert_int_eq(known.list.n, 0);
}
END_TEST

/* Three workers on devices of 1000 MB, the first on the last one, the others on the first.  Return
 * what a worker reports that holds so much of its device.
 */
static struct progress begin_devices(int n, int64_t bytes)
{
    static struct node_profile with;
    const struct node_profile *one = &with;

    with = (struct node_profile){ .n_devices = n };
    begin_of(3, 0);
    for (int i = 0; i < n; i++) {
        with.device[i].kind = DEVICE_CUDA;
        with.device[i].memory_bytes = 1000 * MB;
        (void)snprintf(with.device[i].id, sizeof with.device[i].id, "gpu%d", i);
    }
    for (int i = 0; i < 3; i++) {
        plan->worker[i].kind = DEVICE_CUDA;
        strcpy(plan->worker[i].device_id, with.device[i ? 0 : n - 1].id);
    }
    ck_assert_int_eq(memory_watch_begin(&watch, plan, &one, &known, NULL), 0);
    return (struct progress){ .plan_version = 1,
                              .step_plan = 1,
                              .metrics = { .plan = 1, .count = BATCH },
                              .memory_bytes = bytes,
                              .memory_told = true };
}

/* Rank 0 tells what its device holds; the memory of the node, by whose limit ranks are put together
 * in its name, is another.
 */
START_TEST(device_and_node)
{
    struct progress p = begin_devices(1, 500 * MB);

    p.memory_limit_bytes = 1000 * MB;
    memory_watch_progress(&watch, plan, &p);
    p.memory_told = false;
    p.memory_bytes = 225 * MB;
    for (p.rank = 1; p.rank < 3; p.rank++)
        memory_watch_progress(&watch, plan, &p);
    ck_assert_int_eq(bound(), 180); /* 900 MB of the device alone */
    ck_assert_int_eq(watch.most[1], 200);
    ck_assert_int_eq(watch.most[2], 200); /* both of the node's */
}
END_TEST

/* Two of three workers are on one device: its memory is for both. */
START_TEST(shared_device)
{
    struct progress p = begin_devices(2, 225 * MB);

    for (p.rank = 0; p.rank < 3; p.rank++)
        memory_watch_progress(&watch, plan, &p);
    ck_assert_int_eq(bound(), 400); /* 900 MB of 2.25 MB a sample */
    ck_assert_int_eq(watch.most[1], 200);
    ck_assert_int_eq(watch.most[2], 200);
}
END_TEST

/* What a worker failed with is known as of the last job that trained under it. */
START_TEST(renewed)
{
    const struct plan_worker w = { .batch = BATCH };
    struct planner_bound *row, failed = { .samples = 50 };

    begin(50);
    planner_key(plan->node[0], &node, &w, failed.key);
    ck_assert_int_eq(past_memory_set(&known, &failed, NULL), 0);
    row = known.list.row;
    ck_assert_int_ne(row->learnt_s, 0);
    row->learnt_s = 0;
    memory_watch_learnt(&watch, plan, nodes, &known); /* it was not known when it began */
    ck_assert_int_eq(row->learnt_s, 0);
    ck_assert_int_eq(memory_watch_begin(&watch, plan, nodes, &known, NULL), 0);
    memory_watch_learnt(&watch, plan, nodes, &known);
    ck_assert_int_ne(row->learnt_s, 0);
}
END_TEST

/* A rank that there is not, no peak, a plan that is being taken up. */
START_TEST(left_out)
{
    struct progress p = { .plan_version = 2,
                          .step_plan = 1,
                          .metrics = { .plan = 1, .count = BATCH },
                          .memory_bytes = MB,
                          .memory_limit_bytes = 1000 * MB };

    begin(0);
    memory_watch_progress(&watch, plan, &p);
    p.plan_version = 1;
    p.rank = 1;
    memory_watch_progress(&watch, plan, &p);
    p.rank = -1;
    memory_watch_progress(&watch, plan, &p);
    p.rank = 0;
    p.memory_bytes = 0;
    memory_watch_progress(&watch, plan, &p);
    ck_assert(!memory_watch_look(&watch));
    memory_watch_end(&watch);
    memory_watch_progress(&watch, NULL, &p);
    ck_assert(!memory_watch_look(&watch));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, end);
    tcase_add_test(tc, short_step);
    tcase_add_test(tc, short_step_in_pieces);
    tcase_add_test(tc, kept);
    tcase_add_test(tc, binds_no_more);
    tcase_add_test(tc, renewed);
    tcase_add_test(tc, device_and_node);
    tcase_add_test(tc, shared_device);
    tcase_add_test(tc, left_out);
}

SUITE_MAIN("memory_watch", add_tests)
