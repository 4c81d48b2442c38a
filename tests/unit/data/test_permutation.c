/* SPDX-License-Identifier: Apache-2.0 */
/* test_permutation.c - tests of lib/data/permutation.h */
#include "suite.h"

#include "lib/base/random.h"
#include "lib/data/permutation.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void check_bijection(int64_t n, uint64_t seed, int64_t epoch)
{
    unsigned char *seen = calloc((size_t)n, 1);
    struct permutation p;

    permutation_init(&p, n, seed, epoch);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = permutation_at(&p, i);

        ck_assert(x >= 0 && x < n);
        ck_assert_msg(!seen[x], "n %lld: %lld comes twice", (long long)n, (long long)x);
        seen[x] = 1;
    }
    free(seen);
}

START_TEST(every_small_n_is_a_bijection)
{
    for (int64_t n = 1; n <= 300; n++)
        for (uint64_t seed = 0; seed < 4; seed++)
            check_bijection(n, seed, (int64_t)(seed * 3));
}
END_TEST

START_TEST(large_n_is_a_bijection)
{
    uint64_t state = 5;

    for (int bits = 10; bits <= 16; bits++)
        for (int64_t off = -1; off <= 1; off++)
            check_bijection((INT64_C(1) << bits) + off, random_next(&state), 0);
    for (int i = 0; i < 10; i++)
        check_bijection(1 + (int64_t)random_below(&state, 100000), random_next(&state), i);
}
END_TEST

/* Far too many to mark: distinct inputs stay in range and neighbours do not collide. */
START_TEST(huge_n_stays_inside)
{
    static const int64_t sizes[] = { INT64_C(1) << 31, (INT64_C(1) << 33) + 7, INT64_C(1000000007),
                                     PERMUTATION_MAX - 1, PERMUTATION_MAX };
    struct permutation p;

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k], before = -1;

        permutation_init(&p, n, 1, 2);
        for (int64_t i = n - 1000; i < n; i++) {
            int64_t x = permutation_at(&p, i);

            ck_assert(x >= 0 && x < n && x != before);
            before = x;
        }
    }
}
END_TEST

/* The numbers are a promise: a checkpoint's (seed, epoch, step) names its samples for ever. */
START_TEST(same_numbers_for_ever)
{
    static const struct {
        int64_t n;
        uint64_t seed;
        int64_t epoch, want[6];
    } rows[] = {
        { 10, 0, 0, { 0, 7, 9, 3, 2, 5 } },
        { 1437, 42, 3, { 205, 326, 1372, 626, 171, 297 } },
        { 1281167, 7, 0, { 1091704, 1189923, 1232079, 1171335, 520883, 1168012 } },
    };
    struct permutation p;

    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        permutation_init(&p, rows[r].n, rows[r].seed, rows[r].epoch);
        for (int i = 0; i < 6; i++)
            ck_assert_int_eq(permutation_at(&p, i), rows[r].want[i]);
    }
}
END_TEST

/* chi-square of counts against an equal expectation, as standard deviations from its mean */
static double chi_square_z(const int64_t *count, int64_t n, double expected)
{
    double chi = 0;

    for (int64_t i = 0; i < n; i++) {
        double d = (double)count[i] - expected;

        chi += d * d / expected;
    }
    return (chi - (double)(n - 1)) / sqrt(2 * (double)(n - 1));
}

/* Over the seeds each of the n! orders is equally likely (n too small for the network to be its
 * only source of mixing).
 */
START_TEST(all_orders_of_a_few)
{
    enum { ROUNDS = 60000 };
    static int64_t count[720];

    for (int n = 2; n <= 6; n++) {
        int64_t orders = 1;

        for (int i = 2; i <= n; i++)
            orders *= i;
        memset(count, 0, sizeof count);
        for (int round = 0; round < ROUNDS; round++) {
            struct permutation p;
            int64_t at[6], code = 0;

            permutation_init(&p, n, 1000 + (uint64_t)round, round % 3);
            for (int i = 0; i < n; i++)
                at[i] = permutation_at(&p, i);
            for (int i = 0; i < n; i++) {
                int64_t smaller = 0;

                for (int j = i + 1; j < n; j++)
                    smaller += at[j] < at[i];
                code = code * (n - i) + smaller;
            }
            count[code]++;
        }
        ck_assert_msg(chi_square_z(count, orders, (double)ROUNDS / (double)orders) < 5,
                      "n %d: z %.1f", n,
                      chi_square_z(count, orders, (double)ROUNDS / (double)orders));
    }
}
END_TEST

/* Where element 0, the middle and the last one go, over many epochs. */
START_TEST(positions_are_uniform)
{
    static const int64_t sizes[] = { 64, 100, 1437 };

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k], from[] = { 0, 1, n / 2, n - 1 };

        for (size_t f = 0; f < 4; f++) {
            int64_t *count = calloc((size_t)n, sizeof *count);
            double z;

            for (int64_t epoch = 0; epoch < 20 * n; epoch++) {
                struct permutation p;

                permutation_init(&p, n, 9, epoch);
                count[permutation_at(&p, from[f])]++;
            }
            z = chi_square_z(count, n, 20);
            ck_assert_msg(fabs(z) < 5, "n %lld from %lld: z %.1f", (long long)n, (long long)from[f],
                          z);
            free(count);
        }
    }
}
END_TEST

/* In a random order the number of i with x[i+1] = x[i] + 1, and of i that stay where they were an
 * epoch before, is nearly Poisson(1); rising pairs make half; and neighbours are not correlated.
 */
START_TEST(order_is_unrelated)
{
    enum { EPOCHS = 100 };
    const int64_t n = 5000;
    int64_t runs = 0, stays = 0, rising = 0;
    double correlation = 0;

    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        struct permutation p, q;

        permutation_init(&p, n, 3, epoch);
        permutation_init(&q, n, 3, epoch + 1);
        for (int64_t i = 0, x, next = permutation_at(&p, 0); i + 1 < n; i++) {
            x = next;
            next = permutation_at(&p, i + 1);
            runs += next == x + 1;
            rising += next > x;
            stays += permutation_at(&q, i) == x;
            correlation += ((double)x / (double)n - 0.5) * ((double)next / (double)n - 0.5) * 12;
        }
    }
    ck_assert_msg(llabs(runs - EPOCHS) < 5 * 10, "%lld runs", (long long)runs);
    ck_assert_msg(llabs(stays - EPOCHS) < 5 * 10, "%lld stay", (long long)stays);
    ck_assert(fabs((double)rising / (double)(n * EPOCHS) - 0.5) < 0.004);
    ck_assert(fabs(correlation / (double)(n * EPOCHS)) < 0.008);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, every_small_n_is_a_bijection);
    tcase_add_test(tc, large_n_is_a_bijection);
    tcase_add_test(tc, huge_n_stays_inside);
    tcase_add_test(tc, same_numbers_for_ever);
    tcase_add_test(tc, all_orders_of_a_few);
    tcase_add_test(tc, positions_are_uniform);
    tcase_add_test(tc, order_is_unrelated);
}

SUITE_MAIN("permutation", add_tests)
