/* SPDX-License-Identifier: Apache-2.0 */
/* test_base.c - the small ones: error, strbuf, random, crc32, clock, dlopen. */
#include "lib/base/clock.h"
#include "lib/base/crc32.h"
#include "lib/base/dlopen.h"
#include "lib/base/error.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "suite.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

START_TEST(error_sentences)
{
    struct eddis_error err = { 0 };

    ck_assert_int_eq(eddis_fail(&err, -ENOENT, "no host '%s'", "a\nb\033[31m"), -ENOENT);
    ck_assert_str_eq(err.text, "no host 'a b [31m'");
    ck_assert_int_eq(eddis_fail_prefix(&err, -EIO, "node %d", 3), -ENOENT);
    ck_assert_str_eq(err.text, "node 3: no host 'a b [31m'");
    ck_assert_int_eq(eddis_fail_errno(&err, -EACCES, "cannot open '%s'", "x"), -EACCES);
    ck_assert_str_eq(err.text, "cannot open 'x': Permission denied");
    ck_assert_int_eq(eddis_fail(NULL, -EINVAL, "%d", 1), -EINVAL);
}
END_TEST

START_TEST(error_long)
{
    struct eddis_error err = { 0 };
    char text[2000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    eddis_fail(&err, -EINVAL, "%s", text);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    eddis_fail_prefix(&err, -EINVAL, "%s", text);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
}
END_TEST

START_TEST(strbuf)
{
    struct strbuf b = { 0 };
    char *text;

    ck_assert_str_eq(strbuf_text(&b), "");
    for (int i = 0; i < 1000; i++)
        strbuf_addf(&b, "%d,", i);
    ck_assert_uint_eq(b.len, 10 * 2 + 90 * 3 + 900 * 4);
    ck_assert_int_eq(strncmp(strbuf_text(&b), "0,1,2,", 6), 0);
    strbuf_clear(&b);
    strbuf_add_bytes(&b, "a\0b", 3);
    text = strbuf_steal(&b);
    ck_assert_int_eq(memcmp(text, "a\0b", 4), 0);
    free(text);
    text = strbuf_steal(&b);
    ck_assert_str_eq(text, "");
    free(text);
    strbuf_add(&b, "x");
    strbuf_add_bytes(&b, "x", (size_t)-1 / 2); /* more than there is: fails, loses nothing */
    ck_assert(b.failed);
    ck_assert_ptr_null(strbuf_steal(&b));
}
END_TEST

START_TEST(checksum)
{
    uint32_t part = crc32_update(0, "1234", 4);

    ck_assert_uint_eq(crc32_update(part, "56789", 5), 0xcbf43926); /* the standard's check value */
    ck_assert_uint_eq(crc32_update(0, "", 0), 0);
}
END_TEST

/* Every length and alignment against zlib's. */
START_TEST(checksum_as_zlib)
{
    unsigned char bytes[300];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i * 31 + 7 * i + (i >> 3));
    for (size_t first = 0; first < 9; first++)
        for (size_t n = 0; n <= sizeof bytes - first; n++) {
            uint32_t start = (uint32_t)n * 0x9e3779b9U;

            ck_assert_uint_eq(crc32_update(start, bytes + first, n),
                              crc32(start, bytes + first, (uInt)n));
        }
}
END_TEST

START_TEST(stream)
{
    uint64_t s = 1234567, seen[8] = { 0 };
    char a[33], b[33];

    /* first output of splitmix64 for this seed, as its authors' code prints it */
    ck_assert(random_next(&s) == UINT64_C(6457827717110365317));
    for (int i = 0; i < 80000; i++)
        seen[random_below(&s, 8)]++;
    for (int i = 0; i < 8; i++)
        ck_assert(seen[i] > 9500 && seen[i] < 10500);
    for (int i = 0; i < 1000; i++) {
        double u = random_unit(&s);

        ck_assert(u >= 0 && u < 1);
    }
    ck_assert(random_mix(1, 2) != random_mix(2, 1));
    ck_assert_int_eq(random_hex(a, 32, NULL), 0);
    ck_assert_int_eq(random_hex(b, 32, NULL), 0);
    ck_assert_uint_eq(strspn(a, "0123456789abcdef"), 32);
    ck_assert_str_ne(a, b);
}
END_TEST

START_TEST(wall_time)
{
    char text[32];
    int64_t now = clock_now_ns();

    ck_assert(clock_after_ns(now, CLOCK_NEVER) == CLOCK_NEVER);
    ck_assert(clock_after_ns(CLOCK_NEVER - 5, 10) == CLOCK_NEVER);
    ck_assert(clock_after_ns(now, -5) == now - 5); /* what is over is no wait for ever */
    ck_assert(clock_after_ns(now, INT64_MIN) == 0);
    ck_assert(clock_of_seconds(1.5) == 3 * CLOCK_S / 2 && clock_of_seconds(-1) == 0);
    ck_assert(clock_of_seconds(NAN) == 0 && clock_of_seconds(INFINITY) == CLOCK_NEVER);
    ck_assert(clock_of_seconds(1e300) == CLOCK_NEVER &&
              clock_of_seconds(9e9) == INT64_C(9000000000000000000));
    ck_assert(clock_of_timespec(&(struct timespec){ 2, 3 }) == 2 * CLOCK_S + 3);
    ck_assert(clock_of_timespec(&(struct timespec){ -2, 3 }) == -2 * CLOCK_S + 3);
    ck_assert(clock_of_timespec(&(struct timespec){ INT64_C(10000000000), 0 }) == INT64_MAX);
    ck_assert(clock_of_timespec(&(struct timespec){ INT64_C(-100000000000), 0 }) == -INT64_MAX);
    ck_assert_int_eq(clock_poll_ms(CLOCK_NEVER), -1);
    ck_assert_int_eq(clock_poll_ms(now - 1), 0);
    clock_sleep_until_ns(now + 2 * CLOCK_MS);
    ck_assert(clock_now_ns() >= now + 2 * CLOCK_MS);
    clock_wait_until_ns(now + 4 * CLOCK_MS);
    ck_assert(clock_now_ns() >= now + 4 * CLOCK_MS);
    clock_wait_until_ns(now);
    clock_wall_text(INT64_C(1795270032345) * CLOCK_MS, text, sizeof text);
    ck_assert_str_eq(text, "2026-11-21T14:07:12.345Z");
}
END_TEST

START_TEST(libraries)
{
    static const char *const none[] = { "libno-such-thing.so.9", NULL };
    static const char *const libm[] = { "libno-such-thing.so.9", "libm.so.6", NULL };
    double (*root)(double) = NULL;
    double (*missing)(double) = (double (*)(double))1;
    const struct dlopen_symbol need[] = { { "sqrt", &root, false }, { "nope", &missing, true } };
    const struct dlopen_symbol fail[] = { { "nope", &missing, false } };

    ck_assert_int_eq(dlopen_library(none, need, 2, NULL), -ENOENT);
    ck_assert_int_eq(dlopen_library(libm, fail, 1, NULL), -ENOTSUP);
    ck_assert_int_eq(dlopen_library(libm, need, 2, NULL), 0);
    ck_assert(root(9.0) == 3.0);
    ck_assert(missing == NULL);
}
END_TEST

/* A library that is there but cannot be loaded is not missing: the loader says what is wrong. */
START_TEST(broken_library)
{
    char path[] = "/tmp/eddis-test-XXXXXX";
    const char *const broken[] = { "libno-such-thing.so.9", path, "libno-such-thing.so", NULL };
    const char *const loads[] = { path, "libm.so.6", NULL };
    double (*root)(double) = NULL;
    const struct dlopen_symbol need[] = { { "sqrt", &root, false } };
    struct eddis_error err = { 0 };
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "text", 4), 4);
    (void)close(fd);
    ck_assert_int_eq(dlopen_library(broken, need, 1, &err), -ELIBBAD);
    ck_assert_ptr_nonnull(strstr(err.text, path));
    ck_assert_ptr_nonnull(strstr(err.text, "file too short"));
    ck_assert_int_eq(dlopen_library(loads, need, 1, NULL), 0);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, error_sentences);
    tcase_add_test(tc, error_long);
    tcase_add_test(tc, strbuf);
    tcase_add_test(tc, checksum);
    tcase_add_test(tc, checksum_as_zlib);
    tcase_add_test(tc, stream);
    tcase_add_test(tc, wall_time);
    tcase_add_test(tc, libraries);
    tcase_add_test(tc, broken_library);
}

SUITE_MAIN("base", add_tests)
