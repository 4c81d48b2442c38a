/* SPDX-License-Identifier: Apache-2.0 */
/* test_equals.c - tests of scheduler/equals.h, and of stragglers among workers on equal devices */
#include "scheduler/equals.h"
#include "scheduler/stragglers.h"
#include "steps.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { N = 3 };

static const struct time_model proportional = { .sample_s = 1 };
static struct stragglers *s;
static struct straggler one; /* the newest that was named */

/* Begin with three workers on equal devices. */
static void begin(void)
{
    static const struct time_model unknown[N];

    stragglers_free(s);
    ck_assert_int_eq(stragglers_new(unknown, N, &s, NULL), 0);
    stragglers_set_equals(s, (int[N]){ 0, 0, 0 });
}

static void tear_down(void)
{
    stragglers_free(s);
    s = NULL;
}

static void take(int rank, const struct step_metrics *f, double queued_s)
{
    stragglers_take(s, rank, f, queued_s, &proportional);
}

static bool is_named(double now_s)
{
    return stragglers_next(s, now_s, &one);
}

static struct step_metrics metrics(int64_t plan, int64_t since, int64_t steps, int64_t count,
                                   double own_s, double input_s)
{
    struct step_metrics f = steps_of(plan, since, steps, count, own_s);

    f.own.max_s = f.own.high_s;
    f.input = spread(input_s);
    f.input.max_s = f.input.high_s;
    f.compute = spread(0);
    f.total = f.own;
    return f;
}

/* The first steps of equals count, also if a new plan has followed, in which the slow one has less
 * work and all take as long.
 */
START_TEST(slow_beside_equals)
{
    begin();
    for (int i = 0; i < 3; i++) {
        struct step_metrics first = metrics(1, 1, 6, 50, i == 1 ? 0.3 : 0.1, 0);
        struct step_metrics then = metrics(2, 7, 20, i == 1 ? 20 : 65, 0.13, 0);

        take(i, &first, 0);
        ck_assert(!is_named(i));
        take(i, &then, 0);
    }
    ck_assert(!is_named(10));
    ck_assert(is_named(11.5));
    ck_assert(one.beside);
    ck_assert_int_eq(one.rank, 1);
    ck_assert_int_eq(one.since, 1);
    ck_assert_double_eq_tol(one.times, 3, 0.1);
    ck_assert(!is_named(20));
}
END_TEST

/* Steps of the first plan that jitter, or are too few, name nobody; nor does more work. */
START_TEST(equals_are_not_sure)
{
    for (int k = 0; k < 3; k++) {
        begin();
        for (int i = 0; i < 3; i++) {
            struct step_metrics first =
                metrics(1, 1, k == 1 ? 3 : 10, k == 2 && i ? 25 : 50, i ? 0.1 : 0.16, 0);
            struct step_metrics then = metrics(2, 11, 20, 50, 0.1, 0);

            if (k == 0) {
                first.own.low_s = 0.1;
                first.own.high_s = first.own.max_s = 0.2;
            }
            take(i, &first, 0);
            if (k == 1)
                take(i, &then, 0);
        }
        ck_assert(!is_named(10));
        ck_assert(!is_named(20));
    }
}
END_TEST

/* Two of three take long: that is no slowness of theirs, and the third is fast.  Or they all
 * differ, whatever their profiles say.
 */
START_TEST(nobody_is_usual)
{
    static const double own_s[2][N] = { { 0.06, 0.02, 0.06 }, { 0.02, 0.04, 0.08 } };

    begin();
    for (int i = 0; i < N; i++) {
        struct step_metrics first = metrics(1, 1, 20, 50, own_s[_i][i], 0);

        take(i, &first, 0);
    }
    ck_assert(!is_named(10));
    ck_assert(!is_named(20));
}
END_TEST

/* What the second of two devices has else than the first, and whether they are equal. */
static const struct {
    struct device device;
    const char *cpus;
    bool are_equal;
} others[] = {
    { { .fp32_flops = 1e12, .memory_bytes_per_s = 1e11 }, "4-7", true },
    { { .fp32_flops = 1.05e12, .memory_bytes_per_s = 0.95e11 }, "4-7", true },
    { { .fp32_flops = 0.8e12, .memory_bytes_per_s = 1e11 }, "4-7", false },
    { { .fp32_flops = 1e12, .memory_bytes_per_s = 0.5e11 }, "4-7", false },
    { { .fp32_flops = 1e12 }, "4-7", false }, /* not measured */
    { { .fp32_flops = 1e12, .memory_bytes_per_s = 1e11 }, "4-6", false },
    { { .kind = DEVICE_CUDA, .fp32_flops = 1e12, .memory_bytes_per_s = 1e11 }, "4-7", false },
};

START_TEST(devices)
{
    struct plan *p = plan_new(2, 2);
    struct node_profile *node = calloc(2, sizeof *node);
    int found[2];

    ck_assert(p && node);
    for (int i = 0; i < 2; i++) {
        node[i].n_devices = 1;
        node[i].device[0] = others[i ? _i : 0].device;
        strcpy(node[i].device[0].id, "a");
        strcpy(p->worker[i].device_id, "a");
        strcpy(p->worker[i].cpus, i ? others[_i].cpus : "0-3");
        p->worker[i].node = i;
        p->worker[i].kind = node[i].device[0].kind;
    }
    equals_find(p, node, found);
    ck_assert_int_eq(found[0], 0);
    ck_assert_int_eq(found[1], others[_i].are_equal ? 0 : 1);
    free(node);
    plan_free(p);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, NULL, tear_down);
    tcase_add_test(tc, slow_beside_equals);
    tcase_add_test(tc, equals_are_not_sure);
    tcase_add_loop_test(tc, nobody_is_usual, 0, 2);
    tcase_add_loop_test(tc, devices, 0, sizeof others / sizeof *others);
}

SUITE_MAIN("equals", add_tests)
