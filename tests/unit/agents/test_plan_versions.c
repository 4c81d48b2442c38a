/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_versions.c - tests of agents/driver/plan/plan_versions.h: the equal split before the
 * plan
 */
#include "agents/driver/plan/plan_versions.h"

#include "said.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { N = 2, SHARE = 64, STEPS = 20 };

static struct driver_options options;
static struct job_run run;
static struct plan_versions s;

/* The first worker gets this much more than the last, which may take no more than most. */
static void begin(int n, int64_t more, int64_t most)
{
    options = (struct driver_options){ .measure_equal = STEPS, .view.say = say };
    run = (struct job_run){ .o = &options, .state.generation = 1 };
    s = (struct plan_versions){ .run = &run, .plans.plan = plan_new(1, n) };
    said_forget();
    ck_assert_ptr_nonnull(s.plans.plan);
    s.plans.plan->global_batch = n * SHARE;
    for (int i = 0; i < n; i++)
        s.plans.plan->worker[i] = (struct plan_worker){
            .sample_s = 1e-3,
            .batch = SHARE + (i == 0 ? more : -more),
            .equal_batch = SHARE,
            .max = i == n - 1 ? most : 0,
        };
    ck_assert_int_eq(plan_versions_begin(&s, false, NULL), 0);
}

static void end(void)
{
    plan_versions_forget(&s);
    journal_fini(&run.journal);
}

/* Who asked for it hears why there is none. */
START_TEST(equal_that_does_not_fit)
{
    begin(N, SHARE / 2, SHARE);
    ck_assert(s.plans.equal && plan_versions_measures_equal(&s));
    ck_assert_str_eq(said, "");
    end();
    begin(N, SHARE / 2, SHARE / 2);
    ck_assert(!s.plans.equal && !plan_versions_measures_equal(&s));
    ck_assert_str_eq(said, "the equal split is not measured, because rank 1 may take at most 32 "
                           "samples and an equal share is 64");
}
END_TEST

/* Nothing would be compared but cold steps with warm ones. */
START_TEST(equal_that_is_the_plan)
{
    begin(N, 0, 0);
    ck_assert(!s.plans.equal && !plan_versions_measures_equal(&s));
    ck_assert_int_eq(s.plans.plan->version, 1);
    ck_assert_str_eq(said, "the equal split is not measured, because the plan is the equal split");
    end();
    begin(1, 0, 0);
    ck_assert_ptr_null(s.plans.equal);
    ck_assert_str_eq(said, "the equal split is not measured, because there is one worker");
}
END_TEST

/* Else the version would count as agreed on, and no later one ever would. */
START_TEST(versions_that_are_not)
{
    struct progress p = {
        .rank = 1, .plan_version = 1, .plan_since = 0, .step_plan = 1, .metrics.plan = 1
    };
    int64_t *told = _i == 0 ? &p.plan_version : _i == 1 ? &p.step_plan : &p.metrics.plan;

    begin(N, SHARE / 2, SHARE);
    ck_assert(plan_versions_knows(&s, &p));
    *told = s.plans.newest + 1;
    ck_assert(!plan_versions_knows(&s, &p));
    ck_assert_str_eq(said,
                     "rank 1 reports plan version 2, but the newest is 1; its metrics are ignored");
    said[0] = '\0';
    *told = INT64_MAX;
    ck_assert(!plan_versions_knows(&s, &p));
    ck_assert_str_eq(said, "");
    *told = 1;
    ck_assert(plan_versions_knows(&s, &p));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, end);
    tcase_add_loop_test(tc, versions_that_are_not, 0, 3);
    tcase_add_test(tc, equal_that_does_not_fit);
    tcase_add_test(tc, equal_that_is_the_plan);
}

SUITE_MAIN("publishing", add_tests)
