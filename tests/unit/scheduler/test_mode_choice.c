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

/* The plan says that its period is of the job's length, not of the network. */
START_TEST(short_job)
{
    struct planner_history known = { .model_bytes = 4000000, .bytes_per_s = 30e6 / 8 };

    make_nodes(2);
    for (int i = 0; i < 2; i++)
        add_emulated(&node[i], 1, 0, 1e-3);
    job.sync.mode = word_of("async");
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_int_gt(p->options.period, 60);
    ck_assert_str_eq(p->reason, "async because the job asks for it");
    known.samples = 60 * 64;
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_int_eq(p->options.period, 15);
    ck_assert_ptr_nonnull(strstr(p->reason, "; models are exchanged every 15 steps, not "));
    ck_assert_ptr_nonnull(strstr(p->reason, ", because the job has only 60"));
    known.samples = 4 * 64;
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_int_eq(p->options.period, 1);
    ck_assert_ptr_nonnull(strstr(p->reason, "; models are exchanged every 1 step, not "));
    /* Left to eddis it is sync, though async would pass over the samples in less time ... */
    job.sync.mode = word_of("auto");
    known.samples = 60 * 64;
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_str_eq(p->mode, "sync");
    ck_assert_double_gt(p->candidate[1].predicted_progress, 2 * p->candidate[0].predicted_progress);
    ck_assert_ptr_nonnull(
        strstr(p->reason, "one model, and 60 steps are too few to average models periodically;"));
    ck_assert_str_eq(p->candidate[1].lost,
                     "the job's 60 steps are too few to average models periodically");
    known.samples = 60000 * 64; /* ... which a longer job takes */
    ck_assert_int_eq(plan_nodes(2, &known), 0);
    ck_assert_str_eq(p->mode, "async");
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_test(tc, one_group_is_no_choice);
    tcase_add_test(tc, short_job);
}

SUITE_MAIN("mode_choice", add_tests)
