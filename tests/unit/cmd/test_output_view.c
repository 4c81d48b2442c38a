/* SPDX-License-Identifier: Apache-2.0 */
/* test_output_view.c - tests of cmd/output_view.h */
#include "cmd/output_view.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What people would see, read out of a pipe. */
struct seen {
    int ends[2];
    struct run_view view;
    struct rank_list ranks;
    struct output_view *o;
    char text[65536];
};

static void begin(struct seen *s, int n_ranks, const char *prefix)
{
    const struct output_view_options o = { .view = &s->view,
                                           .ranks = &s->ranks,
                                           .prefix = prefix,
                                           .log_dir = "/logs",
                                           .n_ranks = n_ranks,
                                           .width = 7 };

    ck_assert_int_eq(pipe(s->ends), 0);
    ck_assert_int_eq(screen_open(s->ends[1], &s->view.out, NULL), 0);
    s->view.errors = s->view.out;
    s->o = output_view_new(&o);
    ck_assert_ptr_nonnull(s->o);
}

static const char *end(struct seen *s)
{
    ssize_t n = 0;

    output_view_flush(s->o);
    output_view_end(s->o);
    ck_assert_int_eq(screen_flush(s->view.out, CLOCK_NEVER, NULL), 0);
    output_view_free(s->o);
    screen_close(s->view.out);
    close(s->ends[1]);
    n = read(s->ends[0], s->text, sizeof s->text - 1);
    ck_assert_int_ge(n, 0);
    s->text[n] = '\0';
    close(s->ends[0]);
    return s->text;
}

START_TEST(prefixes)
{
    static struct seen s;

    begin(&s, 12, NULL);
    output_view_add(s.o, "c01", 0, "up\n\033[31mred\033[0m\n\n", 0, 1);
    output_view_add(s.o, "node7", 11, "up\n", 0, 2);
    output_view_add(s.o, "c01", 1, "up\nno newline", 0, 3);
    output_view_add(s.o, "c01", 12, "a stranger\n", 0, 3);
    ck_assert_str_eq(end(&s), "0,1,11 (3 ranks): up\n"
                              "c01:0:   red\n"
                              "c01:0:   \n"
                              "c01:1:   no newline\n");
}
END_TEST

START_TEST(colours)
{
    static struct seen s;

    s.view.colour = true;
    begin(&s, 2, NULL);
    output_view_add(s.o, "c01", 0, "x\n", 0, 1);
    ck_assert_str_eq(end(&s), "\033[36mc01:0:\033[0m   x\n");
}
END_TEST

START_TEST(own_prefix)
{
    static struct seen s;

    begin(&s, 2, "{rank}@{node}> ");
    output_view_add(s.o, "a", 0, "x\n", 0, 1);
    output_view_add(s.o, "b", 1, "x\n", 0, 1);
    ck_assert_str_eq(end(&s), "0@a> x\n1@b> x\n");
}
END_TEST

START_TEST(selected)
{
    static struct seen s;

    ck_assert_int_eq(rank_list_parse("1-2", &s.ranks, NULL), 0);
    begin(&s, 4, NULL);
    for (int r = 0; r < 4; r++)
        output_view_add(s.o, "a", r, "x\n", r, 1); /* complete with two */
    ck_assert_str_eq(end(&s), "1,2 (2 ranks): x\n"
                              "eddis-run: rank 2: 2 lines, rank 1: 1 lines not shown; "
                              "see /logs/rank-*.log\n");
}
END_TEST

START_TEST(left_out)
{
    static struct seen s;

    begin(&s, 9, NULL);
    output_view_add(s.o, "a", 3, "x\n", 1204, 1);
    output_view_tick(s.o, 1);
    output_view_tick(s.o, 9 * CLOCK_S);
    output_view_tick(s.o, 11 * CLOCK_S);
    output_view_tick(s.o, 1000 * CLOCK_S); /* nothing new */
    for (int r = 4; r < 9; r++)
        output_view_add(s.o, "a", r, "", 10 * r, 1000 * CLOCK_S);
    ck_assert_str_eq(end(&s), "a:3:     x\n"
                              "eddis-run: rank 3: 1 204 lines not shown so far; see "
                              "/logs/rank-0003.log\n"
                              "eddis-run: rank 3: 1 204 lines, rank 8: 80 lines, rank 7: 70 lines, "
                              "3 other ranks: 150 lines not shown; see /logs/rank-*.log\n");
}
END_TEST

/* The last lines of a failed rank need not be repeated where they have just been shown. */
START_TEST(repeated)
{
    static struct seen s;

    begin(&s, 2, NULL);
    output_view_add(s.o, "a", 0, "one\ntwo\n", 0, 1);
    ck_assert(!output_view_has(s.o, 0, "one\ntwo\n")); /* it waits still */
    output_view_flush(s.o);
    ck_assert(output_view_has(s.o, 0, "one\ntwo\n"));
    ck_assert(output_view_has(s.o, 0, "two\n"));
    ck_assert(!output_view_has(s.o, 0, "two\nthree\n"));
    ck_assert(!output_view_has(s.o, 1, "two\n"));
    for (int i = 0; i < 100; i++)
        output_view_add(s.o, "a", 1, i % 2 ? "other\n" : "more\n", 0, 1);
    output_view_flush(s.o);
    ck_assert(!output_view_has(s.o, 0, "two\n"));
    (void)end(&s);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, prefixes);
    tcase_add_test(tc, colours);
    tcase_add_test(tc, own_prefix);
    tcase_add_test(tc, selected);
    tcase_add_test(tc, left_out);
    tcase_add_test(tc, repeated);
}

SUITE_MAIN("output_view", add_tests)
