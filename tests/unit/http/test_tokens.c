/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokens.c - tests of lib/http/tokens.h */
#include "lib/http/tokens.h"

#include "suite.h"

#include <stdio.h>
#include <string.h>

START_TEST(own_token)
{
    enum { N = 1000 };
    struct http_tokens *t;
    char text[HTTP_TOKEN_CHARS + 1], all[N][HTTP_TOKEN_CHARS + 1];

    ck_assert_int_eq(http_tokens_new(N, &t, NULL), 0);
    for (int i = 0; i < N; i++) {
        http_tokens_text(t, i, all[i]);
        ck_assert_uint_eq(strlen(all[i]), HTTP_TOKEN_CHARS);
        ck_assert_uint_eq(strspn(all[i], "0123456789abcdef"), HTTP_TOKEN_CHARS);
        ck_assert_int_eq(http_tokens_who(t, all[i]), i);
    }
    /* Somebody else's number on it does not make it his. */
    memcpy(text, all[7], sizeof text);
    memcpy(text, all[8], 8);
    ck_assert_int_eq(http_tokens_who(t, text), -1);
    http_tokens_free(t);
}
END_TEST

/* One digit changed anywhere, one cut off, one more. */
START_TEST(nearly_right)
{
    struct http_tokens *t;
    char text[HTTP_TOKEN_CHARS + 2] = "";

    ck_assert_int_eq(http_tokens_new(3, &t, NULL), 0);
    for (int i = 0; i < HTTP_TOKEN_CHARS; i++) {
        http_tokens_text(t, 1, text);
        text[i] = text[i] == '0' ? '1' : '0';
        ck_assert_int_ne(http_tokens_who(t, text), 1);
        text[i] = (char)0xff;
        ck_assert_int_eq(http_tokens_who(t, text), -1);
    }
    http_tokens_text(t, 1, text);
    strcat(text, "0");
    ck_assert_int_eq(http_tokens_who(t, text), -1);
    for (int i = HTTP_TOKEN_CHARS - 1; i >= 0; i--) {
        text[i] = '\0';
        ck_assert_int_eq(http_tokens_who(t, text), -1);
    }
    http_tokens_free(t);
}
END_TEST

START_TEST(no_such_number)
{
    static const char *const number[] = { "00000002", "ffffffff", "7fffffff", "80000000",
                                          "-0000001", "       1", "0000000G", "0000000A" };
    struct http_tokens *t;
    char text[HTTP_TOKEN_CHARS + 1];

    ck_assert_int_eq(http_tokens_new(2, &t, NULL), 0);
    http_tokens_text(t, 1, text);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        memcpy(text, number[i], 8);
        ck_assert_int_eq(http_tokens_who(t, text), -1);
    }
    http_tokens_free(t);
    http_tokens_free(NULL);
}
END_TEST

START_TEST(renewed)
{
    struct http_tokens *t;
    char old[HTTP_TOKEN_CHARS + 1], other[HTTP_TOKEN_CHARS + 1], text[HTTP_TOKEN_CHARS + 1];

    ck_assert_int_eq(http_tokens_new(2, &t, NULL), 0);
    http_tokens_text(t, 0, old);
    http_tokens_text(t, 1, other);
    ck_assert_int_eq(http_tokens_renew(t, 0, NULL), 0);
    http_tokens_text(t, 0, text);
    ck_assert_int_eq(http_tokens_who(t, old), -1);
    ck_assert_int_eq(http_tokens_who(t, text), 0);
    ck_assert_int_eq(http_tokens_who(t, other), 1);
    http_tokens_free(t);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, own_token);
    tcase_add_test(tc, nearly_right);
    tcase_add_test(tc, no_such_number);
    tcase_add_test(tc, renewed);
}

SUITE_MAIN("tokens", add_tests)
