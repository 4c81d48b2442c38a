/* SPDX-License-Identifier: Apache-2.0 */
/* test_sync.c - tests of lib/sync/sync.h */
#include "lib/sync/sync.h"

#include "lib/model/algorithm.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

START_TEST(names_are_those_of_the_table)
{
    const struct algorithm *row;
    size_t n = algorithms(&row);
    int implemented = 0;

    for (; sync_name(implemented); implemented++)
        ck_assert_msg(algorithm_find(sync_name(implemented)), "'%s' is not in the table",
                      sync_name(implemented));
    for (size_t i = 0; i < n; i++) {
        int k = 0;

        while (sync_name(k) && strcmp(sync_name(k), row[i].name) != 0)
            k++;
        ck_assert_msg(sync_name(k), "'%s' is not implemented", row[i].name);
    }
    ck_assert_uint_eq((size_t)implemented, n);
}
END_TEST

START_TEST(unknown_name)
{
    struct sync_buffer b = { 0 };
    struct eddis_error err;
    struct sync *s = NULL;

    ck_assert_int_eq(sync_open("nosuch", &(struct sync_setup){ { 0, 1 }, &b, 0 }, &s, &err),
                     -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(err.text, "'nosuch'"));
    ck_assert_ptr_null(s);
    sync_close(NULL);
}
END_TEST

START_TEST(trailer_rule)
{
    struct sync_trailer a = { .weight = 1.5, .version = 3, .asked = 7, .blocked = 10, .flags = 1 };
    struct sync_trailer b = { .weight = 2, .version = 2, .asked = 9, .blocked = 4, .flags = 2 };
    struct sync_trailer c = b;

    sync_trailer_combine(&c, &a);
    sync_trailer_combine(&a, &b);
    ck_assert_mem_eq(&a, &c, sizeof a);
    ck_assert_double_eq(a.weight, 3.5);
    ck_assert_int_eq(a.version, 2);
    ck_assert_int_eq(a.asked, 9);
    ck_assert_int_eq(a.blocked, 4);
    ck_assert_uint_eq(a.flags, 3);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, names_are_those_of_the_table);
    tcase_add_test(tc, unknown_name);
    tcase_add_test(tc, trailer_rule);
}

SUITE_MAIN("sync", add_tests)
