/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_model.c - tests of scheduler/memory_model.h */
#include "scheduler/memory_model.h"

#include "suite.h"

#define MB INT64_C(1000000)

static int64_t bound_of(const struct memory_worker *w)
{
    int64_t ret = -1;

    ck_assert_int_eq(memory_bounds(w, 1, &ret), 0);
    return ret;
}

/* The newest is what it holds now. */
static struct memory_worker worker(int64_t limit, int n, const struct memory_point *p)
{
    struct memory_worker w = { .limit_bytes = limit };

    for (int i = 0; i < n; i++)
        memory_take(&w.learnt, p[i].samples, p[i].bytes);
    w.samples = p[n - 1].samples;
    w.bytes = p[n - 1].bytes;
    return w;
}

#define WORKER(limit, ...)                                                                         \
    worker(limit,                                                                                  \
           (int)(sizeof((struct memory_point[]){ __VA_ARGS__ }) / sizeof(struct memory_point)),    \
           (struct memory_point[]){ __VA_ARGS__ })

/* 100 MB and 2 MB a sample, in 900 MB of 1000. */
START_TEST(line)
{
    struct memory_worker w = WORKER(1000 * MB, { 50, 200 * MB }, { 100, 300 * MB });

    ck_assert_int_eq(bound_of(&w), 400);
    w = WORKER(1000 * MB, { 50, 200 * MB });
    ck_assert_int_eq(bound_of(&w), 225); /* as if all of it grew: no more than fits */
    w = WORKER(1000 * MB, { 50, 200 * MB }, { 55, 260 * MB });
    ck_assert_int_eq(bound_of(&w), 190); /* too near to tell */
    w.limit_bytes = 290 * MB;
    ck_assert_int_eq(bound_of(&w), 60); /* what is left is a try */
    w.limit_bytes = 280 * MB;
    ck_assert_int_eq(bound_of(&w), 55);
    w = WORKER(1000 * MB, { 50, 200 * MB }, { 100, 300 * MB }, { 110, 320 * MB });
    ck_assert_int_eq(bound_of(&w), 400); /* the nearest far enough below */
}
END_TEST

/* Of a device no more is tried than is predicted to fit, and its line says how much that is. */
START_TEST(strict)
{
    struct memory_worker w = WORKER(290 * MB, { 50, 200 * MB }, { 55, 260 * MB });
    struct memory_line l;

    w.strict = true;
    ck_assert_int_eq(bound_of(&w), 55);
    ck_assert(!memory_line_of(&w.learnt, &l));
    w = WORKER(1000 * MB, { 50, 200 * MB }, { 100, 300 * MB });
    w.strict = true;
    ck_assert(memory_line_of(&w.learnt, &l));
    ck_assert_double_eq_tol(l.fixed_bytes, 100e6, 1);
    ck_assert_double_eq_tol(l.sample_bytes, 2e6, 1);
    ck_assert_int_eq(memory_line_most(&l, 1000 * MB), bound_of(&w));
    ck_assert_int_eq(memory_line_most(&l, 100 * MB), 1);
    w.limit_bytes = 300 * MB;
    ck_assert_int_eq(bound_of(&w), 85); /* all of it was too much */
    w.strict = false;
    ck_assert_int_eq(bound_of(&w), 100);
    l.sample_bytes = 0;
    ck_assert(memory_line_most(&l, 1000 * MB) == INT64_MAX);
}
END_TEST

/* The samples of a step in which a worker has none, or whose peak does not grow, bound nothing. */
START_TEST(unbounded)
{
    struct memory_worker w = WORKER(1000 * MB, { 50, 200 * MB }, { 100, 200 * MB });

    ck_assert(bound_of(&w) == INT64_MAX);
    w = WORKER(0, { 50, 200 * MB });
    ck_assert(bound_of(&w) == INT64_MAX);
    w = (struct memory_worker){ .limit_bytes = MB };
    ck_assert(bound_of(&w) == INT64_MAX);
    w.bytes = 2 * MB;
    ck_assert(bound_of(&w) == INT64_MAX);
}
END_TEST

/* It holds what it holds, whatever the limit is said to be. */
START_TEST(never_less)
{
    struct memory_worker w = WORKER(100 * MB, { 50, 200 * MB }, { 100, 300 * MB });

    ck_assert_int_eq(bound_of(&w), 100);
    w = WORKER(1, { 50, INT64_MAX });
    ck_assert_int_eq(bound_of(&w), 50);
    w = WORKER(INT64_MAX, { 1, 1 });
    ck_assert(bound_of(&w) == INT64_MAX);
    w = WORKER(INT64_MAX, { INT64_MAX, INT64_MAX });
    ck_assert(bound_of(&w) == INT64_MAX);
}
END_TEST

/* What it held when it had more is no peak of few. */
START_TEST(shrunk)
{
    struct memory_worker w =
        WORKER(500 * MB, { 50, 200 * MB }, { 100, 300 * MB }, { 60, 300 * MB });

    ck_assert_int_eq(w.learnt.n, 2);
    ck_assert_int_eq(bound_of(&w), 135); /* 60 more of 150 MB, at 2 MB each */
    w.limit_bytes = 335 * MB;
    ck_assert_int_eq(bound_of(&w), 100); /* it fitted, and nobody else has taken it */
    memory_take(&w.learnt, 60, 900 * MB);
    memory_take(&w.learnt, 0, 5);
    memory_take(&w.learnt, 500, -5);
    ck_assert_int_eq(w.learnt.n, 2);
    for (int i = 2; i < 9; i++)
        memory_take(&w.learnt, 100 * i, 300 * i * MB);
    ck_assert_int_eq(w.learnt.n, MEMORY_POINTS);
    ck_assert_int_eq(w.learnt.point[MEMORY_POINTS - 1].samples, 800);
}
END_TEST

/* Those who share a limit reach it together, others have their own. */
START_TEST(shared)
{
    struct memory_worker w[3];
    int64_t ret[3];

    w[0] = WORKER(1000 * MB, { 50, 100 * MB }, { 100, 150 * MB });
    w[1] = WORKER(1000 * MB, { 50, 100 * MB }, { 100, 200 * MB });
    w[2] = WORKER(600 * MB, { 50, 100 * MB }, { 100, 100 * MB + 50 * MB });
    w[2].pool = 2;
    ck_assert_int_eq(memory_bounds(w, 3, ret), 0);
    ck_assert_int_eq(ret[0], 100 + 100 * 550 / 300);
    ck_assert_int_eq(ret[1], 100 + 100 * 550 / 300);
    ck_assert_int_eq(ret[2], 100 + 390);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, line);
    tcase_add_test(tc, strict);
    tcase_add_test(tc, unbounded);
    tcase_add_test(tc, never_less);
    tcase_add_test(tc, shrunk);
    tcase_add_test(tc, shared);
}

SUITE_MAIN("memory_model", add_tests)
