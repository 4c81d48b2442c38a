/* SPDX-License-Identifier: Apache-2.0 */
/* test_rank_list.c - tests of cmd/shared/rank_list.h */
#include "cmd/shared/rank_list.h"

#include "suite.h"

#include <errno.h>
#include <string.h>

START_TEST(parse)
{
    static const char *const good[] = { "0", "0,5-7", "3-3", "7,0-2,7" };
    static const char *const bad[] = { "",    ",",  "1,",   "-",           "-1",  "3-1",  "a",
                                       "1 2", "1-", "1--2", "99999999999", "0x1", "1,,2", "+1" };
    struct rank_list l = { .n = 0 };
    struct eddis_error err;

    ck_assert(rank_list_has(&l, 12345)); /* none named: all */
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_int_eq(rank_list_parse(good[i], &l, NULL), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(rank_list_parse(bad[i], &l, &err) < 0, "%s", bad[i]);
    ck_assert_int_eq(rank_list_parse("0,5-7", &l, NULL), 0);
    for (int r = -1; r < 10; r++)
        ck_assert_int_eq(rank_list_has(&l, r), r == 0 || (r >= 5 && r <= 7));
    ck_assert_int_eq(rank_list_count(&l, 7), 3);
    ck_assert_int_eq(rank_list_count(&l, 0), 0);
    ck_assert_int_eq(rank_list_check(&l, 8, &err), 0);
    ck_assert_int_eq(rank_list_check(&l, 7, &err), -ERANGE);
    ck_assert_str_eq(err.text, "there is no rank 7; the last of the 7 ranks is rank 6");
    ck_assert_int_eq(rank_list_check(&l, 2, &err), -ERANGE);
    ck_assert_str_eq(err.text, "there is no rank 5; the last of the 2 ranks is rank 1");
}
END_TEST

START_TEST(many)
{
    struct rank_list l;
    char text[8192] = "0";

    for (int i = 0; i < RANK_LIST_RANGES - 1; i++)
        strcat(text, ",1");
    ck_assert_int_eq(rank_list_parse(text, &l, NULL), 0);
    strcat(text, ",1");
    ck_assert_int_lt(rank_list_parse(text, &l, NULL), 0);
}
END_TEST

static const struct {
    const char *bits, *text;
    size_t size;
} rows[] = {
    { "", "", 32 },
    { "1111", "0-3", 32 },
    { "1100", "0,1", 32 },
    { "0101", "1,3", 32 },
    { "1011101", "0,2-4,6", 32 },
    { "10101010101010101010", "0,2,4,6,8,10,12,14,16,18", 32 },
    { "10101010101010101010", "0,2,4,6,...", 12 },
    { "1111111111111111", "0-15", 32 },
};

START_TEST(print)
{
    unsigned char bits[8] = { 0 };
    int n = (int)strlen(rows[_i].bits);
    char text[64];

    for (int r = 0; r < n; r++)
        if (rows[_i].bits[r] == '1')
            bits[r / 8] |= (unsigned char)(1 << r % 8);
    rank_list_text(bits, n, text, rows[_i].size);
    ck_assert_str_eq(text, rows[_i].text);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, parse);
    tcase_add_test(tc, many);
    tcase_add_loop_test(tc, print, 0, sizeof rows / sizeof *rows);
}

SUITE_MAIN("rank_list", add_tests)
