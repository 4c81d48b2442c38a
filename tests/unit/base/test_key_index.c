/* SPDX-License-Identifier: Apache-2.0 */
/* test_key_index.c - tests of lib/base/key_index.h */
#include "lib/base/key_index.h"

#include "suite.h"

#include <stdio.h>

enum { ROWS = 1000 };

struct row {
    char key[16];
    int value;
};

static struct row row[ROWS];
static struct key_index x;

static void name(int value, struct row *ret)
{
    snprintf(ret->key, sizeof ret->key, "row %d", value);
    ret->value = value;
}

static void fill(int n)
{
    x = (struct key_index){ .row_bytes = sizeof *row };
    for (int i = 0; i < n; i++)
        name(i, &row[i]);
    ck_assert_int_eq(key_index_add_all(&x, row, n), 0);
    ck_assert_int_eq(x.n, n);
}

static int place(int value)
{
    struct row wanted;

    name(value, &wanted);
    return key_index_find(&x, row, wanted.key);
}

START_TEST(empty)
{
    fill(0);
    ck_assert_int_eq(place(0), -1);
    key_index_fini(&x);
}
END_TEST

START_TEST(each_is_found)
{
    fill(ROWS);
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(place(i), i);
    ck_assert_int_eq(place(ROWS), -1);
    key_index_fini(&x);
    ck_assert_int_eq(place(0), -1);
}
END_TEST

/* Every third goes; what is left is found where it lies, until there is nothing. */
START_TEST(removed)
{
    int left = ROWS;

    fill(ROWS);
    for (int value = 0; value < ROWS; value += 3, left--)
        key_index_remove(&x, row, place(value));
    ck_assert_int_eq(x.n, left);
    for (int i = 0; i < left; i++)
        ck_assert_int_eq(place(row[i].value), i);
    while (x.n)
        key_index_remove(&x, row, x.n / 2);
    ck_assert_int_eq(place(row[0].value), -1);
    ck_assert_int_eq(key_index_add(&x, row), 0);
    ck_assert_int_eq(place(row[0].value), 0);
    key_index_fini(&x);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, empty);
    tcase_add_test(tc, each_is_found);
    tcase_add_test(tc, removed);
}

SUITE_MAIN("key_index", add_tests)
