/* SPDX-License-Identifier: Apache-2.0 */
/* test_address_space.c - tests of lib/base/address_space.h */
#include "lib/base/address_space.h"

#include "suite.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

START_TEST(limit)
{
    struct eddis_error err = { 0 };
    struct rlimit l;

    if (SUITE_SHADOWED)
        return;
    ck_assert_int_eq(address_space_check((size_t)1 << 40, "a cat", &err), 0); /* no limit */
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &l), 0);
    l.rlim_cur = 500000000;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &l), 0);
    ck_assert_int_eq(address_space_check(100000000, "a cat", &err), 0);
    ck_assert_int_eq(address_space_check(100000000, "a cat", &err), 0); /* it was given back */
    ck_assert_int_eq(address_space_check(501000000, "a cat", &err), -ENOMEM);
    ck_assert_ptr_nonnull(
        strstr(err.text, "limited to 500 MB (ulimit -v), but a cat needs 501 MB of free address "
                         "space; raise the limit (ulimit -v unlimited)"));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, limit);
}

SUITE_MAIN("address_space", add_tests)
