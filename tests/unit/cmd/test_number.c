/* SPDX-License-Identifier: Apache-2.0 */
/* test_number.c - tests of cmd/shared/number.h */
#include "cmd/shared/number.h"

#include "suite.h"

#include <math.h>

static const struct {
    double x;
    const char *text;
} rates[] = {
    { 0, "0" },
    { 0.00005, "5e-05" },
    { 0.00512, "0.0051" },
    { 0.0996, "0.10" },
    { 0.5234, "0.52" },
    { 7.256, "7.26" },
    { 9.996, "10.0" },
    { 97.34, "97.3" },
    { 99.96, "100" },
    { 100, "100" },
    { 931.4, "931" },
    { 999.6, "1 000" },
    { 9312, "9 310" },
    { 22449, "22 400" },
    { 999999, "1 000 000" },
    { 1234567, "1 230 000" },
    { -22449, "-22 400" },
    { NAN, "-" },
    { INFINITY, "-" },
    { 1e18, "1 000 000 000 000 000 000" },
};

START_TEST(rate)
{
    char n[NUMBER_SIZE];

    ck_assert_str_eq(number_rate(rates[_i].x, n), rates[_i].text);
}
END_TEST

START_TEST(others)
{
    char n[NUMBER_SIZE];

    ck_assert_str_eq(number_percent(97, 100, n), "97 %");
    ck_assert_str_eq(number_percent(1, 0, n), "-");
    ck_assert_str_eq(number_times(24, 10, n), "2.4x");
    ck_assert_str_eq(number_times(9.96, 1, n), "10x");
    ck_assert_str_eq(number_times(1, 0, n), "-");
    ck_assert_str_eq(number_bytes(0, n), "0 B");
    ck_assert_str_eq(number_bytes(999, n), "999 B");
    ck_assert_str_eq(number_bytes(1500, n), "1.5 kB");
    ck_assert_str_eq(number_bytes(23.4e9, n), "23 GB");
    ck_assert_str_eq(number_bytes(999.9e6, n), "1.0 GB");
    ck_assert_str_eq(number_bytes(NAN, n), "-");
    ck_assert_str_eq(number_age(0, n), "now");
    ck_assert_str_eq(number_age(-5, n), "now");
    ck_assert_str_eq(number_age(59, n), "59 s");
    ck_assert_str_eq(number_age(60, n), "1 min");
    ck_assert_str_eq(number_age(7300, n), "2 h");
    ck_assert_str_eq(number_age(86400 * 400, n), "400 d");
    ck_assert_str_eq(number_of(1, "node", n), "1 node");
    ck_assert_str_eq(number_of(10000, "worker", n), "10 000 workers");
    ck_assert_str_eq(number_of(0, "GPU", n), "0 GPUs");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, rate, 0, sizeof rates / sizeof *rates);
    tcase_add_test(tc, others);
}

SUITE_MAIN("number", add_tests)
