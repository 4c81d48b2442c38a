/* SPDX-License-Identifier: Apache-2.0 */
/* test_lines.c - tests of agents/node/output/lines.h */
#include "agents/node/output/lines.h"

#include "lib/base/cleanup.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "suite.h"

#include <string.h>

/* Lines are noted each behind its length, so that any byte may be in them. */
static void note(void *ctx, const char *line, size_t n)
{
    strbuf_addf(ctx, "%zu:", n);
    strbuf_add_bytes(ctx, line, n);
    strbuf_add(ctx, "|");
}

static const struct {
    const char *in, *out;
} rows[] = {
    { "", "" },
    { "one\ntwo\n", "3:one|3:two|" },
    { "no end", "" },
    { "\n\n", "0:|0:|" },
    { "dos\r\nunix\n", "3:dos|4:unix|" },
    { "10%\r50%\r100%\ndone\n", "4:100%|4:done|" },
    { "100%\rno\n", "2:no|" },
    { "10%\r\r\r\n", "3:10%|" },
    { "\rx\n", "1:x|" },
    { "bar\r   \r\nnext\n", "3:   |4:next|" },
    { "a\rb", "" },
};

START_TEST(table)
{
    struct lines l = { .n = 0 };
    struct strbuf b = { 0 };

    lines_feed(&l, rows[_i].in, strlen(rows[_i].in), note, &b);
    ck_assert_str_eq(strbuf_text(&b), rows[_i].out);
    strbuf_fini(&b);
}
END_TEST

/* Lines that have no end yet are given out on request, and their rest is another line. */
START_TEST(flush)
{
    struct lines l = { .n = 0 };
    struct strbuf b = { 0 };

    lines_flush(&l, note, &b);
    lines_feed(&l, "name? ", 6, note, &b);
    ck_assert(lines_begun(&l));
    lines_flush(&l, note, &b);
    ck_assert(!lines_begun(&l));
    lines_feed(&l, "\nmore", 5, note, &b);
    lines_flush(&l, note, &b);
    lines_feed(&l, "and more\n\n", 10, note, &b);
    lines_feed(&l, "50%\r", 4, note, &b);
    lines_flush(&l, note, &b);
    lines_feed(&l, "100%\n", 5, note, &b);
    ck_assert_str_eq(strbuf_text(&b), "6:name? |4:more|8:and more|0:|3:50%|4:100%|");
    strbuf_fini(&b);
}
END_TEST

static void last(void *ctx, const char *line, size_t n)
{
    strbuf_clear(ctx);
    strbuf_add_bytes(ctx, line, n);
}

/* Too long: cut with a mark, never inside a character. */
START_TEST(cut)
{
    enum { LONG = 3 * LINES_MAX };
    struct lines l = { .n = 0 };
    struct strbuf b = { 0 };
    cleanup_free char *text = malloc(LONG + 8);

    for (int shift = 0; shift < 4; shift++) {
        size_t n;

        memset(text, 'x', (size_t)shift);
        for (size_t i = (size_t)shift; i < LONG; i += 3)
            memcpy(text + i, "\xe2\x82\xac", 3);
        text[LONG] = '\n';
        lines_feed(&l, text, LONG + 1, last, &b);
        n = b.len - strlen(LINES_CUT);
        ck_assert_uint_le(b.len, LINES_MAX);
        ck_assert_uint_ge(b.len, LINES_MAX - 4);
        ck_assert_str_eq(b.text + n, LINES_CUT);
        ck_assert_mem_eq(b.text, text, n);
        ck_assert_uint_eq((n - (size_t)shift) % 3, 0);
    }
    memset(text, 'x', LINES_MAX);
    text[LINES_MAX] = '\n';
    lines_feed(&l, text, LINES_MAX + 1, last, &b); /* just fits */
    ck_assert_uint_eq(b.len, LINES_MAX);
    ck_assert_mem_eq(b.text, text, LINES_MAX);
    memset(text, 0x80, LONG);
    strbuf_clear(&b);
    lines_feed(&l, text, LONG, last, &b);
    lines_flush(&l, last, &b);
    ck_assert_uint_ge(b.len, LINES_MAX - 4);
    ck_assert_uint_le(b.len, LINES_MAX);
    strbuf_fini(&b);
}
END_TEST

/* However the stream is cut, the lines are the same. */
START_TEST(any_split)
{
    static const char alphabet[] = "ab\n\n\r\r\xc3\x28 %\0";
    enum { TOTAL = 20000 };
    uint64_t seed = (uint64_t)_i;
    cleanup_free char *text = malloc(TOTAL);
    struct lines whole = { .n = 0 }, parts = { .n = 0 };
    struct strbuf expected = { 0 }, got = { 0 };

    for (size_t i = 0; i < TOTAL; i++)
        text[i] = _i % 3 == 2 && random_below(&seed, 3000) /* long lines */
                      ? 'x'
                      : alphabet[random_below(&seed, sizeof alphabet)];
    lines_feed(&whole, text, TOTAL, note, &expected);
    for (size_t done = 0; done < TOTAL;) {
        size_t n = 1 + random_below(&seed, _i % 2 ? 3 : 5000);

        n = n < TOTAL - done ? n : TOTAL - done;
        lines_feed(&parts, text + done, n, note, &got);
        done += n;
    }
    ck_assert_uint_eq(got.len, expected.len);
    ck_assert_mem_eq(strbuf_text(&got), strbuf_text(&expected), got.len);
    strbuf_fini(&expected);
    strbuf_fini(&got);
}
END_TEST

/* Count the bytes that are searched: those before the find, and the find. */
static size_t n_searched;

void *__wrap_memchr(const void *s, int c, size_t n);
void *__wrap_memchr(const void *s, int c, size_t n)
{
    const char *at = s;
    size_t i = 0;

    while (i < n && at[i] != (char)c)
        i++;
    n_searched += i < n ? i + 1 : n;
    return i < n ? (void *)(at + i) : NULL;
}

/* Whatever the bytes are, each is searched twice at most: for a newline and for a return. */
START_TEST(linear)
{
    static const char *const alphabet[] = { "\r", "\n", "\ra", "\r\n", "\r\r\r\r\r\r\n", "ab%\r" };
    enum { TOTAL = 65536 };
    size_t period = strlen(alphabet[_i]);
    cleanup_free char *text = malloc(TOTAL);
    struct lines l = { .n = 0 };
    struct strbuf b = { 0 };

    for (size_t i = 0; i < TOTAL; i++)
        text[i] = alphabet[_i][i % period];
    n_searched = 0;
    lines_feed(&l, text, TOTAL, note, &b);
    ck_assert_uint_le(n_searched, 2 * TOTAL);
    ck_assert_uint_ge(n_searched, TOTAL);
    strbuf_fini(&b);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, table, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, flush);
    tcase_add_test(tc, cut);
    tcase_add_loop_test(tc, any_split, 0, 12);
    tcase_add_loop_test(tc, linear, 0, 6);
}

SUITE_MAIN("lines", add_tests)
