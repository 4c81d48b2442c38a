/* SPDX-License-Identifier: Apache-2.0 */
/* test_algorithm.c - tests of lib/model/algorithm.h */
#include "lib/model/algorithm.h"

#include "suite.h"

static const struct {
    const char *name;
    int writers;
    int64_t period;
    double want;
} points[] = {
    { "allreduce", 16, 0, 1 },
    { "allreduce", 16, 16, 1 },
    { "easgd", 1, 64, 1 },
    { "easgd", 4, 1, 0.80 },
    { "easgd", 16, 16, 0.36 },
    { "easgd", 16, 256, 0.12 },
    { "hsgd", 4, 16, 0.75 },
    { "hsgd", 8, 64, 0.53 },
    { "local", 8, 64, 0.91 },
    { "local", 16, 256, 0.62 },
    { "local", 16, 4, 1 },
    { "diloco", 1, 64, 1 },
    /* halfway between two points, and twice beyond the last one */
    { "easgd", 4, 32, 0.635 },
    { "easgd", 32, 16, 0.18 },
    { "hsgd", 4, 512, 0.29 },
};

START_TEST(measured)
{
    const struct algorithm *a = algorithm_find(points[_i].name);

    ck_assert_double_eq_tol(algorithm_efficiency(a, points[_i].writers, points[_i].period),
                            points[_i].want, 1e-9);
}
END_TEST

START_TEST(never_rises)
{
    const struct algorithm *rows;
    size_t n = algorithms(&rows);

    for (size_t i = 0; i < n; i++)
        for (int writers = 1; writers < 100; writers++)
            for (int64_t period = 1; period < 5000; period = period * 5 / 4 + 1) {
                double now = algorithm_efficiency(&rows[i], writers, period);

                ck_assert(now > 0 && now <= 1);
                ck_assert_double_le(algorithm_efficiency(&rows[i], writers + 1, period),
                                    now + 1e-12);
                if (!(rows[i].traits & ALGORITHM_OUTER) || period >= 16)
                    ck_assert_double_le(algorithm_efficiency(&rows[i], writers, period + 1),
                                        now + 1e-12);
            }
}
END_TEST

/* Neither a job nor a plan can ask for what a program must say of itself. */
START_TEST(external_is_never_asked_for)
{
    const struct algorithm *a = algorithm_external();
    const char *word;

    ck_assert_ptr_eq(a, algorithm_find("external"));
    ck_assert(a->traits & ALGORITHM_EXTERNAL);
    ck_assert(!algorithm_suits(a, "auto", "auto") && !algorithm_suits(a, "sync", "external"));
    ck_assert_ptr_null(algorithm_asked("auto", "external"));
    for (size_t i = 0; (word = algorithm_word(i)); i++)
        ck_assert_str_ne(word, "external");
    ck_assert(!algorithm_may_have("auto", "auto", ALGORITHM_EXTERNAL));
}
END_TEST

/* A request must name the algorithm of ALGORITHM_NAMED, or its mode. */
START_TEST(named_is_asked_for_by_name)
{
    static const char *const names[] = { "local", "diloco" };

    for (size_t i = 0; i < 2; i++) {
        const struct algorithm *a = algorithm_find(names[i]);
        bool named = a->traits & ALGORITHM_NAMED;

        ck_assert(a->mode == SYNC_MODE_LOCAL && named == (i == 1));
        ck_assert(algorithm_suits(a, "auto", "auto"));
        ck_assert(algorithm_is_choice(a, "auto", "auto") == !named);
        ck_assert(algorithm_is_choice(a, "local", "auto") &&
                  algorithm_is_choice(a, "auto", names[i]) &&
                  !algorithm_is_choice(a, "hybrid", "auto"));
        ck_assert_ptr_eq(algorithm_asked("local", names[i]), a);
        ck_assert_ptr_eq(algorithm_asked("auto", names[i]), a);
    }
    ck_assert_str_eq(algorithm_asked("auto", "auto")->name, "allreduce");
    ck_assert_str_eq(algorithm_asked("local", "auto")->name, "local");
    ck_assert(!algorithm_may_have("auto", "auto", ALGORITHM_OUTER));
    ck_assert(algorithm_may_have("local", "diloco", ALGORITHM_OUTER));
    ck_assert(algorithm_may_have("auto", "diloco", ALGORITHM_OUTER));
    ck_assert(!algorithm_may_have("local", "auto", ALGORITHM_OUTER)); /* it gets local */
    ck_assert(!algorithm_may_have("local", "auto", ALGORITHM_ELASTIC));
}
END_TEST

START_TEST(wires_by_name)
{
    for (size_t i = 0; i < SYNC_WIRES; i++)
        ck_assert_int_eq(sync_wire_find(sync_wire_name(i)), i);
    ck_assert_ptr_null(sync_wire_name(SYNC_WIRES));
    ck_assert_int_eq(sync_wire_find("float8"), SYNC_WIRE_AUTO);
    ck_assert(sync_wire_is_half(SYNC_WIRE_FLOAT16) && sync_wire_is_half(SYNC_WIRE_BFLOAT16));
    ck_assert(!sync_wire_is_half(SYNC_WIRE_FLOAT32) && !sync_wire_is_half(SYNC_WIRE_AUTO));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, measured, 0, sizeof points / sizeof *points);
    tcase_add_test(tc, never_rises);
    tcase_add_test(tc, external_is_never_asked_for);
    tcase_add_test(tc, named_is_asked_for_by_name);
    tcase_add_test(tc, wires_by_name);
}

SUITE_MAIN("algorithm", add_tests)
