/* SPDX-License-Identifier: Apache-2.0 */
/* test_isolate.c - tests of profiler/isolate.h */
#include "profiler/isolate.h"

#include "lib/base/clock.h"
#include "lib/base/proctree.h"
#include "suite.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BIG = 40000 };

static bool no_memory; /* for a result */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
    return no_memory && size == BIG ? NULL : __real_calloc(n, size);
}

static int well(const void *task, void *result, struct eddis_error *err)
{
    puts("chatter");
    memset(result, *(const int *)task, BIG);
    return 0;
}

static int fails(const void *task, void *result, struct eddis_error *err)
{
    return eddis_fail(err, -ENODEV, "nothing there");
}

static int crashes(const void *task, void *result, struct eddis_error *err)
{
    raise(SIGILL);
    return 0;
}

static int leaves(const void *task, void *result, struct eddis_error *err)
{
    _exit(7);
}

static int hangs(const void *task, void *result, struct eddis_error *err)
{
    signal(SIGTERM, SIG_IGN);
    sleep(1000);
    return 0;
}

static const struct {
    isolate_fn fn;
    int rc;
    const char *words;
} rows[] = {
    { well, 0, "" },
    { fails, -ENODEV, "nothing there" },
    { crashes, -ECHILD, "the weighing was killed by signal 4" },
    { leaves, -ECHILD, "exit code 7" },
    { hangs, -ETIMEDOUT, "the weighing took too long" },
};

START_TEST(outcomes)
{
    int task = 5, rc;
    static char result[BIG];
    struct eddis_error err = { 0 };
    struct isolated child;
    struct proctree_process *left = NULL;

    isolate_start(&child, "weighing", rows[_i].fn, &task, BIG);
    rc = isolate_wait(&child,
                      clock_now_ns() + (rows[_i].fn == hangs ? 300 * CLOCK_MS : 60 * CLOCK_S),
                      result, &err);
    ck_assert_int_eq(rc, rows[_i].rc);
    ck_assert_msg(strstr(err.text, rows[_i].words) != NULL, "%s", err.text);
    if (rc == 0)
        ck_assert(result[0] == 5 && result[BIG - 1] == 5);
    ck_assert_int_eq(proctree_list(getpid(), &left, NULL), 0);
    free(left);
}
END_TEST

START_TEST(without_memory)
{
    static char result[BIG];
    struct eddis_error err = { 0 };
    struct isolated child;
    int task = 5;

    no_memory = true;
    isolate_start(&child, "weighing", well, &task, BIG);
    ck_assert_int_eq(isolate_wait(&child, clock_now_ns() + 60 * CLOCK_S, result, &err), -ENOMEM);
    no_memory = false;
    ck_assert_str_eq(err.text, "no memory for the result");
}
END_TEST

START_TEST(side_by_side)
{
    struct isolated child[8];
    static char result[BIG];

    for (int i = 0; i < 8; i++)
        isolate_start(&child[i], "weighing", well, &i, BIG);
    for (int i = 7; i >= 0; i--) {
        ck_assert_int_eq(isolate_wait(&child[i], clock_now_ns() + 60 * CLOCK_S, result, NULL), 0);
        ck_assert_int_eq(result[BIG / 2], i);
    }
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, outcomes, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, without_memory);
    tcase_add_test(tc, side_by_side);
}

SUITE_MAIN("isolate", add_tests)
