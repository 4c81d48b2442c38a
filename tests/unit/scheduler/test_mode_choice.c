/* SPDX-License-Identifier: Apache-2.0 */
/* test_mode_choice.c - tests of scheduler/mode_choice.h, in plans */
#include "suite.h"

#include "tests/unit/planning.h"

#include <errno.h>

/* What sync does already is no choice beside it, unless the job asks for it. */
START_TEST(one_group_is_no_choice)
{
    const struct planner_history known = { .model_bytes = 1000000 };

    make_nodes(1);
    for (int i = 0; i < 2; i++)
        add_emulated(node, i + 1, 0, 1e-3);
    ck_assert_int_eq(plan_nodes(1, &known), 0);
    ck_assert_str_eq(p->mode, "sync");
    ck_assert_ptr_nonnull(strstr(p->reason, "(local 0."));
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
    ck_assert_str_eq(p->mode, "local");
    ck_assert_int_eq(p->options.period, 15);
    ck_assert_double_gt(p->candidate[1].predicted_progress, 2 * p->candidate[0].predicted_progress);
}
END_TEST

/* A mode with more models than the global batch has samples is not chosen. */
START_TEST(a_batch_for_fewer_models)
{
    const struct planner_history known = { .model_bytes = 4000000, .bytes_per_s = 1e6 };

    make_nodes(4);
    for (int i = 0; i < 4; i++)
        add_emulated(&node[i], 1, 1e-4, 1e-5);
    job.batch.global = 8;
    job.batch.min = 0;
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert(algorithm_has(p->algorithm, ALGORITHM_SEVERAL));
    job.batch.global = 3;
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert_str_eq(p->candidate[1].lost, "the global batch is too small for its 4 models");
    ck_assert_str_ne(p->mode, "async");
    for (int i = 2; i < p->n_candidates; i++) /* of groups there may be fewer */
        ck_assert_ptr_null(strstr(p->candidate[i].lost, "too small"));
}
END_TEST

/* Return whether the plan lists an algorithm with ALGORITHM_NAMED. */
static bool lists_named(void)
{
    for (int i = 0; i < p->n_candidates; i++)
        if (algorithm_has(p->candidate[i].algorithm, ALGORITHM_NAMED))
            return true;
    return false;
}

/* eddis takes diloco only if the job names it, or has begun with it. */
START_TEST(diloco_only_if_named)
{
    struct planner_history known = { .model_bytes = 400000000, .bytes_per_s = 1e8 };

    make_mix(4);
    job.batch.global = 512;
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert_str_eq(p->algorithm, "local");
    ck_assert(!lists_named());
    job.sync.mode = word_of("hybrid");
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert(!lists_named());
    job.sync.mode = word_of("local");
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert(!lists_named());
    ck_assert_str_eq(p->algorithm, "local");
    ck_assert_ptr_nonnull(strstr(p->reason, "local because the job asks for it"));
    job.sync.algorithm = word_of("diloco");
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert(lists_named());
    ck_assert_str_eq(p->algorithm, "diloco");
    job.sync.algorithm = word_of("auto");
    job.sync.mode = word_of("auto");
    known.algorithm = "diloco";
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert_str_eq(p->algorithm, "diloco");
    ck_assert_ptr_nonnull(strstr(p->reason, "local because the job has begun with it"));
}
END_TEST

/* A group is a node, or a worker of the only node; the batches are those of sync mode but for the
 * balance inside a group.
 */
START_TEST(local_groups)
{
    int64_t of_node[4] = { 0 };

    make_mix(4);
    job.batch.global = 512;
    ck_assert_int_eq(plan_nodes(4, NULL), 0);
    for (int i = 0; i < 16; i++)
        of_node[p->worker[i].node] += p->worker[i].batch;
    job.sync.mode = word_of("local");
    ck_assert_int_eq(plan_nodes(4, NULL), 0);
    ck_assert_int_eq(p->n_groups, 4);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(p->worker[i].group, p->worker[i].node);
        of_node[p->worker[i].node] -= p->worker[i].batch;
    }
    for (int k = 0; k < 4; k++)
        ck_assert_int_eq(of_node[k], 0);
    make_mix(1);
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(p->n_groups, 16);
    job.sync.groups.n = 2;
    ck_assert_int_eq(plan_nodes(1, NULL), 0);
    ck_assert_int_eq(p->n_groups, 2);
}
END_TEST

/* What the job leaves open has DiLoCo's values, and what the algorithm does not have is 0. */
START_TEST(local_options)
{
    const struct planner_history epoch = { .samples = 100 * 512,
                                           .samples_in_epoch = 20 * 512 + 256 };
    const struct planner_history other = { .samples = 10 * 512, .samples_in_epoch = 5 * 256 };

    job.batch.global = 512;
    make_mix(4);
    job.sync.mode = word_of("local");
    ck_assert_int_eq(plan_nodes(4, NULL), 0);
    ck_assert_int_eq(p->options.period, 16);
    ck_assert(p->options.moving_rate == 0 && p->options.outer_rate == 0 &&
              p->options.outer_momentum == 0 && p->epoch_steps == 0);
    ck_assert_int_eq(plan_nodes(4, &epoch), 0);
    ck_assert_double_eq(p->epoch_steps, 20.5);
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, &epoch, NULL), 0);
    ck_assert_double_eq(p->epoch_steps, 20.5);
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, &other, NULL), 0);
    ck_assert_double_eq(p->epoch_steps, 2.5); /* not that of the job that wrote the plan */
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, NULL), 0);
    ck_assert_double_eq(p->epoch_steps, 0);
    job.sync.algorithm = word_of("diloco");
    ck_assert_int_eq(plan_nodes(4, NULL), 0);
    ck_assert(p->options.moving_rate == 0 && p->options.outer_rate == 0.7 &&
              p->options.outer_momentum == 0.9);
    job.sync.options = (struct sync_options){ .period = 5, .outer_rate = 1, .overlap = 2 };
    ck_assert_int_eq(plan_nodes(4, NULL), 0);
    ck_assert(p->options.period == 5 && p->options.outer_rate == 1 && p->options.overlap == 2 &&
              p->options.outer_momentum == 0.9);
    for (int i = 0; i < p->n_candidates; i++)
        ck_assert_int_eq(p->candidate[i].options.overlap,
                         algorithm_has(p->candidate[i].algorithm, ALGORITHM_ROUNDS) ? 2 : 0);
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, NULL), 0);
    ck_assert_ptr_nonnull(
        strstr(p->reason, "; the efficiency does not count that models are combined 2 steps late"));
    job.sync.options.overlap = 3;
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "overlaps 2 steps with the combining of models, but "
                                           "sync.overlap is 3"));
    job.sync.options.overlap = 0;
    job.sync.options.outer_momentum = 0.5;
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, &err), -EINVAL);
    ck_assert_msg(strstr(err.text, "outer rate 1 and outer momentum 0.9") != NULL, "%s", err.text);
    job.sync.options.outer_momentum = 0;
    job.sync.options.period = 6;
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "every 5 steps, but sync.period is 6"));
    job.sync.options.period = 0;
    job.sync.mode = job.sync.algorithm = word_of("auto");
    job.sync.options.outer_rate = 0;
    ck_assert_int_eq(planner_adopt(p, &job, node, 4, NULL, NULL), 0); /* the plan names its mode */
}
END_TEST

/* Gradients and models travel in 16 bits if the job says so. */
START_TEST(local_wire)
{
    const struct planner_history known = { .model_bytes = 4000000, .bytes_per_s = 1e6 };
    double wide;

    make_mix(4);
    job.batch.global = 512;
    job.sync.mode = word_of("local");
    job.sync.options.period = 4;
    job.communication.wire = word_of("float32");
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    wide = p->predicted_samples_per_s;
    job.communication.wire = word_of("auto");
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert_int_eq(p->options.wire, SYNC_WIRE_BFLOAT16);
    ck_assert_double_gt(p->predicted_samples_per_s, 1.5 * wide);
    ck_assert_ptr_nonnull(strstr(p->reason, "; gradients and models as bfloat16 between nodes"));
}
END_TEST

static const struct plan_candidate *candidate_of(const char *algorithm)
{
    for (int i = 0; i < p->n_candidates; i++)
        if (strcmp(p->candidate[i].algorithm, algorithm) == 0)
            return &p->candidate[i];
    ck_abort_msg("%s is no candidate", algorithm);
    return NULL;
}

static double throughput(const char *algorithm)
{
    return candidate_of(algorithm)->predicted_samples_per_s;
}

/* The mode of the most progress a second, by the plan's own predictions and the table: it may not
 * be the one of the most samples, and both the wire and the period decide.
 */
START_TEST(chooses_by_progress)
{
    static const double wires[] = { 2e6, 5e6, 10e6, 25e6, 125e6 };
    const struct algorithm *easgd = algorithm_find("easgd"), *hsgd = algorithm_find("hsgd");
    int other = 0, held_back = 0;

    make_mix(4);
    job.batch.global = 512;
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++)
        for (int64_t period = 1; period <= 1024; period *= 4) {
            struct planner_history known = { 4000000, 1e-4, wires[i] };
            double sync, async, hybrid, local;
            const char *want = "sync";

            job.sync.options.period = period;
            ck_assert_int_eq(plan_nodes(4, &known), 0);
            sync = throughput("allreduce");
            if (candidate_of("allreduce")->options.wire == SYNC_WIRE_FLOAT32)
                sync *= ALGORITHM_MARGIN;
            async = throughput("easgd") * algorithm_efficiency(easgd, 16, period);
            hybrid = throughput("hsgd") * algorithm_efficiency(hsgd, 4, period);
            local = candidate_of("local")->predicted_progress; /* with groups of its own */
            if (local > sync && local > async && local > hybrid)
                want = "local";
            else if (async > sync && async > hybrid)
                want = "async";
            else if (hybrid > sync)
                want = "hybrid";
            ck_assert_str_eq(p->mode, want);
            other += strcmp(want, "sync") != 0;
            held_back += strcmp(want, "sync") == 0 && throughput("hsgd") > sync;
        }
    ck_assert_int_gt(other, 0);
    ck_assert_int_gt(held_back, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_test(tc, diloco_only_if_named);
    tcase_add_test(tc, local_groups);
    tcase_add_test(tc, local_options);
    tcase_add_test(tc, local_wire);
    tcase_add_test(tc, chooses_by_progress);
    tcase_add_test(tc, one_group_is_no_choice);
    tcase_add_test(tc, short_job);
    tcase_add_test(tc, a_batch_for_fewer_models);
}

SUITE_MAIN("mode_choice", add_tests)
