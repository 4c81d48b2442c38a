/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - tests of lib/base/text.h */
#include "lib/base/text.h"

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "suite.h"

#include <errno.h>
#include <stdio.h>

static const char *const keys[] = { "name", "command", "batch", "seed", "sync", "checkpoint" };

static const struct {
    const char *word, *nearest;
} nearest_rows[] = {
    { "batchsize", "batch" },
    { "batches", "batch" },
    { "nmae", "name" },
    { "comand", "command" },
    { "Seed", "seed" },
    { "zzzzz", NULL },
    { "", NULL },
    { "x", NULL },
    { "chekpoint", "checkpoint" },
};

START_TEST(nearest)
{
    const char *got = text_nearest(nearest_rows[_i].word, keys, sizeof keys / sizeof *keys);

    ck_assert_pstr_eq(got, nearest_rows[_i].nearest);
}
END_TEST

static const struct {
    const char *text;
    int rc;
    int64_t ns;
} duration_rows[] = {
    { "10s", 0, 10 * CLOCK_S },
    { "250ms", 0, 250 * CLOCK_MS },
    { "5m", 0, 300 * CLOCK_S },
    { "1m30s", 0, 90 * CLOCK_S },
    { "7d", 0, 7 * 86400 * CLOCK_S },
    { "1.5s", 0, 1500 * CLOCK_MS },
    { "12:00:00", 0, 43200 * CLOCK_S },
    { "1-00:00:01", 0, 86401 * CLOCK_S },
    { "none", 0, CLOCK_NEVER },
    { "0s", 0, 0 },
    { "", -EINVAL, 0 },
    { "10", -EINVAL, 0 },
    { "s", -EINVAL, 0 },
    { "10 s", -EINVAL, 0 },
    { "-1s", -EINVAL, 0 },
    { "1:2:3:4", -EINVAL, 0 },
    { "99999999999d", -ERANGE, 0 },
    { "99999-999999:59:59", -ERANGE, 0 },
    { "1:-5", -EINVAL, 0 },
    { "-1:05", -EINVAL, 0 },
    { " 1: 05", -EINVAL, 0 },
    { "1--2:3", -EINVAL, 0 },
    { "1-:3", -EINVAL, 0 },
    { "0x10s", -EINVAL, 0 },
    { "1e3s", -EINVAL, 0 },
    { "1.2.3s", -EINVAL, 0 },
};

START_TEST(duration)
{
    int64_t ns = 0;

    ck_assert_int_eq(text_duration_ns(duration_rows[_i].text, &ns, NULL), duration_rows[_i].rc);
    ck_assert_int_eq(ns, duration_rows[_i].ns);
}
END_TEST

/* Numbers and ranges up to each limit, and behind them. */
START_TEST(range)
{
    for (int first = 0; first < 120; first++) {
        int last = first + _i % 7, got_first, got_last;
        char text[32];
        const char *at = text;

        snprintf(text, sizeof text, last > first ? "%d-%d," : "%d,", first, last);
        ck_assert_int_eq(text_range(&at, _i, &got_first, &got_last), last <= _i);
        if (last <= _i)
            ck_assert(got_first == first && got_last == last && *at == ',');
    }
}
END_TEST

START_TEST(grouped)
{
    char s[32];

    ck_assert_str_eq(text_grouped(22400, s, sizeof s), "22 400");
    ck_assert_str_eq(text_grouped(999.6, s, sizeof s), "1 000");
    ck_assert_str_eq(text_grouped(7, s, sizeof s), "7");
    ck_assert_str_eq(text_grouped(-1234567, s, sizeof s), "-1 234 567");
}
END_TEST

START_TEST(control)
{
    char s[] = "a\033[2Jb\tc\n", c1[] = "a\302\2332J\u00e9\u2501";
    char bytes[] = "a\2332Jb\342\233c\237\200\240\377\303"; /* of no UTF-8 */

    text_strip_control(s);
    ck_assert_str_eq(s, "a?[2Jb\tc?");
    text_strip_control(c1);
    ck_assert_str_eq(c1, "a??2J\u00e9\u2501");
    text_strip_control(bytes);
    ck_assert_str_eq(bytes, "a?2Jb\342?c??\240\377\303");
    ck_assert(text_is_name("job-1.x_y", 64));
    ck_assert(!text_is_name("-rf", 64));
    ck_assert(!text_is_name("a/b", 64));
    ck_assert(!text_is_name("", 64));
    ck_assert(!text_is_name("abcd", 3));
    ck_assert(text_is_hex("0123456789abcdef", 16) && text_is_hex("", 0));
    ck_assert(!text_is_hex("0123", 3) && !text_is_hex("012", 4));
    ck_assert(!text_is_hex("0123AB", 6) && !text_is_hex("01 3", 4));
}
END_TEST

static const struct {
    const char *foreign, *plain;
} plain_rows[] = {
    { "", "" },
    { "plain \t text", "plain \t text" },
    { "\033[1;31mred\033[0m", "red" },
    { "\033[38;2;1;2;3mx\033[Ky\033[2J", "xy" },
    { "\033]0;title\atext", "text" },
    { "\033]8;;http://x\033\\link\033]8;;\033\\", "link" },
    { "\033Pdevice\033\\x", "x" },
    { "\033(Bx\0337y\033cz", "xyz" },
    { "x\033", "x" },
    { "x\033[", "x" },
    { "x\033[31", "x" },
    { "x\033]never ends", "x" },
    { "\033\033[31mx", "x" },
    { "\302\23331mx", "x" },             /* CSI as one character */
    { "\302\2350;title\302\234x", "x" }, /* OSC and ST as such */
    { "a\bb\ac\177d\rE", "abcdE" },
    { "\u00e9\u2501\U0001f600", "\u00e9\u2501\U0001f600" },
    { "\xff\xfe\x80", "???" },
    { "\xc3", "?" },
    { "\xe2\x82", "??" },
    { "\xed\xa0\x80", "???" },      /* a surrogate */
    { "\xc0\x80\xf5\x80", "????" }, /* overlong, too large */
    { "\x9b"
      "31mx",
      "?31mx" },
};

START_TEST(plain)
{
    char text[64];

    strcpy(text, plain_rows[_i].foreign);
    text_make_plain(text);
    ck_assert_str_eq(text, plain_rows[_i].plain);
}
END_TEST

/* Whatever comes: no control character is left, and a second time changes nothing. */
START_TEST(plain_always)
{
    static const char alphabet[] = "\033\033[]m;0\a\\x\302\233\234\235\220\377\303\251\r\b\t P";
    uint64_t seed = (uint64_t)_i;

    for (int turn = 0; turn < 2000; turn++) {
        char text[64], again[64];
        size_t n = random_below(&seed, sizeof text);

        for (size_t i = 0; i < n; i++)
            text[i] = _i % 2 ? alphabet[random_below(&seed, sizeof alphabet - 1)]
                             : (char)(1 + random_below(&seed, 255));
        text[n] = '\0';
        text_make_plain(text);
        ck_assert_uint_le(strlen(text), n);
        for (const char *c = text; *c; c++) {
            ck_assert(*c == '\t' || (unsigned char)*c >= 0x20);
            ck_assert(*c != 0x7f);
            ck_assert((unsigned char)*c != 0xc2 || (unsigned char)c[1] >= 0xa0);
        }
        strcpy(again, text);
        text_make_plain(again);
        ck_assert_str_eq(again, text);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, nearest, 0, sizeof nearest_rows / sizeof *nearest_rows);
    tcase_add_loop_test(tc, duration, 0, sizeof duration_rows / sizeof *duration_rows);
    tcase_add_loop_test(tc, range, 0, 111);
    tcase_add_test(tc, grouped);
    tcase_add_test(tc, control);
    tcase_add_loop_test(tc, plain, 0, sizeof plain_rows / sizeof *plain_rows);
    tcase_add_loop_test(tc, plain_always, 0, 4);
}

SUITE_MAIN("text", add_tests)
