/* SPDX-License-Identifier: Apache-2.0 */
/* test_key.c - tests of lib/http/key.h */
#include "lib/http/key.h"

#include "suite.h"

#include <string.h>

START_TEST(made)
{
    static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct http_key *a, *b;

    ck_assert_int_eq(http_key_new(&a, NULL), 0);
    ck_assert_int_eq(http_key_new(&b, NULL), 0);
    ck_assert_uint_eq(strlen(http_key_pin(a)), HTTP_PIN_CHARS);
    ck_assert_int_eq(strncmp(http_key_pin(a), "sha256//", 8), 0);
    ck_assert_uint_eq(strspn(http_key_pin(a) + 8, base64), HTTP_PIN_CHARS - 8 - 1);
    ck_assert_str_ne(http_key_pin(a), http_key_pin(b));
    ck_assert_str_ne(http_key_private(a), http_key_private(b));
    ck_assert_ptr_nonnull(strstr(http_key_private(a), "PRIVATE KEY-----"));
    ck_assert_int_eq(strncmp(http_key_certificate(a), "-----BEGIN CERTIFICATE-----", 27), 0);
    http_key_free(a);
    http_key_free(b);
    http_key_free(NULL);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, made);
}

SUITE_MAIN("key", add_tests)
