/* SPDX-License-Identifier: Apache-2.0 */
/* test_sample_rounds.c - tests of lib/data/sample_rounds.h */
#include "suite.h"

#include "lib/base/random.h"
#include "lib/data/sample_rounds.h"

#include <math.h>

enum { MAX_GROUPS = 40 };

/* Fill in a plan by random numbers. */
static struct rounds_plan draw(uint64_t *random, int64_t batch[MAX_GROUPS])
{
    struct rounds_plan p = { .batch = batch,
                             .n_groups = 1 + (int)(random_next(random) % MAX_GROUPS),
                             .period = 1 + (int64_t)(random_next(random) % 50),
                             .min_count = (int64_t)(random_next(random) % 4) };

    for (int g = 0; g < p.n_groups; g++)
        batch[g] = 1 + (int64_t)(random_next(random) % (g % 3 ? 20 : 200));
    return p;
}

static int64_t sum_of(const struct rounds_plan *p)
{
    int64_t sum = 0;

    for (int g = 0; g < p->n_groups; g++)
        sum += p->batch[g];
    return sum;
}

/* Check a group's part of a round, and return its samples. */
static int64_t check_part(const struct rounds_plan *p, int64_t size, int group, int64_t before)
{
    const struct rounds_part part = rounds_part(p, size, group);
    int64_t least = p->min_count > 1 ? p->min_count : 1;
    int64_t whole = sum_of(p), batch = p->batch[group];
    int64_t equal = (whole + p->n_groups - 1) / p->n_groups, most = batch < equal ? batch : equal;
    int64_t steps = 0;

    ck_assert(part.count == 0 || part.first == before);
    ck_assert((part.count == 0) == (part.steps == 0));
    ck_assert(part.count >= least || size < p->n_groups * least);
    if (size >= whole * (least + 1)) /* each group has enough by its batch */
        ck_assert(fabs((double)part.count - (double)size * (double)batch / (double)whole) <= 1);
    for (int64_t i = 0; i < part.steps; i++) {
        int64_t n = rounds_step(&part, i + 1) - rounds_step(&part, i);

        ck_assert_int_ge(n, 1);
        ck_assert(part.steps == 1 || n >= p->min_count);
        /* a step may be larger by what min_count forbids to be cut off */
        ck_assert(n <= (p->period == 1 ? batch : most) + 2 * p->min_count + 1 || size < whole);
        steps += n;
    }
    ck_assert_int_eq(steps, part.count);
    return part.count;
}

START_TEST(groups_share_a_round)
{
    uint64_t random = random_mix(20261130, (uint64_t)_i);
    int64_t batch[MAX_GROUPS];
    const struct rounds_plan p = draw(&random, batch);
    int64_t left = 1 + (int64_t)(random_next(&random) % 20000), taken = 0;

    while (left) {
        int64_t size = rounds_size(&p, left), before = 0;

        ck_assert(size >= 1 && size <= left && size <= sum_of(&p) * p.period);
        for (int g = 0; g < p.n_groups; g++)
            before += check_part(&p, size, g, before);
        ck_assert_int_eq(before, size);
        left -= size;
        taken += size;
        /* no short remainder, unless the epoch is short or a round is one step */
        ck_assert(left == 0 || p.period == 1 || left >= sum_of(&p) * p.period / 2);
        ck_assert(left == 0 || left >= p.n_groups || taken < p.n_groups);
    }
    ck_assert_int_gt(taken, 0);
}
END_TEST

START_TEST(fast_group_makes_more_steps)
{
    static const int64_t batch[] = { 60, 20, 16 };
    const struct rounds_plan p = { batch, 3, 10, 1 };

    ck_assert_int_eq(rounds_part(&p, 960, 0).steps, 19); /* 600 samples, 32 at most in a step */
    ck_assert_int_eq(rounds_part(&p, 960, 1).steps, 10);
    ck_assert_int_eq(rounds_part(&p, 960, 2).steps, 10);
}
END_TEST

START_TEST(period_1_is_a_step)
{
    static const int64_t batch[] = { 60, 20, 16 };
    const struct rounds_plan p = { batch, 3, 1, 0 };

    for (int g = 0; g < 3; g++) {
        const struct rounds_part part = rounds_part(&p, rounds_size(&p, 1000), g);

        ck_assert(part.steps == 1 && part.count == batch[g]);
    }
    ck_assert_int_eq(rounds_size(&p, 97), 94); /* a sample of each is left */
    ck_assert_int_eq(rounds_part(&p, 1, 0).count, 0);
    ck_assert_int_eq(rounds_part(&p, 1, 2).count, 1);
    for (int g = 0; g < 3; g++)
        ck_assert_int_eq(rounds_part(&p, 3, g).count, 1);
}
END_TEST

START_TEST(numbers_may_be_large)
{
    static const int64_t batch[] = { 1000000000, 999999999, 1 };
    const struct rounds_plan p = { batch, 3, 1000000, 0 };
    int64_t size = rounds_size(&p, INT64_MAX), sum = 0;

    ck_assert_int_eq(size, 2000000000LL * 1000000);
    for (int g = 0; g < 3; g++) {
        const struct rounds_part part = rounds_part(&p, size, g);

        sum += part.count;
        ck_assert_int_eq(rounds_step(&part, part.steps), part.count);
    }
    ck_assert_int_eq(sum, size);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, groups_share_a_round, 0, 300);
    tcase_add_test(tc, fast_group_makes_more_steps);
    tcase_add_test(tc, period_1_is_a_step);
    tcase_add_test(tc, numbers_may_be_large);
}

SUITE_MAIN("sample_rounds", add_tests)
