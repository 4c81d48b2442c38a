/* SPDX-License-Identifier: Apache-2.0 */
/* test_outputs.c - tests of agents/node/output/outputs.h */
#include "agents/node/output/outputs.h"

#include "lib/base/cleanup.h"
#include "lib/base/random.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

static void add(struct outputs *o, int rank, const char *text, int64_t dropped)
{
    const struct output x = { .rank = rank, .dropped = dropped, .text = (char *)(uintptr_t)text };

    outputs_add(o, &x);
}

START_TEST(in_turn)
{
    struct outputs *o = outputs_new();
    struct output *row = NULL;
    int n;

    ck_assert(outputs_empty(o));
    ck_assert_int_eq(outputs_take(o, 100, &row), 0);
    for (int i = 0; i < 50; i++)
        add(o, 7, "loud\n", 0);
    add(o, 3, "quiet\n", 2);
    n = outputs_take(o, 10, &row);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(row[0].rank, 7);
    ck_assert_int_eq(row[1].rank, 3);
    ck_assert_int_eq(row[1].dropped, 2);
    ck_assert_str_eq(row[1].text, "quiet\n");
    outputs_free_rows(row, n);
    ck_assert(!outputs_empty(o));
    n = outputs_take(o, 1 << 20, &row);
    ck_assert_int_eq(n, 49);
    outputs_free_rows(row, n);
    ck_assert(outputs_empty(o));
    outputs_free_rows(NULL, 0);
    outputs_free(o);
    outputs_free(NULL);
}
END_TEST

/* Whatever is added and taken: per rank every line comes in order or is counted, and memory is
 * bounded.
 */
START_TEST(accounts)
{
    enum { RANKS = 5 };
    struct outputs *o = outputs_new();
    uint64_t seed = (uint64_t)_i;
    long long said[RANKS] = { 0 }, due[RANKS] = { 0 };

    for (int step = 0; step < 3000; step++) {
        int rank = (int)random_below(&seed, RANKS);
        char text[4096];
        size_t n = 0, bytes[RANKS] = { 0 };
        struct output *row = NULL;
        int64_t dropped = (int64_t)random_below(&seed, 2);
        int rows;

        said[rank] += dropped;
        for (uint64_t i = 1 + random_below(&seed, 100); i > 0; i--)
            n += (size_t)snprintf(text + n, sizeof text - n, "%lld ......................\n",
                                  said[rank]++);
        add(o, rank, text, dropped);
        if (random_below(&seed, 200) && step < 2999)
            continue;
        rows = outputs_take(o, step < 2999 ? random_below(&seed, 1 << 20) : 1 << 30, &row);
        for (int i = 0; i < rows; i++) {
            int r = row[i].rank;

            bytes[r] += strlen(row[i].text);
            due[r] += row[i].dropped;
            for (const char *s = row[i].text; *s; s = strchr(s, '\n') + 1)
                ck_assert_int_eq(atoll(s), due[r]++);
        }
        for (int r = 0; r < RANKS; r++)
            ck_assert_uint_le(bytes[r], OUTPUTS_RANK);
        if (rows)
            outputs_free_rows(row, rows);
    }
    ck_assert(outputs_empty(o));
    for (int r = 0; r < RANKS; r++)
        ck_assert_int_eq(due[r], said[r]);
    outputs_free(o);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, in_turn);
    tcase_add_loop_test(tc, accounts, 0, 5);
}

SUITE_MAIN("outputs", add_tests)
