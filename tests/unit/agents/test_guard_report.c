/* SPDX-License-Identifier: Apache-2.0 */
/* test_guard_report.c - tests of agents/guard/guard_report.h */
#include "agents/guard/guard.h"
#include "agents/guard/guard_report.h"

#include "lib/base/cleanup.h"
#include "suite.h"
#include "tests/unit/scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

/* Open the agent's socket and write its path to ret. */
static int open_agent(struct sockaddr_un *ret)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    (void)snprintf(ret->sun_path, sizeof ret->sun_path, "%s/agent", scratch);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)ret, sizeof *ret), 0);
    return fd;
}

/* Fill the agent's socket, as if it read nothing. */
static void fill(const struct sockaddr_un *agent)
{
    cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    while (sendto(fd, "x", 1, MSG_DONTWAIT, (const struct sockaddr *)agent, sizeof *agent) == 1)
        ;
    ck_assert_int_eq(errno, EAGAIN);
}

/* What could not be sent is in the next datagram's count. */
START_TEST(agent_is_busy)
{
    union guard_address peer = { .v4 = { .sin_family = AF_INET } };
    struct sockaddr_un agent;
    cleanup_fd int fd = open_agent(&agent);
    struct guard_refusal m;

    (void)inet_pton(AF_INET, "10.1.0.9", &peer.v4.sin_addr);
    guard_report(agent.sun_path, &peer);
    ck_assert_int_eq(recv(fd, &m, sizeof m, 0), sizeof m);
    ck_assert(m.magic == GUARD_MAGIC && m.n == 1);
    ck_assert_str_eq(m.peer, "10.1.0.9");
    fill(&agent);
    guard_report(agent.sun_path, &peer);
    guard_report(agent.sun_path, &peer);
    while (recv(fd, &m, sizeof m, 0) == 1)
        ;
    ck_assert_int_eq(errno, EAGAIN);
    guard_report(agent.sun_path, &peer);
    ck_assert_int_eq(recv(fd, &m, sizeof m, 0), sizeof m);
    ck_assert_uint_eq(m.n, 3);
}
END_TEST

static void add_tests(TCase *tc)
{
    scratch_add(tc);
    tcase_add_test(tc, agent_is_busy);
}

SUITE_MAIN("guard_report", add_tests)
