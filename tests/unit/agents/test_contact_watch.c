/* SPDX-License-Identifier: Apache-2.0 */
/* test_contact_watch.c - who listens on a port, and who has trained alone */
#include "agents/node/watch/contact_watch.h"

#include "suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket of a free port of this family, which is bound. */
static int bound(int family, int *ret_port)
{
    struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr *a = family == AF_INET ? (struct sockaddr *)&a4 : (struct sockaddr *)&a6;
    socklen_t n = family == AF_INET ? sizeof a4 : sizeof a6;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, a, n) < 0)
        return -1;
    ck_assert_int_eq(getsockname(fd, a, &n), 0);
    *ret_port = ntohs(family == AF_INET ? a4.sin_port : a6.sin6_port);
    return fd;
}

/* Whether somebody listens there, and whether it is this process. */
static bool is_listened_on(int port, bool *ret_self)
{
    struct contact_watch_listeners l;
    struct contact_watch_rank r = { .trains = true };

    ck_assert_int_eq(contact_watch_find_listeners(&l), 0);
    contact_watch_inspect_rank(&r, getpid(), &l);
    *ret_self = r.joined;
    return contact_watch_is_listened_on(&l, port);
}

START_TEST(listened_on)
{
    static const int family[] = { AF_INET, AF_INET6 };
    struct contact_watch_listeners l;
    int port = 0, fd = bound(family[_i], &port);
    bool self;

    if (fd < 0) /* a machine without IPv6 */
        return;
    if (contact_watch_find_listeners(&l) < 0) { /* a kernel that does not tell */
        (void)close(fd);
        return;
    }
    ck_assert(!is_listened_on(port, &self) && !self);
    ck_assert_int_eq(listen(fd, 1), 0);
    ck_assert(is_listened_on(port, &self) && self);
    (void)close(fd);
    ck_assert(!is_listened_on(port, &self) && !self);
}
END_TEST

/* Few looks at the port are no proof, of the first rank; others are known by what they hold. */
START_TEST(alone)
{
    const struct contact_watch_rank trains = { .trains = true }, joined = { true, true };
    const struct contact_watch_rank other = { .trains = false };
    struct contact_watch m = { .port = 1, .polls = 100 };

    ck_assert(contact_watch_was_alone(&m, &trains, true));
    ck_assert(!contact_watch_was_alone(&m, &joined, true));
    ck_assert(!contact_watch_was_alone(&m, &other, false));
    m.listened = true;
    ck_assert(!contact_watch_was_alone(&m, &trains, true));
    ck_assert(contact_watch_was_alone(&m, &trains, false));
    m = (struct contact_watch){ .port = 1, .polls = 1 };
    ck_assert(!contact_watch_was_alone(&m, &trains, true));
}
END_TEST

/* This program has neither a framework nor MPI in its memory.  Without a list nobody can tell. */
START_TEST(memory)
{
    struct contact_watch_rank r = { .trains = false };

    contact_watch_inspect_rank(&r, getpid(), NULL);
    ck_assert(!r.trains && !r.joined);
    contact_watch_inspect_rank(&r, -1, NULL);
    ck_assert(!r.trains && !r.joined);
    r.trains = true;
    contact_watch_inspect_rank(&r, getpid(), NULL);
    ck_assert(r.joined);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_loop_test(tc, listened_on, 0, 2);
    tcase_add_test(tc, alone);
    tcase_add_test(tc, memory);
}

SUITE_MAIN("meeting", add_tests)
