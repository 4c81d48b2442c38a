/* SPDX-License-Identifier: Apache-2.0 */
/* test_output_copy.c - tests of agents/node/output/output_copy.h */
#include "agents/node/output/output_copy.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

/* An agent that takes what it is given, unless it is busy, and sees that numbered lines come in
 * order with the right count of missing ones.
 */
struct agent {
    bool busy, numbered;
    struct strbuf text;
    long long next; /* number of the line that is due */
    int64_t lines, dropped, bytes, messages;
};

static void check_numbers(struct agent *a, const char *text, int64_t dropped)
{
    a->next += dropped;
    for (; *text; text = strchr(text, '\n') + 1) {
        ck_assert_int_eq(atoll(text), a->next);
        a->next++;
        a->lines++;
    }
}

static bool take(void *ctx, const char *text, int64_t dropped)
{
    struct agent *a = ctx;
    size_t n = strlen(text);

    ck_assert_uint_lt(n, OUTPUT_COPY_MESSAGE);
    ck_assert(n > 0 && text[n - 1] == '\n');
    if (a->busy)
        return false;
    a->dropped += dropped;
    a->bytes += (int64_t)n;
    a->messages++;
    if (a->numbered)
        check_numbers(a, text, dropped);
    else
        strbuf_add(&a->text, text);
    return true;
}

START_TEST(little)
{
    struct agent a = { .busy = false };
    struct output_copy *c = output_copy_new(1000, take, &a);
    int64_t now = 5 * CLOCK_S;

    ck_assert_int_eq(output_copy_next_ns(c), CLOCK_NEVER);
    output_copy_feed(c, "one\ntwo\nthr", 11, now);
    ck_assert_str_eq(strbuf_text(&a.text), "one\ntwo\n"); /* at once */
    output_copy_feed(c, "ee\n\0x\n", 6, now + CLOCK_MS);
    ck_assert_int_eq(a.messages, 1); /* not for each line one */
    now = output_copy_next_ns(c);
    ck_assert_int_le(now, 5 * CLOCK_S + 100 * CLOCK_MS);
    output_copy_tick(c, now);
    ck_assert_str_eq(strbuf_text(&a.text), "one\ntwo\nthree\n?x\n");
    ck_assert_int_eq(output_copy_next_ns(c), CLOCK_NEVER);
    output_copy_feed(c, "name? ", 6, now);
    now = output_copy_next_ns(c);
    output_copy_tick(c, now - 1);
    ck_assert_int_eq(a.messages, 2);
    output_copy_tick(c, now);
    ck_assert_int_eq(output_copy_next_ns(c), CLOCK_NEVER);
    output_copy_feed(c, "end", 3, now);
    ck_assert(output_copy_end(c, now));
    ck_assert_str_eq(strbuf_text(&a.text), "one\ntwo\nthree\n?x\nname? \r\nname? end\n");
    ck_assert_int_eq(a.dropped, 0);
    output_copy_free(c);
    strbuf_fini(&a.text);
}
END_TEST

/* Of a line that does not end, drawn anew or longer and longer, each state is there half a second
 * later at most, some of those in between are not, and the last is the line.
 */
START_TEST(partial)
{
    static const int64_t every[] = { CLOCK_MS, 30 * CLOCK_MS, 100 * CLOCK_MS, CLOCK_S };
    bool bar = _i % 2;
    struct agent a = { .busy = false };
    struct output_copy *c = output_copy_new(64 << 10, take, &a);
    int64_t begun = 5 * CLOCK_S, now = begun, fed = 0, each = every[_i / 2];
    char text[32], last[64] = "";

    for (int i = 0; i < 120; i++) {
        int n =
            bar ? snprintf(text, sizeof text, "\r%3d/120", i) : snprintf(text, sizeof text, ".");

        output_copy_feed(c, text, (size_t)n, now);
        fed = now;
        for (int64_t end = now + each; now < end; now += CLOCK_MS)
            if (now >= output_copy_next_ns(c))
                output_copy_tick(c, now);
        if (now - begun >= CLOCK_S / 2 && now - begun < 2 * each + CLOCK_S / 2)
            ck_assert_int_ge(a.messages, 1);
    }
    ck_assert_int_le(a.messages, (now - begun) / (200 * CLOCK_MS) + 1);
    ck_assert_int_ge(a.messages, each >= CLOCK_S / 2 ? 120 : (now - begun) / (CLOCK_S / 2));
    for (now = fed; now <= fed + CLOCK_S / 2; now += CLOCK_MS)
        if (now >= output_copy_next_ns(c))
            output_copy_tick(c, now);
    (void)snprintf(last, sizeof last, "%s\r\n", bar ? "119/120" : "....................");
    ck_assert_ptr_nonnull(strstr(strbuf_text(&a.text), last));
    ck_assert_int_eq(output_copy_next_ns(c), CLOCK_NEVER);
    output_copy_feed(c, "\n", 1, now);
    ck_assert(output_copy_end(c, now));
    last[strlen(last) - 2] = '\n';
    last[strlen(last) - 1] = '\0';
    ck_assert_str_eq(strbuf_text(&a.text) + a.text.len - strlen(last), last);
    output_copy_free(c);
    strbuf_fini(&a.text);
}
END_TEST

/* What is begun comes behind the lines before it, and waits while nothing is taken. */
START_TEST(partial_waits)
{
    struct agent a = { .busy = true };
    struct output_copy *c = output_copy_new(64 << 10, take, &a);
    int64_t now = 5 * CLOCK_S;

    output_copy_feed(c, "one\n50%", 7, now);
    for (int i = 0; i < 30; i++, now += 100 * CLOCK_MS)
        output_copy_tick(c, now);
    ck_assert_int_lt(now, output_copy_next_ns(c) + CLOCK_S);
    a.busy = false;
    for (int i = 0; i < 10; i++, now += 100 * CLOCK_MS)
        output_copy_tick(c, now);
    ck_assert_str_eq(strbuf_text(&a.text), "one\n50%\r\n");
    output_copy_free(c);
    strbuf_fini(&a.text);
}
END_TEST

/* A flood for a minute, with an agent that is busy at times: the rate is kept, every line is
 * either there or counted, and the last ones are there.
 */
START_TEST(flood)
{
    enum { RATE = 20000, SECONDS = 60 };
    struct agent a = { .numbered = true };
    struct output_copy *c = output_copy_new(RATE, take, &a);
    int64_t begin = 7 * CLOCK_S, now = begin, n = 0;
    uint64_t seed = (uint64_t)_i + 1;
    char chunk[65536];

    while (now < begin + SECONDS * CLOCK_S) {
        size_t size = 0;

        while (size + 100 < sizeof chunk)
            size += (size_t)sprintf(chunk + size, "%lld %.*s\n", (long long)n++,
                                    (int)random_below(&seed, 60),
                                    "............................................................");
        a.busy = random_below(&seed, 4) == 0;
        output_copy_feed(c, chunk, size, now);
        now += (int64_t)random_below(&seed, 100 * CLOCK_MS);
        if (now >= output_copy_next_ns(c))
            output_copy_tick(c, now);
    }
    a.busy = true;
    ck_assert(!output_copy_end(c, now));
    ck_assert_int_le(a.bytes, (SECONDS + 5) * RATE + OUTPUT_COPY_MESSAGE);
    ck_assert_int_ge(a.bytes, (SECONDS - 5) * RATE);
    a.busy = false;
    ck_assert(output_copy_end(c, now));
    ck_assert_int_eq(a.next, n); /* the last line is there */
    ck_assert_int_eq(a.lines + a.dropped, n);
    ck_assert_int_gt(a.dropped, n / 2);
    output_copy_free(c);
}
END_TEST

/* What fits into four seconds' worth is never dropped, however slowly it is taken. */
START_TEST(burst)
{
    struct agent a = { .numbered = true };
    struct output_copy *c = output_copy_new(64 << 10, take, &a);
    int64_t now = CLOCK_S;
    char text[64];
    size_t bytes = 0;
    int i = 0;

    for (; bytes < 200 << 10; i++) {
        int n = snprintf(text, sizeof text, "%d a line of a program that starts\n", i);

        a.busy = i % 100 != 0;
        output_copy_feed(c, text, (size_t)n, now);
        bytes += (size_t)n;
    }
    a.busy = false;
    while (output_copy_next_ns(c) != CLOCK_NEVER) {
        now = output_copy_next_ns(c);
        output_copy_tick(c, now);
    }
    ck_assert_int_eq(a.lines, i);
    ck_assert_int_eq(a.dropped, 0);
    ck_assert_int_lt(now, 3 * CLOCK_S);
    output_copy_free(c);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, little);
    tcase_add_loop_test(tc, partial, 0, 8);
    tcase_add_test(tc, partial_waits);
    tcase_add_loop_test(tc, flood, 0, 3);
    tcase_add_test(tc, burst);
}

SUITE_MAIN("output_copy", add_tests)
