/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/text.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <errno.h>

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

    text_strip_control(s);
    ck_assert_str_eq(s, "a?[2Jb\tc?");
    text_strip_control(c1);
    ck_assert_str_eq(c1, "a??2J\u00e9\u2501");
    ck_assert(text_is_name("job-1.x_y", 64));
    ck_assert(!text_is_name("-rf", 64));
    ck_assert(!text_is_name("a/b", 64));
    ck_assert(!text_is_name("", 64));
    ck_assert(!text_is_name("abcd", 3));
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, nearest, 0, sizeof nearest_rows / sizeof *nearest_rows);
    tcase_add_loop_test(tc, duration, 0, sizeof duration_rows / sizeof *duration_rows);
    tcase_add_test(tc, grouped);
    tcase_add_test(tc, control);
}

SUITE_MAIN("text", add_tests)
