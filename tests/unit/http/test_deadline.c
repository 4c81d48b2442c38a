/* SPDX-License-Identifier: Apache-2.0 */
/* test_deadline.c - tests of lib/http/deadline.h */
#include "lib/http/deadline.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/* A read from the other end returns 0 once the socket was shut down. */
START_TEST(late_is_shut_down_and_others_stay)
{
    struct deadlines *d;
    struct deadline *late, *never, *moved;
    int a[2], b[2], c[2];
    char byte;

    ck_assert_int_eq(deadlines_start(&d, NULL), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, b), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, c), 0);
    never = deadline_add(d, b[0], CLOCK_NEVER);
    moved = deadline_add(d, c[0], clock_now_ns() + 3600 * CLOCK_S);
    late = deadline_add(d, a[0], clock_now_ns() + 20 * CLOCK_MS);
    ck_assert_int_eq(read(a[1], &byte, 1), 0);
    deadline_set(d, moved, clock_now_ns() + 20 * CLOCK_MS);
    ck_assert_int_eq(read(c[1], &byte, 1), 0);
    ck_assert_int_lt(recv(b[1], &byte, 1, MSG_DONTWAIT), 0);
    deadline_remove(d, late);
    deadline_remove(d, moved);
    (void)never; /* left to deadlines_stop */
    deadlines_stop(d);
    deadlines_stop(NULL);
}
END_TEST

static int begun[2];
static atomic_bool woken;

static void wake_slowly(void *ctx)
{
    (void)!write(begun[1], ctx, 1);
    clock_sleep_until_ns(clock_now_ns() + 200 * CLOCK_MS);
    atomic_store(&woken, true);
}

/* One that the thread is just waking is awake, too, before the server may stop. */
START_TEST(nobody_is_asleep_behind_a_wake)
{
    struct deadlines *d;
    struct deadline *x;
    int a[2];
    char byte = 'x', answer;

    ck_assert_int_eq(pipe(begun), 0);
    ck_assert_int_eq(deadlines_start(&d, NULL), 0);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
    x = deadline_add(d, a[0], CLOCK_NEVER);
    ck_assert(deadline_hold(d, x, clock_now_ns(), wake_slowly, &byte));
    ck_assert_int_eq(read(begun[0], &answer, 1), 1);
    deadlines_wake(d);
    ck_assert(atomic_load(&woken));
    ck_assert(!deadline_hold(d, x, clock_now_ns(), wake_slowly, &byte));
    deadlines_stop(d);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, nobody_is_asleep_behind_a_wake);
    tcase_add_test(tc, late_is_shut_down_and_others_stay);
}

SUITE_MAIN("deadline", add_tests)
