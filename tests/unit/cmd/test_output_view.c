/* SPDX-License-Identifier: Apache-2.0 */
/* test_output_view.c - tests of cmd/run/view/output_view.h */
#include "cmd/run/view/output_view.h"

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

/* On a node that is named by an address of IPv6. */
START_TEST(literal)
{
    static struct seen s;

    begin(&s, 2, NULL);
    output_view_add(s.o, "fd00::7", 1, "x\n", 0, 1);
    ck_assert_str_eq(end(&s), "[fd00::7]:1: x\n");
    ck_assert_int_eq(output_view_label("fd00::7", 1, NULL, 0), 11);
    ck_assert_int_eq(output_view_label("c01", 12, NULL, 0), 6);
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

/* A node's name, which another host may have sent, cannot write to the terminal. */
START_TEST(hostile_name)
{
    static struct seen s;

    begin(&s, 1, NULL);
    output_view_add(s.o, "a\033[2J", 0, "x\n", 0, 1);
    ck_assert_str_eq(end(&s), "a?[2J:0: x\n");
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

/* Elsewhere than on a terminal lines that have not ended are whole lines, now and then: bars every
 * ten seconds, questions and dots as far as they are new, and nothing twice.
 */
START_TEST(begun)
{
    static struct seen s;
    const int64_t ms = CLOCK_MS, since = CLOCK_S;

    begin(&s, 3, NULL);
    for (int i = 0; i < 100; i++) { /* 25 s */
        char bar[32];

        (void)snprintf(bar, sizeof bar, "%d%%\r\n", i);
        output_view_add(s.o, "c", 0, bar, 0, since + i * 250 * ms);
        output_view_tick(s.o, since + i * 250 * ms);
    }
    output_view_add(s.o, "c", 0, "100%\n", 0, since + 26000 * ms);
    output_view_add(s.o, "c", 1, "name? \r\n", 0, since + 30000 * ms);
    output_view_tick(s.o, since + 30499 * ms);
    output_view_tick(s.o, since + 30500 * ms);
    output_view_tick(s.o, since + 50000 * ms);
    output_view_add(s.o, "c", 1, "name? me\n", 0, since + 50000 * ms);
    output_view_add(s.o, "c", 1, "..\r\n", 0, since + 51000 * ms);
    output_view_tick(s.o, since + 52000 * ms);
    output_view_add(s.o, "c", 1, "....\r\n", 0, since + 53000 * ms);
    output_view_tick(s.o, since + 53400 * ms);
    output_view_tick(s.o, since + 53500 * ms);
    output_view_add(s.o, "c", 1, "....\n", 0, since + 54000 * ms);
    output_view_add(s.o, "c", 1, "quick\r\n", 0, since + 54000 * ms);
    output_view_add(s.o, "c", 1, "quicker\n", 0, since + 54100 * ms);
    output_view_add(s.o, "c", 2, "last words\r\n", 0, since + 54100 * ms);
    ck_assert_str_eq(end(&s), "c:0:     2%\n"
                              "c:0:     42%\n"
                              "c:0:     82%\n"
                              "c:0:     100%\n"
                              "c:1:     name? \n"
                              "c:1:     me\n"
                              "c:1:     ..\n"
                              "c:1:     ..\n"
                              "c:1:     quicker\n"
                              "c:2:     last words\n");
}
END_TEST

/* What a terminal of 40 columns shows that knows the sequences which are used. */
static const char *screen_of(const char *text)
{
    enum { ROWS = 64, COLUMNS = 40 };
    static char all[ROWS * (COLUMNS + 1) + 1];
    char cell[ROWS][COLUMNS + 1];
    int row = 0, column = 0, last = 0;
    size_t n = 0;

    memset(cell, 0, sizeof cell);
    for (; *text; text++) {
        if (*text == '\r') {
            column = 0;
        } else if (*text == '\n') {
            column = 0;
            row++;
        } else if (strncmp(text, "\033[K", 3) == 0 || strncmp(text, "\033[J", 3) == 0) {
            memset(cell[row] + column, 0, sizeof cell[row] - (size_t)column);
            for (int i = row + 1; text[2] == 'J' && i < ROWS; i++)
                memset(cell[i], 0, sizeof cell[i]);
            text += 2;
        } else if (*text == '\033') {
            int up = 0, used = 0;

            ck_assert_int_eq(sscanf(text, "\033[%dA%n", &up, &used), 1);
            row -= up;
            ck_assert_int_ge(row, 0);
            text += used - 1;
        } else {
            ck_assert_int_lt(column, COLUMNS - 1); /* else it wraps */
            cell[row][column++] = *text;
        }
        ck_assert_int_lt(row, ROWS);
    }
    for (int i = 0; i < ROWS; i++)
        last = cell[i][0] ? i : last;
    for (int i = 0; i <= last; i++)
        n += (size_t)sprintf(all + n, "%s|", cell[i]);
    return all;
}

/* What is on the screen now. */
static const char *on_screen(struct seen *s)
{
    size_t n = strlen(s->text);
    ssize_t more;

    ck_assert_int_eq(screen_flush(s->view.out, CLOCK_NEVER, NULL), 0);
    more = read(s->ends[0], s->text + n, sizeof s->text - 1 - n);
    ck_assert_int_gt(more, 0);
    s->text[n + (size_t)more] = '\0';
    return screen_of(s->text);
}

/* On a terminal lines that have not ended are drawn anew below all else, each with its rank, and
 * above the live line; what is too wide is cut.
 */
START_TEST(begun_on_terminal)
{
    static struct seen s;
    int64_t now = CLOCK_S;

    s.view.terminal = true;
    s.view.columns = 40;
    begin(&s, 8, NULL);
    output_view_add(s.o, "c", 1, "10%\r\n", 0, now += CLOCK_S);
    ck_assert_str_eq(on_screen(&s), "c:1:     10%|");
    output_view_add(s.o, "c", 1, "one\n20%\r\n", 0, now += CLOCK_S);
    output_view_add(s.o, "c", 0, "0123456789012345678901234567890123456789\r\n", 0, now += CLOCK_S);
    output_view_tick(s.o, now += CLOCK_S);
    ck_assert_str_eq(on_screen(&s),
                     "c:1:     one|c:0:     012345678901234567890123456789|c:1:     20%|");
    (void)snprintf(s.view.line, sizeof s.view.line, "step 5");
    output_view_add(s.o, "c", 1, "30%\r\n", 0, now += CLOCK_S);
    ck_assert_str_eq(on_screen(&s),
                     "c:1:     one|c:0:     012345678901234567890123456789|c:1:     30%|step 5|");
    output_view_add(s.o, "c", 0, "done\n", 0, now += CLOCK_S);
    output_view_tick(s.o, now += CLOCK_S);
    ck_assert_str_eq(on_screen(&s), "c:1:     one|c:0:     done|c:1:     30%|step 5|");
    for (int r = 2; r < 8; r++)
        output_view_add(s.o, "c", r, "x\r\n", 0, now += CLOCK_S);
    ck_assert_str_eq(on_screen(&s), "c:1:     one|c:0:     done|c:1:     30%|c:2:     x|c:3:     x|"
                                    "c:4:     x|and lines of 3 more ranks|step 5|");
    run_view_say(&s.view, "a sentence");
    ck_assert_str_eq(on_screen(&s), "c:1:     one|c:0:     done|eddis-run: a sentence|");
    output_view_tick(s.o, now += CLOCK_S);
    for (int r = 1; r < 8; r++)
        output_view_add(s.o, "c", r, "end\n", 0, now);
    output_view_tick(s.o, now += CLOCK_S);
    s.view.line[0] = '\0';
    run_view_clear(&s.view);
    ck_assert_str_eq(on_screen(&s),
                     "c:1:     one|c:0:     done|eddis-run: a sentence|1-7 (7 ranks): end|");
    output_view_add(s.o, "c", 5, "that was\r\n", 0, now += CLOCK_S);
    s.text[0] = '\0';
    ck_assert_ptr_nonnull(strstr(end(&s), "c:5:     that was\n"));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, begun);
    tcase_add_test(tc, begun_on_terminal);
    tcase_add_test(tc, prefixes);
    tcase_add_test(tc, literal);
    tcase_add_test(tc, colours);
    tcase_add_test(tc, own_prefix);
    tcase_add_test(tc, hostile_name);
    tcase_add_test(tc, selected);
    tcase_add_test(tc, left_out);
    tcase_add_test(tc, repeated);
}

SUITE_MAIN("output_view", add_tests)
