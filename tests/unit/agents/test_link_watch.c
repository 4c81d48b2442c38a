/* SPDX-License-Identifier: Apache-2.0 */
/* test_link_watch.c - tests of agents/node/watch/link_watch.h: this process is the rank */
#include "agents/node/watch/link_watch.h"

#include "agents/node/watch/sock_diag.h"

#include "suite.h"

#include "lib/base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <math.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PATIENCE_S = 120, CROWD = 70000 };

static struct link_watch *watch;
static int ends[8], n_ends; /* of connections */
static int crowd;           /* connections that the machine has besides its own */

/* A connection of another process with the attribute that link_watch reads. */
struct diag_message {
    struct inet_diag_msg m;
    struct rtattr a;
    struct tcp_info info;
};

int __real_sock_diag_list(int family, int state, int attribute, sock_diag_fn *each, void *ctx);
int __wrap_sock_diag_list(int family, int state, int attribute, sock_diag_fn *each, void *ctx);

/* Replaces sock_diag_list: report the machine's own sockets, then the crowd as IPv4 connections. */
int __wrap_sock_diag_list(int family, int state, int attribute, sock_diag_fn *each, void *ctx)
{
    struct diag_message x = { .m = { .idiag_family = AF_INET, .id.idiag_dst = { 1 } },
                              .a = { .rta_type = INET_DIAG_INFO,
                                     .rta_len = RTA_LENGTH(sizeof x.info) } };
    int rc = __real_sock_diag_list(family, state, attribute, each, ctx);
    bool more = rc == 0 && family == AF_INET;

    for (int i = 0; more && i < crowd; i++) {
        x.m.idiag_inode = UINT32_MAX - (uint32_t)i;
        more = each(ctx, &x.m, (int)(sizeof x - sizeof x.m));
    }
    return rc;
}

static void set_up(void)
{
    watch = link_watch_open(2);
    ck_assert_ptr_nonnull(watch);
    link_watch_set(watch, 0, getpid());
}

static void tear_down(void)
{
    crowd = 0;
    link_watch_close(watch);
    while (n_ends > 0)
        (void)close(ends[--n_ends]);
}

static struct sockaddr_in place(const char *address, in_port_t port)
{
    struct sockaddr_in ret = { .sin_family = AF_INET, .sin_port = port };

    ck_assert_int_eq(inet_pton(AF_INET, address, &ret.sin_addr), 1);
    return ret;
}

/* A connection from 127.0.0.1 to another address of this machine, with both its ends. */
static void connect_to(const char *address, int *ret_from, int *ret_to)
{
    struct sockaddr_in there = place(address, 0), here = place("127.0.0.1", 0);
    socklen_t n = sizeof there;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&there, sizeof there), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&there, &n), 0);
    *ret_from = socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(*ret_from, (struct sockaddr *)&here, sizeof here), 0);
    ck_assert_int_eq(connect(*ret_from, (struct sockaddr *)&there, sizeof there), 0);
    *ret_to = accept(listener, NULL, NULL);
    ck_assert_int_ge(*ret_to, 0);
    ends[n_ends++] = *ret_from;
    ends[n_ends++] = *ret_to;
    (void)close(listener);
}

/* As much as it takes without waiting. */
static void fill(int fd)
{
    static const char some[64 << 10];

    while (send(fd, some, sizeof some, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        ;
    ck_assert_int_eq(errno, EAGAIN);
}

static int drain = -1; /* is read meanwhile */

static struct link_load await(bool (*there)(const struct link_load *l))
{
    int64_t until_ns = clock_after_ns(clock_now_ns(), PATIENCE_S * CLOCK_S);
    static char some[1 << 20];
    struct link_load l = link_watch_load(watch, 0);

    while (!there(&l)) {
        ck_assert_msg(clock_now_ns() < until_ns, "busy %g with %s", l.busy, l.peer);
        while (drain >= 0 && recv(drain, some, sizeof some, MSG_DONTWAIT) > 0)
            ;
        clock_sleep_until_ns(clock_after_ns(clock_now_ns(), 20 * CLOCK_MS));
        link_watch_take(watch, clock_now_ns());
        l = link_watch_load(watch, 0);
    }
    return l;
}

static bool is_busy(const struct link_load *l)
{
    return l->busy > 0.9;
}

static bool is_idle(const struct link_load *l)
{
    return l->busy < 0.1;
}

/* A way there that carries so little that it is never done with what is sent; then it is fast. */
START_TEST(busy_and_idle)
{
    unsigned slow = 20000, fast = UINT_MAX;
    struct link_load l;
    int from, to;

    connect_to("127.0.0.2", &from, &to);
    ck_assert_int_eq(setsockopt(from, SOL_SOCKET, SO_MAX_PACING_RATE, &slow, sizeof slow), 0);
    l = await(is_idle);
    drain = to;
    fill(from);
    l = await(is_busy);
    ck_assert_str_eq(l.peer, "127.0.0.2");
    ck_assert(l.bytes_per_s < 1e6);
    ck_assert(isnan(link_watch_load(watch, 1).busy)); /* it is not there */
    ck_assert_int_eq(setsockopt(from, SOL_SOCKET, SO_MAX_PACING_RATE, &fast, sizeof fast), 0);
    (void)await(is_idle);
    drain = -1;
}
END_TEST

/* Who does not read makes no link slow. */
START_TEST(unread)
{
    int from, to;

    connect_to("127.0.0.2", &from, &to);
    fill(from);
    link_watch_take(watch, clock_now_ns());
    (void)await(is_idle);
}
END_TEST

/* From an address to itself there is no link. */
START_TEST(within_the_machine)
{
    unsigned slow = 20000;
    int from, to, other_from, other_to;

    /* Of another one this rate would be a busy link. */
    connect_to("127.0.0.1", &from, &to);
    connect_to("127.0.0.2", &other_from, &other_to);
    ck_assert_int_eq(setsockopt(from, SOL_SOCKET, SO_MAX_PACING_RATE, &slow, sizeof slow), 0);
    drain = to;
    fill(from);
    (void)await(is_idle);
    for (int i = 0; i < 50; i++) {
        struct link_load l;

        clock_sleep_until_ns(clock_after_ns(clock_now_ns(), 20 * CLOCK_MS));
        link_watch_take(watch, clock_now_ns());
        l = link_watch_load(watch, 0);
        ck_assert(is_idle(&l));
    }
    drain = -1;
}
END_TEST

/* With more connections than a reading holds, those that it holds are measured nevertheless. */
START_TEST(too_many_connections)
{
    struct link_load l;
    int from, to;

    crowd = CROWD;
    connect_to("127.0.0.2", &from, &to);
    l = await(is_idle);
    ck_assert(!isnan(l.bytes_per_s));
    (void)close(from);
    (void)close(to);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, busy_and_idle);
    tcase_add_test(tc, unread);
    tcase_add_test(tc, within_the_machine);
    tcase_add_test(tc, too_many_connections);
}

SUITE_MAIN("link_watch", add_tests)
