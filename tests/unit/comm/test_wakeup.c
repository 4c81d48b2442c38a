/* SPDX-License-Identifier: Apache-2.0 */
/* test_wakeup.c - waits for what comes in over TCP connections of this process. */
#include "lib/comm/wakeup.h"

#include "lib/base/clock.h"
#include "suite.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG_NS  (30 * CLOCK_S) /* ends by an arrival or the test fails */
#define SHORT_NS (5 * CLOCK_MS)

/* The two ends of a connection over the loopback interface. */
static void connect_pair(int ret[2])
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t n = sizeof to;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(listener, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&to, n), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&to, &n), 0);
    ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(ret[0], (struct sockaddr *)&to, n), 0);
    ret[1] = accept(listener, NULL, NULL);
    ck_assert_int_ge(ret[1], 0);
    (void)close(listener);
}

static void close_pair(const int end[2])
{
    (void)close(end[0]);
    (void)close(end[1]);
}

/* Until nothing is left: a new connection can be written to, which counts. */
static void drain(struct wakeup *a)
{
    while (wakeup_wait(a, SHORT_NS))
        continue;
}

/* Watched from the first miss on; what was heard of is not read, and ends no second wait. */
START_TEST(data_ends_a_wait_once)
{
    struct wakeup *a;
    char byte = 'x';
    int end[2];

    connect_pair(end);
    ck_assert_int_eq(wakeup_new(&a, NULL), 0);
    ck_assert(wakeup_missed(a));
    drain(a);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(write(end[0], &byte, 1), 1);
        ck_assert(wakeup_wait(a, LONG_NS));
        drain(a);
    }
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(read(end[1], &byte, 1), 1);
    close_pair(end);
    ck_assert(!wakeup_wait(a, SHORT_NS));
    wakeup_free(a);
}
END_TEST

static void *wake(void *arg)
{
    clock_sleep_until_ns(clock_now_ns() + SHORT_NS);
    wakeup_wake(arg);
    return NULL;
}

START_TEST(another_thread_ends_a_wait)
{
    struct wakeup *a;
    pthread_t thread;

    ck_assert_int_eq(wakeup_new(&a, NULL), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, wake, a), 0);
    ck_assert(wakeup_wait(a, LONG_NS));
    pthread_join(thread, NULL);
    wakeup_wake(a);
    ck_assert(wakeup_wait(a, LONG_NS)); /* also one before it begins */
    ck_assert(!wakeup_wait(a, SHORT_NS));
    wakeup_free(a);
}
END_TEST

/* Messages that no socket tells of; a new connection explains one miss. */
START_TEST(misses_are_believed_in_the_end)
{
    struct wakeup *a;
    int end[2], n = 0;

    ck_assert_int_eq(wakeup_new(&a, NULL), 0);
    connect_pair(end);
    for (; wakeup_missed(a); n++) {
        ck_assert_int_lt(n, 10000);
        (void)wakeup_wait(a, SHORT_NS);
    }
    ck_assert_int_gt(n, 60);
    close_pair(end);
    wakeup_free(a);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, data_ends_a_wait_once);
    tcase_add_test(tc, another_thread_ends_a_wait);
    tcase_add_test(tc, misses_are_believed_in_the_end);
}

SUITE_MAIN("wakeup", add_tests)
