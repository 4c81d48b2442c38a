/* SPDX-License-Identifier: Apache-2.0 */
/* test_unauthenticated.c - tests of lib/http/unauthenticated.h: who has to go */
#include "lib/http/unauthenticated.h"

#include "suite.h"

#include <stddef.h>

static struct unauthenticated s;
static struct stranger x[STRANGERS + 8], more[4];

static void set_up(void)
{
    unauthenticated_init(&s, STRANGERS);
}

/* One address has its share, and the oldest of it goes, once it had its time. */
START_TEST(of_one_address)
{
    for (int i = 0; i < STRANGERS / 2; i++)
        ck_assert_ptr_null(unauthenticated_add(&s, &x[i], 7, i));
    ck_assert_ptr_null(unauthenticated_add(&s, &more[0], 8, 0)); /* another one's */
    ck_assert_ptr_eq(unauthenticated_add(&s, &more[1], 7, STRANGERS_GRACE_NS - 1), &more[1]);
    ck_assert_ptr_eq(unauthenticated_add(&s, &more[1], 7, STRANGERS_GRACE_NS), &x[0]);
    ck_assert_ptr_eq(unauthenticated_add(&s, &more[2], 7, STRANGERS_GRACE_NS + 1), &x[1]);
    ck_assert_int_eq(s.n, STRANGERS / 2 + 1);
    unauthenticated_remove(&s, &x[0]); /* it ends later */
    unauthenticated_remove(&s, &x[5]); /* it has shown a token */
    ck_assert_int_eq(s.n, STRANGERS / 2);
    ck_assert_ptr_null(unauthenticated_add(&s, &x[5], 7, 2 * STRANGERS_GRACE_NS));
    ck_assert_ptr_eq(unauthenticated_add(&s, &more[3], 7, 2 * STRANGERS_GRACE_NS), &x[2]);
}
END_TEST

START_TEST(of_many_addresses)
{
    for (int i = 0; i < STRANGERS; i++)
        ck_assert_ptr_null(unauthenticated_add(&s, &x[i], (uint32_t)i, i));
    ck_assert_ptr_eq(unauthenticated_add(&s, &more[0], 1000, 2 * STRANGERS_GRACE_NS), &x[0]);
    ck_assert_int_eq(s.n, STRANGERS);
}
END_TEST

/* Where few files may be open there are fewer. */
START_TEST(of_few)
{
    unauthenticated_init(&s, 4);
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_null(unauthenticated_add(&s, &x[i], (uint32_t)i / 2, i));
    ck_assert_ptr_eq(unauthenticated_add(&s, &more[0], 1, STRANGERS_GRACE_NS + 4), &x[2]);
    ck_assert_ptr_eq(unauthenticated_add(&s, &more[1], 2, STRANGERS_GRACE_NS + 4), &x[0]);
    ck_assert_int_eq(s.n, 4);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, of_one_address);
    tcase_add_test(tc, of_many_addresses);
    tcase_add_test(tc, of_few);
}

SUITE_MAIN("strangers", add_tests)
