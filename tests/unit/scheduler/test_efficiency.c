/* SPDX-License-Identifier: Apache-2.0 */
/* test_efficiency.c - tests of scheduler/efficiency.h */
#include "scheduler/efficiency.h"

#include "suite.h"

#include "tests/unit/planning.h"

/* Return a measurement of hybrid mode with a global batch of 512. */
static struct efficiency_row row_of(int64_t writers, int64_t period, double value)
{
    struct efficiency_row row = {
        .algorithm = "hsgd", .writers = writers, .period = period, .batch = 512, .value = value
    };

    efficiency_key(&row);
    return row;
}

START_TEST(table_without_measurements)
{
    const struct algorithm *hsgd = algorithm_find("hsgd"), *easgd = algorithm_find("easgd");
    const struct efficiency_row row = row_of(4, 16, 0.9);
    const struct efficiencies other_batch = { &row, 1, 256 }, same = { &row, 1, 512 };

    ck_assert(efficiency_of(NULL, hsgd, 4, 16) == algorithm_efficiency(hsgd, 4, 16));
    ck_assert(efficiency_of(&other_batch, hsgd, 4, 16) == algorithm_efficiency(hsgd, 4, 16));
    ck_assert(efficiency_of(&same, easgd, 4, 16) == algorithm_efficiency(easgd, 4, 16));
    ck_assert(efficiency_is_measured(&same, hsgd));
    ck_assert(!efficiency_is_measured(&same, easgd));
    ck_assert(!efficiency_is_measured(&other_batch, hsgd));
    ck_assert(!efficiency_is_measured(NULL, hsgd));
    ck_assert(efficiency_of(&same, hsgd, 1, 16) == 1);
}
END_TEST

/* A measurement holds where it was made, scales the table near it, and counts more the nearer. */
START_TEST(scaled_to_measurements)
{
    const struct algorithm *hsgd = algorithm_find("hsgd");
    const struct efficiency_row rows[] = { row_of(4, 4, 0.95), row_of(4, 256, 0.20) };
    const struct efficiencies one = { rows, 1, 512 }, two = { rows, 2, 512 };
    double scale = 0.95 / algorithm_efficiency(hsgd, 4, 4), near, far;

    ck_assert_double_eq_tol(efficiency_of(&one, hsgd, 4, 4), 0.95, 1e-12);
    ck_assert_double_eq_tol(efficiency_of(&one, hsgd, 8, 64),
                            scale * algorithm_efficiency(hsgd, 8, 64), 1e-12);
    ck_assert_double_eq_tol(efficiency_of(&two, hsgd, 4, 4), 0.95, 1e-12);
    ck_assert_double_eq_tol(efficiency_of(&two, hsgd, 4, 256), 0.20, 1e-12);
    near = efficiency_of(&two, hsgd, 4, 8) / algorithm_efficiency(hsgd, 4, 8);
    far = efficiency_of(&two, hsgd, 4, 128) / algorithm_efficiency(hsgd, 4, 128);
    ck_assert_double_lt(near, scale);
    ck_assert_double_gt(near, 1);
    ck_assert_double_lt(far, 1);
}
END_TEST

/* A plan goes by what was measured: hybrid, which the table refuses, if it loses nothing here. */
START_TEST(plan_by_measurements)
{
    const struct efficiency_row row = row_of(4, 16, 1.0);
    struct planner_history known = { .model_bytes = 4000000,
                                     .latency_s = 1e-4,
                                     .bytes_per_s = 40e6 };

    make_mix(4);
    job.batch.global = 512;
    job.communication.wire = word_of("float32");
    job.sync.options.wire = SYNC_WIRE_FLOAT32;
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert_str_eq(p->mode, "sync");
    ck_assert(!p->candidate[2].measured);
    known.efficiency = &row;
    known.n_efficiencies = 1;
    ck_assert_int_eq(plan_nodes(4, &known), 0);
    ck_assert_str_eq(p->mode, "hybrid");
    ck_assert(p->candidate[2].measured && !p->candidate[1].measured);
}
END_TEST

static void add_tests(TCase *tc)
{
    planning_add(tc);
    tcase_add_test(tc, table_without_measurements);
    tcase_add_test(tc, scaled_to_measurements);
    tcase_add_test(tc, plan_by_measurements);
}

SUITE_MAIN("efficiency", add_tests)
