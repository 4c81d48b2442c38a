/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - tests of lib/base/json.h */
#include "lib/base/json.h"

#include "lib/base/cleanup.h"
#include "suite.h"

#include <errno.h>
#include <string.h>

static const char *const bad_rows[] = {
    "",   "{",          "[1,]",    "{\"a\":1,\"a\":2}", "{\"a\":1} x",
    "\1", "{\"a\":01}", "{'a':1}", "[\"\xff\xfe\"]",    "nul",
};

START_TEST(bad)
{
    struct eddis_error err = { 0 };
    json_t *j = NULL;

    ck_assert_int_eq(json_parse(bad_rows[_i], strlen(bad_rows[_i]), "x.json", &j, &err), -EINVAL);
    ck_assert_ptr_null(j);
    ck_assert_int_eq(strncmp(err.text, "x.json", 6), 0);
}
END_TEST

START_TEST(too_deep)
{
    char text[4 * JSON_MAX_NESTING];
    json_t *j = NULL;

    memset(text, '[', sizeof text);
    ck_assert_int_eq(json_parse(text, sizeof text, "x", &j, NULL), -EINVAL);
    memset(text, ']', sizeof text);
    memset(text, '[', JSON_MAX_NESTING);
    ck_assert_int_eq(json_parse(text, 2 * JSON_MAX_NESTING, "x", &j, NULL), 0);
    json_decref(j);
    /* Brackets inside strings, also behind an escaped quote, do not count. */
    memcpy(text, "[\"\\\"", 4);
    memset(text + 4, '[', 100);
    memcpy(text + 104, "\"]", 2);
    ck_assert_int_eq(json_parse(text, 106, "x", &j, NULL), 0);
    json_decref(j);
}
END_TEST

START_TEST(members)
{
    static const char text[] =
        "{\"i\":7,\"r\":0.5,\"s\":\"abc\",\"b\":true,\"z\":null,\"a\":[1,2]}";
    struct eddis_error err = { 0 };
    cleanup_json json_t *j = NULL;
    json_t *list = NULL;
    int64_t i = -1;
    double r = -1;
    bool b = false;
    char s[4];

    ck_assert_int_eq(json_parse(text, sizeof text - 1, "x", &j, NULL), 0);
    ck_assert_int_eq(json_want_int(j, "i", 0, 7, &i, NULL), 0);
    ck_assert_int_eq(i, 7);
    ck_assert_int_eq(json_want_int(j, "i", 0, 6, &i, &err), -EINVAL);
    ck_assert_str_eq(err.text, "member \"i\" is not a whole number from 0 to 6");
    ck_assert_int_eq(json_want_int(j, "r", 0, 6, &i, NULL), -EINVAL);
    ck_assert_int_eq(json_want_int(j, "none", 0, 6, &i, &err), -EINVAL);
    ck_assert_str_eq(err.text, "member \"none\" is missing");
    ck_assert_int_eq(json_want_number(j, "r", 0, 1, &r, NULL), 0);
    ck_assert_double_eq(r, 0.5);
    ck_assert_int_eq(json_want_number(j, "i", 0, 10, &r, NULL), 0);
    ck_assert_int_eq(json_want_number(j, "s", 0, 10, &r, NULL), -EINVAL);
    ck_assert_int_eq(json_want_bool(j, "b", &b, NULL), 0);
    ck_assert(b);
    ck_assert_int_eq(json_copy_string(j, "s", s, 4, NULL), 0);
    ck_assert_str_eq(s, "abc");
    ck_assert_int_eq(json_copy_string(j, "s", s, 3, NULL), -EINVAL);
    ck_assert_int_eq(json_want_array(j, "a", 2, &list, NULL), 0);
    ck_assert_int_eq(json_want_array(j, "a", 1, &list, NULL), -EINVAL);
    ck_assert(json_has(j, "i") && !json_has(j, "z") && !json_has(j, "none"));
}
END_TEST

START_TEST(stable_text)
{
    cleanup_json json_t *j = json_pack("{s:i,s:f,s:s}", "b", 2, "a", 0.1, "c", "x");
    cleanup_free char *text = json_text(j, false);

    ck_assert_str_eq(text, "{\"a\":0.1,\"b\":2,\"c\":\"x\"}");
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, bad, 0, sizeof bad_rows / sizeof *bad_rows);
    tcase_add_test(tc, too_deep);
    tcase_add_test(tc, members);
    tcase_add_test(tc, stable_text);
}

SUITE_MAIN("json", add_tests)
