/* SPDX-License-Identifier: Apache-2.0 */
/* test_mode_choice.c - tests of scheduler/mode_choice.h, in plans */
#include "scheduler/planner.h"

#include "lib/base/cleanup.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What sync does already is no choice beside it, unless the job asks for it. */
START_TEST(one_group_is_no_choice)
{
    const struct planner_history known = { .model_bytes = 1000000 };
    cleanup_free struct node_profile *node = calloc(1, sizeof *node);
    char open[] = "auto", hybrid[] = "hybrid";
    struct job job = { .batch = { .global = 64, .min = 1, .grain = 1 },
                       .sync = { .mode = open, .algorithm = open },
                       .communication.wire = open };
    struct plan *p;

    ck_assert_ptr_nonnull(node);
    node->cpu_quota = NAN;
    node->n_devices = 2;
    for (int i = 0; i < 2; i++)
        node->device[i] =
            (struct device){ .kind = DEVICE_EMULATED, .rate = i + 1, .sample_s = 1e-3 };
    ck_assert_int_eq(planner_plan(&job, node, 1, &known, &p, NULL), 0);
    ck_assert_str_eq(p->mode, "sync");
    ck_assert_ptr_nonnull(strstr(p->reason, "(async 0."));
    ck_assert_str_eq(p->candidate[2].mode, "hybrid");
    ck_assert_str_eq(p->candidate[2].lost, "its workers would be one group, as in sync");
    ck_assert(p->candidate[2].predicted_samples_per_s == 0);
    plan_free(p);
    job.sync.mode = hybrid;
    ck_assert_int_eq(planner_plan(&job, node, 1, &known, &p, NULL), 0);
    ck_assert_str_eq(p->mode, "hybrid");
    ck_assert_double_gt(p->candidate[2].predicted_samples_per_s, 0);
    plan_free(p);
}
END_TEST

/* The plan says that its period is of the job's length, not of the network. */
START_TEST(short_job)
{
    struct planner_history known = { .model_bytes = 4000000, .bytes_per_s = 30e6 / 8 };
    cleanup_free struct node_profile *node = calloc(2, sizeof *node);
    char open[] = "auto", async[] = "async";
    struct job job = { .batch = { .global = 64, .min = 1, .grain = 1 },
                       .sync = { .mode = async, .algorithm = open },
                       .communication.wire = open };
    struct plan *p;

    ck_assert_ptr_nonnull(node);
    for (int i = 0; i < 2; i++) {
        node[i].cpu_quota = NAN;
        node[i].n_devices = 1;
        node[i].device[0] = (struct device){ .kind = DEVICE_EMULATED, .rate = 1, .sample_s = 1e-3 };
    }
    ck_assert_int_eq(planner_plan(&job, node, 2, &known, &p, NULL), 0);
    ck_assert_int_gt(p->options.period, 60);
    ck_assert_str_eq(p->reason, "async because the job asks for it");
    plan_free(p);
    known.samples = 60 * 64;
    ck_assert_int_eq(planner_plan(&job, node, 2, &known, &p, NULL), 0);
    ck_assert_int_eq(p->options.period, 15);
    ck_assert_ptr_nonnull(strstr(p->reason, "; models are exchanged every 15 steps, not "));
    ck_assert_ptr_nonnull(strstr(p->reason, ", because the job has only 60"));
    plan_free(p);
    known.samples = 4 * 64;
    ck_assert_int_eq(planner_plan(&job, node, 2, &known, &p, NULL), 0);
    ck_assert_int_eq(p->options.period, 1);
    ck_assert_ptr_nonnull(strstr(p->reason, "; models are exchanged every 1 step, not "));
    plan_free(p);
    /* Left to eddis it is sync, though async would pass over the samples in less time ... */
    job.sync.mode = open;
    known.samples = 60 * 64;
    ck_assert_int_eq(planner_plan(&job, node, 2, &known, &p, NULL), 0);
    ck_assert_str_eq(p->mode, "sync");
    ck_assert_double_gt(p->candidate[1].predicted_progress, 2 * p->candidate[0].predicted_progress);
    ck_assert_ptr_nonnull(
        strstr(p->reason, "one model, and 60 steps are too few to average models periodically;"));
    ck_assert_str_eq(p->candidate[1].lost,
                     "the job's 60 steps are too few to average models periodically");
    plan_free(p);
    known.samples = 60000 * 64; /* ... which a longer job takes */
    ck_assert_int_eq(planner_plan(&job, node, 2, &known, &p, NULL), 0);
    ck_assert_str_eq(p->mode, "async");
    plan_free(p);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, one_group_is_no_choice);
    tcase_add_test(tc, short_job);
}

SUITE_MAIN("mode_choice", add_tests)
