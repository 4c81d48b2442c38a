/* SPDX-License-Identifier: Apache-2.0 */
/* test_step_lines.c - tests of agents/node/output/step_lines.h */
#include "agents/node/output/step_lines.h"

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "suite.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void note(void *ctx, int64_t steps, int64_t since, int64_t total)
{
    strbuf_addf(ctx, "%" PRId64 "+%" PRId64 "/%" PRId64 " ", steps, since, total);
}

#define STEP  "step[ =]+([0-9]+)"
#define OF    "step ([0-9]+)/([0-9]+)"
#define OTHER "(step|iter) ([0-9]*)"

static const struct {
    const char *pattern, *in, *out;
} rows[] = {
    { STEP, "", "" },
    { STEP, "hello\nstep\nstep x\n", "" },
    { STEP, "step 1\n", "1+0/0 " },
    { STEP, "step 1", "" }, /* it may be 10 */
    { STEP, "a step = 10, loss 0.1\nnothing\nstep 15\n", "10+0/0 15+5/0 " },
    { STEP, "step 10\nstep 10\nstep 11\n", "10+0/0 11+1/0 " },
    { STEP, "step 1\rstep 2\rstep 3\n", "1+0/0 2+1/0 3+1/0 " },
    { STEP, "step 1\r\nstep 2\r\n", "1+0/0 2+1/0 " },
    { STEP, "step 8\nstep 9\nstep 2\nstep 4\n", "8+0/0 9+1/0 11+2/0 13+2/0 " },
    { STEP, "step 9\nstep 0\nstep 1\n", "9+0/0 9+0/0 10+1/0 " },
    { STEP, "step 99999999999999999999\nstep 7\n", "7+0/0 " },
    { STEP, "step 0007\n", "7+0/0 " },
    { OF, "step 5/20\nstep 6/20\n", "5+0/20 6+1/20 " },
    { OF, "step 19/20\nstep 1/20\n", "19+0/20 20+1/0 " },
    { OF, "step 21/20\n", "21+0/0 " },
    { OTHER, "step 5\n", "" }, /* the first group is no number */
    { "^([0-9]*)", "x\n3\n", "3+0/0 " },
};

/* In one piece, and byte by byte. */
START_TEST(table)
{
    for (size_t size = 1; size < 1000; size += 998) {
        struct strbuf b = { 0 };
        struct step_lines *l;
        const char *in = rows[_i].in;

        ck_assert_int_eq(step_lines_open(rows[_i].pattern, note, &b, &l, NULL), 0);
        for (size_t n = strlen(in); n > 0;) {
            size_t some = n < size ? n : size;

            step_lines_feed(l, in, some, CLOCK_S);
            in += some;
            n -= some;
        }
        ck_assert_str_eq(strbuf_text(&b), rows[_i].out);
        step_lines_close(l);
        strbuf_fini(&b);
    }
}
END_TEST

START_TEST(bad)
{
    struct step_lines *l;

    ck_assert_int_eq(step_lines_open("(", note, NULL, &l, NULL), -EINVAL);
    ck_assert_int_eq(step_lines_open("step [0-9]+", note, NULL, &l, NULL), -EINVAL);
    step_lines_close(NULL);
}
END_TEST

/* Of a long line the beginning counts; any byte may be in it. */
START_TEST(long_lines)
{
    static char line[3 * STEP_LINES_MAX];
    struct strbuf b = { 0 };
    struct step_lines *l;

    ck_assert_int_eq(step_lines_open(STEP, note, &b, &l, NULL), 0);
    for (size_t at = 0; at < sizeof line - 16; at += STEP_LINES_MAX - 8) {
        memset(line, 'x', sizeof line);
        line[3] = '\0';
        memcpy(line + at, "step 12;", 8);
        line[sizeof line - 1] = '\n';
        step_lines_feed(l, line, sizeof line, CLOCK_S);
        step_lines_feed(l, "step 1\n", 7, CLOCK_S);
    }
    ck_assert_str_eq(strbuf_text(&b), "12+0/0 13+1/0 24+11/0 25+1/0 ");
    step_lines_close(l);
    strbuf_fini(&b);
}
END_TEST

/* What is too much to be looked at is passed over, for that second. */
START_TEST(flood)
{
    static char line[1 << 20];
    struct strbuf b = { 0 };
    struct step_lines *l;

    memset(line, '\n', sizeof line);
    ck_assert_int_eq(step_lines_open(STEP, note, &b, &l, NULL), 0);
    for (int i = 0; i < 4; i++)
        step_lines_feed(l, line, sizeof line, 5 * CLOCK_S);
    step_lines_feed(l, "step 1\n", 7, 5 * CLOCK_S);
    ck_assert_str_eq(strbuf_text(&b), "");
    step_lines_feed(l, "step 2\n", 7, 6 * CLOCK_S);
    ck_assert_str_eq(strbuf_text(&b), "2+0/0 ");
    step_lines_close(l);
    strbuf_fini(&b);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, table, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, bad);
    tcase_add_test(tc, long_lines);
    tcase_add_test(tc, flood);
}

SUITE_MAIN("step_lines", add_tests)
