/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefetch.c - tests of cmd/train/data/prefetch.h */
#include "cmd/train/data/prefetch.h"

#include "files.h"
#include "suite.h"

#include <errno.h>
#include <stdio.h>

enum { ROWS = 50 };

/* Row i is (2 i, i), label i % 10. */
static struct dataset *numbers(int64_t memory_bytes)
{
    char text[ROWS * 16];
    int at = 0;

    for (int i = 0; i < ROWS; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%d,%d,%d\n", 2 * i, i, i % 10);
    return open_text(text, false, memory_bytes);
}

static void check(const struct prefetch_batch *b, int64_t first, int64_t n)
{
    ck_assert_int_eq(b->n, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = (first + i) % ROWS;

        ck_assert(b->x[2 * i] == (float)(2 * row) && b->x[2 * i + 1] == (float)row);
        ck_assert_int_eq(b->label[i], row % 10);
    }
}

static void start(struct prefetch *p, int64_t first, int64_t n)
{
    int64_t index[ROWS];

    for (int64_t i = 0; i < n; i++)
        index[i] = (first + i) % ROWS;
    ck_assert_int_eq(prefetch_start(p, index, n, NULL), 0);
}

/* Batches of growing and shrinking size; the one before stays valid while the next is read. */
START_TEST(one_ahead)
{
    struct dataset *d = numbers(_i ? 8 : 0);
    struct prefetch *p = NULL;
    struct prefetch_batch before = { 0 }, b;

    ck_assert_int_eq(prefetch_new(d, 1, &p, NULL), 0);
    start(p, 0, 0);
    for (int64_t t = 0; t < 200; t++) {
        int64_t n = t * 7 % ROWS, next = (t + 1) * 7 % ROWS;

        ck_assert_int_eq(prefetch_wait(p, &b, NULL), 0);
        ck_assert_int_gt(b.read_ns, 0);
        if (t)
            check(&before, t - 1, (t - 1) * 7 % ROWS);
        start(p, t + 1, next);
        check(&b, t, n);
        before = b;
    }
    prefetch_free(p);
    dataset_close(d);
}
END_TEST

START_TEST(failure_travels)
{
    struct dataset *d = numbers(0);
    struct prefetch *p = NULL;
    struct prefetch_batch b;
    struct eddis_error err = { 0 };

    ck_assert_int_eq(prefetch_new(d, 1, &p, NULL), 0);
    ck_assert_int_eq(prefetch_start(p, (int64_t[]){ ROWS }, 1, NULL), 0);
    ck_assert_int_eq(prefetch_wait(p, &b, &err), -ERANGE);
    ck_assert_str_eq(err.text, "there is no sample 50 among 50");
    start(p, 3, 4);
    ck_assert_int_eq(prefetch_wait(p, &b, NULL), 0);
    check(&b, 3, 4);
    start(p, 1, 1); /* and is freed while it reads */
    prefetch_free(p);
    prefetch_free(NULL);
    dataset_close(d);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, one_ahead, 0, 2);
    tcase_add_test(tc, failure_travels);
}

SUITE_MAIN("prefetch", add_tests)
