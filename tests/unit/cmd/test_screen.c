/* SPDX-License-Identifier: Apache-2.0 */
/* test_screen.c - tests of cmd/run/view/screen.h */
#include "cmd/run/view/screen.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* A reader who does not read: it is never waited for, what has no room is refused, and what people
 * must see has room still.
 */
START_TEST(stuck)
{
    int ends[2];
    struct screen *s;
    struct eddis_error err = { 0 };
    cleanup_free char *text = malloc(SCREEN_BYTES);
    size_t taken = 0, got = 0;
    ssize_t n;

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(screen_open(ends[1], &s, NULL), 0);
    memset(text, 'x', SCREEN_BYTES);
    for (int i = 0; i < 10000; i++)
        taken += screen_write(s, text, 1000) ? 1000 : 0;
    ck_assert_uint_ge(taken, SCREEN_BYTES - 1000);
    ck_assert_uint_le(taken, 2 * SCREEN_BYTES + (1 << 20));
    ck_assert_int_eq(screen_flush(s, clock_now_ns() + 10 * CLOCK_MS, &err), -ETIMEDOUT);
    ck_assert(screen_say(s, "!", 1));
    taken++;
    while (got < taken && (n = read(ends[0], text, SCREEN_BYTES)) > 0)
        got += (size_t)n;
    ck_assert_uint_eq(got, taken);
    ck_assert(text[n - 1] == '!');
    ck_assert_int_eq(screen_flush(s, CLOCK_NEVER, NULL), 0);
    ck_assert(screen_write(s, "again", 5));
    ck_assert_int_eq(screen_flush(s, CLOCK_NEVER, NULL), 0);
    screen_close(s);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(closed_while_stuck)
{
    int ends[2];
    struct screen *s;
    cleanup_free char *text = calloc(1, SCREEN_BYTES);

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(screen_open(ends[1], &s, NULL), 0);
    ck_assert(screen_write(s, text, SCREEN_BYTES));
    screen_close(s); /* returns */
    ck_assert_int_eq(screen_open(ends[1], &s, NULL), 0);
    screen_close(s); /* also with nothing to do */
    screen_close(NULL);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

/* A reader who is gone is no error, a disk that is full is one. */
START_TEST(gone)
{
    int ends[2], full = open("/dev/full", O_WRONLY);
    struct screen *s;
    struct eddis_error err = { 0 };

    (void)signal(SIGPIPE, SIG_IGN);
    ck_assert_int_eq(pipe(ends), 0);
    close(ends[0]);
    ck_assert_int_eq(screen_open(ends[1], &s, NULL), 0);
    for (int i = 0; i < 100; i++) {
        ck_assert(screen_write(s, "nobody\n", 7));
        ck_assert_int_eq(screen_flush(s, CLOCK_NEVER, &err), 0);
    }
    screen_close(s);
    close(ends[1]);
    ck_assert_int_ge(full, 0);
    ck_assert_int_eq(screen_open(full, &s, NULL), 0);
    ck_assert(screen_write(s, "x", 1));
    ck_assert_int_eq(screen_flush(s, CLOCK_NEVER, &err), -ENOSPC);
    ck_assert_ptr_nonnull(strstr(err.text, "No space left"));
    screen_close(s);
    close(full);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, stuck);
    tcase_add_test(tc, closed_while_stuck);
    tcase_add_test(tc, gone);
}

SUITE_MAIN("screen", add_tests)
