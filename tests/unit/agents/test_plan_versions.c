/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_versions.c - tests of agents/driver/plan/plan_versions.h: the equal split before the
 * plan
 */
#include "agents/driver/plan/plan_versions.h"

#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { N = 2, SHARE = 64, STEPS = 20 };

static struct driver_options options;
static struct job_run run;
static char said[512];

static void say(void *ctx, const char *sentence)
{
    (void)ctx;
    (void)snprintf(said, sizeof said, "%s", sentence);
}

/* The first worker gets this much more than the last, which may take no more than most, by a guess
 * or not.
 */
static void begin_of(struct plan_versions *s, int n, int64_t more, int64_t most, bool guessed)
{
    options = (struct driver_options){ .measure_equal = STEPS, .view.say = say };
    run = (struct job_run){ .o = &options, .state.generation = 1 };
    *s = (struct plan_versions){ .run = &run, .plans.plan = plan_new(1, n) };
    said[0] = '\0';
    ck_assert_ptr_nonnull(s->plans.plan);
    s->plans.plan->global_batch = n * SHARE;
    for (int i = 0; i < n; i++)
        s->plans.plan->worker[i] = (struct plan_worker){
            .sample_s = 1e-3,
            .batch = SHARE + (i == 0 ? more : -more),
            .equal_batch = SHARE,
            .max = i == n - 1 && !guessed ? most : 0,
            .piece = i == n - 1 && guessed ? most : 0,
            .guessed = i == n - 1 && guessed,
        };
    ck_assert_int_eq(plan_versions_begin(s, false, NULL), 0);
}

static void begin(struct plan_versions *s, int n, int64_t more, int64_t most)
{
    begin_of(s, n, more, most, false);
}

static void end(struct plan_versions *s)
{
    plan_versions_forget(s);
    journal_fini(&run.journal);
}

/* Who asked for it hears why there is none. */
START_TEST(equal_that_does_not_fit)
{
    struct plan_versions s;

    begin(&s, N, SHARE / 2, SHARE);
    ck_assert(s.plans.equal && plan_versions_measures_equal(&s));
    ck_assert_str_eq(said, "");
    end(&s);
    begin(&s, N, SHARE / 2, SHARE / 2);
    ck_assert(!s.plans.equal && !plan_versions_measures_equal(&s));
    ck_assert_str_eq(said, "the equal split is not measured, because rank 1 may take at most 32 "
                           "samples and an equal share is 64");
    end(&s);
    begin_of(&s, N, SHARE / 2, SHARE / 2, true); /* more than its GPU may hold */
    ck_assert(!s.plans.equal && !plan_versions_measures_equal(&s));
    ck_assert_str_eq(said, "the equal split is not measured, because rank 1 may take at most 32 "
                           "samples, its part by the memory of the GPUs, and an equal share is 64; "
                           "set batch.max to that or more if it fits");
    end(&s);
    begin_of(&s, N, SHARE / 2, SHARE, true);
    ck_assert(s.plans.equal && plan_versions_measures_equal(&s));
    end(&s);
}
END_TEST

/* Nothing would be compared but cold steps with warm ones. */
START_TEST(equal_that_is_the_plan)
{
    struct plan_versions s;

    begin(&s, N, 0, 0);
    ck_assert(!s.plans.equal && !plan_versions_measures_equal(&s));
    ck_assert_int_eq(s.plans.plan->version, 1);
    ck_assert_str_eq(said, "the equal split is not measured, because the plan is the equal split");
    end(&s);
    begin(&s, 1, 0, 0);
    ck_assert_ptr_null(s.plans.equal);
    ck_assert_str_eq(said, "the equal split is not measured, because there is one worker");
    end(&s);
}
END_TEST

/* Else the version would count as agreed on, and no later one ever would. */
START_TEST(versions_that_are_not)
{
    struct progress p = {
        .rank = 1, .plan_version = 1, .plan_since = 0, .step_plan = 1, .metrics.plan = 1
    };
    int64_t *const versions[] = { &p.plan_version, &p.step_plan, &p.metrics.plan };
    struct plan_versions s;

    for (int i = 0; i < 3; i++) {
        begin(&s, N, SHARE / 2, SHARE);
        ck_assert(plan_versions_knows(&s, &p));
        *versions[i] = s.plans.newest + 1;
        ck_assert(!plan_versions_knows(&s, &p));
        ck_assert_str_eq(
            said, "rank 1 reports plan version 2, but the newest is 1; its metrics are ignored");
        said[0] = '\0';
        *versions[i] = INT64_MAX;
        ck_assert(!plan_versions_knows(&s, &p));
        ck_assert_str_eq(said, "");
        *versions[i] = 1;
        ck_assert(plan_versions_knows(&s, &p));
        end(&s);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, versions_that_are_not);
    tcase_add_test(tc, equal_that_does_not_fit);
    tcase_add_test(tc, equal_that_is_the_plan);
}

SUITE_MAIN("publishing", add_tests)
