/* SPDX-License-Identifier: Apache-2.0 */
/* test_fold.c - tests of cmd/run/view/fold.h */
#include "cmd/run/view/fold.h"

#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

static void note(void *ctx, const struct fold_line *l)
{
    strbuf_addf(ctx, "%d*%d %s|", l->rank, l->count, l->text);
}

START_TEST(folds)
{
    struct strbuf b = { 0 };
    struct fold *f = fold_new(3, 3, note, &b);

    fold_add(f, 1, "a", 0);
    fold_add(f, 1, "b", 0);
    fold_add(f, 0, "x", 1);
    fold_add(f, 0, "a", 1); /* behind its own x: not the a that stands before it */
    fold_add(f, 2, "a", 2);
    fold_add(f, 2, "b", 2);
    ck_assert_str_eq(strbuf_text(&b), "");
    fold_tick(f, FOLD_WAIT_NS);
    ck_assert_str_eq(strbuf_text(&b), "1*2 a|1*2 b|");
    fold_flush(f);
    ck_assert_str_eq(strbuf_text(&b), "1*2 a|1*2 b|0*1 x|0*1 a|");
    strbuf_clear(&b);
    fold_add(f, 0, "all", 5);
    fold_add(f, 1, "all", 5);
    fold_add(f, 2, "all", 5); /* nobody is waited for */
    ck_assert_str_eq(strbuf_text(&b), "0*3 all|");
    fold_add(f, 7, "stranger", 6);
    fold_add(f, -1, "stranger", 6);
    ck_assert_str_eq(strbuf_text(&b), "0*3 all|7*1 stranger|-1*1 stranger|");
    fold_free(f);
    strbuf_fini(&b);
    fold_free(NULL);
}
END_TEST

START_TEST(alone)
{
    struct strbuf b = { 0 };
    struct fold *f = fold_new(1, 1, note, &b);

    fold_add(f, 0, "at once", 0);
    fold_add(f, 0, "at once", 0);
    ck_assert_str_eq(strbuf_text(&b), "0*1 at once|0*1 at once|");
    fold_add(f, 0, "", 0);
    fold_free(f);
    strbuf_fini(&b);
}
END_TEST

enum { RANKS = 9, EACH = 400 };

/* Puts every rank's lines together again out of what was given out. */
struct heard {
    struct strbuf text[RANKS];
    int lines;
};

static void hear(void *ctx, const struct fold_line *l)
{
    struct heard *h = ctx;
    int count = 0;

    for (int r = 0; r < RANKS; r++)
        if (l->bits[r / 8] & 1 << r % 8) {
            strbuf_addf(&h->text[r], "%s\n", l->text);
            count++;
        }
    ck_assert_int_eq(count, l->count);
    ck_assert(l->bits[l->rank / 8] & 1 << l->rank % 8);
    h->lines++;
}

/* Whatever ranks say and in whatever order it comes: each rank's lines are all there, in their
 * order.
 */
START_TEST(nothing_lost)
{
    static struct heard h;
    struct strbuf said[RANKS] = { { 0 } };
    struct fold *f = fold_new(RANKS, RANKS, hear, &h);
    uint64_t seed = (uint64_t)_i, words = _i % 2 ? 3 : 500;
    int64_t now = 0;

    for (int i = 0; i < RANKS * EACH; i++) {
        int r = (int)random_below(&seed, RANKS);
        char text[64];

        if (_i % 3 == 0) /* all say the same, as far as they are */
            (void)snprintf(text, sizeof text, "line %zu", said[r].len);
        else
            (void)snprintf(text, sizeof text, "%d", (int)random_below(&seed, words));
        strbuf_addf(&said[r], "%s\n", text);
        fold_add(f, r, text, now);
        now += (int64_t)random_below(&seed, FOLD_WAIT_NS / 20);
        if (random_below(&seed, 5) == 0)
            fold_tick(f, now);
    }
    fold_flush(f);
    for (int r = 0; r < RANKS; r++) {
        ck_assert_str_eq(strbuf_text(&h.text[r]), strbuf_text(&said[r]));
        strbuf_fini(&said[r]);
        strbuf_fini(&h.text[r]);
    }
    fold_free(f);
}
END_TEST

/* A traceback of every rank, some moments apart, comes once. */
START_TEST(traceback)
{
    static struct heard h;
    struct fold *f = fold_new(RANKS, RANKS, hear, &h);

    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < 50; i++) {
            char text[64];

            (void)snprintf(text, sizeof text, "  File \"train.py\", line %d", i);
            fold_add(f, r, text, r * INT64_C(1000000));
        }
    ck_assert_int_eq(h.lines, 50);
    for (int r = 0; r < RANKS; r++)
        strbuf_fini(&h.text[r]);
    fold_free(f);
}
END_TEST

static void count(void *ctx, const struct fold_line *l)
{
    (void)l;
    ++*(int *)ctx;
}

/* However much comes without time going on, little of it waits. */
START_TEST(bounded)
{
    enum { LINES = 100000 };
    int given = 0;
    struct fold *f = fold_new(2, 2, count, &given);
    char text[64];

    for (int i = 0; i < LINES; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        fold_add(f, 0, text, 0);
    }
    ck_assert_int_ge(given, LINES - 2000);
    fold_flush(f);
    ck_assert_int_eq(given, LINES);
    fold_free(f);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, folds);
    tcase_add_test(tc, alone);
    tcase_add_loop_test(tc, nothing_lost, 0, 12);
    tcase_add_test(tc, traceback);
    tcase_add_test(tc, bounded);
}

SUITE_MAIN("fold", add_tests)
