/* SPDX-License-Identifier: Apache-2.0 */
/* test_mode_choice.c - tests of scheduler/mode_choice.h, in plans */
#include "suite.h"

#include "tests/unit/planning.h"

/* What sync does already is no choice beside it, unless the job asks for it. */
START_TEST(one_group_is_no_choice)
{
    const struct planner_history known = { .model_bytes = 1000000 };

    make_nodes(1);
    for (int i = 0; i < 2; i++)
        add_emulated(node, i + 1, 0, 1e-3);
    ck_assert_int_eq(plan_nodes(1, &known), 0);
    ck_assert_str_eq(p->mode, "sync");
    ck_assert_ptr_nonnull(strstr(p->reason, "(async 0."));
    ck_assert_str_eq(p->candidate[2].mode, "hybrid");
    ck_assert_str_eq(p->candidate[2].lost, "its workers would be one group, as in sync");
    ck_assert(p->candidate[2].predicted_samples_per_s == 0);
    job.sync.mode = word_of("hybrid");
    ck_assert_int_eq(plan_nodes(1, &known), 0);
    ck_assert_str_eq(p->mode, "hybrid");
    ck_assert_double_gt(p->candidate[2].predicted_samples_per_s, 0);
}
END_TEST

/* A short job exchanges models at least MODES_LEAST_EXCHANGES times, and eddis chooses the mode at
 * that period.
 */
START_TEST(short_job)
{
    struct planner_history known = { .model_bytes = 4000000, .bytes_per_s = 30e6 / 8 };

    make_nodes(2);
    for (int i = 0; i < 2; i++)
        add_emulated(&node[i], 1, 0, 1e-3);
    job.sync.mode = word_of("async");
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_int_gt(p->options.period, 15);
    ck_assert_str_eq(p->reason, "async because the job asks for it");
    for (int i = 0; i < 3; i++) {
        static const int64_t steps[] = { 60, 20, 1 }, period[] = { 15, 5, 1 };

        known.samples = steps[i] * 64;
        ck_assert_int_eq(plan_nodes(2, &known), 0);
        ck_assert_int_eq(p->options.period, period[i]);
    }
    job.sync.mode = word_of("auto");
    known.samples = 60 * 64;
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_str_eq(p->mode, "async");
    ck_assert_int_eq(p->options.period, 15);
    ck_assert_double_gt(p->candidate[1].predicted_progress, 2 * p->candidate[0].predicted_progress);
}
END_TEST

/* A mode with more models than the global batch has samples is not chosen. */
START_TEST(a_batch_for_fewer_models)
{
    const struct planner_history known = { .model_bytes = 4000000, .bytes_per_s = 1e5 };

    make_nodes(4);
    for (int i = 0; i < 4; i++)
        add_emulated(&node[i], 1, 1e-4, 1e-5);
    job.batch.global = 8;
    job.batch.min = 0;
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert_str_eq(p->mode, "async");
    job.batch.global = 3;
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert_str_eq(p->candidate[1].lost, "the global batch is too small for its 4 models");
    ck_assert_str_ne(p->mode, "async");
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_test(tc, one_group_is_no_choice);
    tcase_add_test(tc, short_job);
    tcase_add_test(tc, a_batch_for_fewer_models);
}

SUITE_MAIN("mode_choice", add_tests)
