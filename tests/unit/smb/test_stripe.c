/* SPDX-License-Identifier: Apache-2.0 */
/* test_stripe.c - tests of lib/smb/stripe.h */
#include "lib/smb/stripe.h"

#include "suite.h"

/* All elements are somewhere, once; runs are alike; the first stripe has some.  Equal parts are why
 * bandwidth grows with the servers, which is a matter of links: bench/smb measures it.
 */
START_TEST(smb2_1_and_3_every_server_has_an_equal_part)
{
    static const size_t lengths[] = { 1, 2, 1023, 1024, 1025, 5000, 64 * 1024, 1000003 };

    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int m = 1; m <= 9; m++) {
            size_t n = lengths[l], most = 0, least = n, even = n / (size_t)m;

            ck_assert_uint_eq(stripe_first(n, m, 0), 0);
            ck_assert_uint_eq(stripe_first(n, m, m), n);
            ck_assert_uint_gt(stripe_first(n, m, 1), 0);
            for (int s = 0; s < m; s++) {
                size_t low = stripe_first(n, m, s), high = stripe_first(n, m, s + 1);

                ck_assert_uint_le(low, high);
                most = high - low > most ? high - low : most;
                least = high - low < least ? high - low : least;
                if (low < high) {
                    ck_assert_int_eq(stripe_of(n, m, low), s);
                    ck_assert_int_eq(stripe_of(n, m, high - 1), s);
                }
            }
            ck_assert_uint_le(most, even + 2 * STRIPE_ELEMENTS);
            ck_assert_uint_ge(least + 2 * STRIPE_ELEMENTS, even);
        }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, smb2_1_and_3_every_server_has_an_equal_part);
}

SUITE_MAIN("stripe", add_tests)
