/* SPDX-License-Identifier: Apache-2.0 */
/* test_addresses.c - which addresses a machine has is not ours to say: what is found is held
 * against its interfaces.
 */
#include "agents/driver/nodes/addresses.h"

#include "lib/base/ip.h"
#include "lib/topo/interfaces.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_HOSTS = 8 };

struct fixture {
    struct job job;
    struct job_host host[MAX_HOSTS];
    char ret[HTTP_MAX_BASES][LISTENERS_ADDRESS];
};

static int ask(struct fixture *f, const char *wanted, const char *const *host)
{
    struct eddis_error err = { 0 };
    int n;

    memset(f, 0, sizeof *f);
    f->job.communication.interface = (char *)(uintptr_t)wanted;
    f->job.host = f->host;
    for (; host && host[f->job.n_hosts]; f->job.n_hosts++)
        f->host[f->job.n_hosts].host = (char *)(uintptr_t)host[f->job.n_hosts];
    n = addresses_find(&f->job, f->ret, &err);
    ck_assert_msg(n >= 1, "%s", err.text);
    ck_assert_int_le(n, HTTP_MAX_BASES);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            ck_assert_str_ne(f->ret[i], f->ret[k]);
    return n;
}

/* Writes an address of this machine that others could reach. */
static bool own_address(struct interface *ret)
{
    struct interface all[64];
    int n = interfaces_list(all, 64, NULL);

    ck_assert_int_ge(n, 0);
    for (int i = 0; i < n; i++)
        if (!all[i].loopback && !strchr(all[i].address, ':') &&
            strncmp(all[i].address, "169.254.", 8) != 0) {
            *ret = all[i];
            return true;
        }
    return false;
}

static bool is_own(const char *address)
{
    struct interface all[64];
    int n = interfaces_list(all, 64, NULL);

    for (int i = 0; i < n; i++)
        if (strcmp(all[i].address, address) == 0)
            return true;
    return false;
}

/* Nobody else needs to come in. */
START_TEST(this_machine)
{
    struct interface own;
    char name[256] = "";
    const char *const none[] = { NULL }, *const local[] = { "localhost",        name,
                                                            "127.0.0.1",        "::1",
                                                            "::ffff:127.0.0.2", NULL };
    struct fixture f;

    ck_assert_int_eq(gethostname(name, sizeof name - 1), 0);
    ck_assert_int_eq(ask(&f, "auto", none), 1);
    ck_assert_str_eq(f.ret[0], "127.0.0.1");
    ck_assert_int_eq(ask(&f, "auto", local), 1);
    ck_assert_str_eq(f.ret[0], "127.0.0.1");
    if (own_address(&own)) {
        const char *const by_address[] = { own.address, "localhost", NULL };

        ck_assert_int_eq(ask(&f, "auto", by_address), 1);
        ck_assert_str_eq(f.ret[0], "127.0.0.1");
    }
}
END_TEST

/* Names are looked up by threads of glibc's own, which the thread sanitizer does not survive. */
#ifndef __SANITIZE_THREAD__

/* A name that means nothing to us may mean something to ssh: any address of ours may be the one. */
START_TEST(unknown_names)
{
    static const char *const host[] = { "localhost", "no-such-host.invalid", "-", NULL };
    struct interface own;
    struct fixture f;
    int n = ask(&f, "auto", host);

    for (int i = 0; i < n; i++) {
        ck_assert(is_own(f.ret[i]));
        ck_assert_str_ne(f.ret[i], "0.0.0.0");
        ck_assert_int_eq(strcmp(f.ret[i], "127.0.0.1") == 0, !own_address(&own) || own.is_virtual);
    }
}
END_TEST

START_TEST(wishes)
{
    static const char *const host[] = { "no-such-host.invalid", NULL };
    struct interface own;
    struct fixture f;
    char net[64];

    if (!own_address(&own)) {
        puts("SKIP wishes: this machine has no address but of its own loop");
        return;
    }
    ask(&f, own.name, host);
    ck_assert(is_own(f.ret[0]));
    (void)snprintf(net, sizeof net, "%s/32", own.address);
    ck_assert_int_eq(ask(&f, net, host), 1);
    ck_assert_str_eq(f.ret[0], own.address);
    /* A network of the nodes that this machine is not in: as without a wish. */
    ask(&f, "203.0.113.0/24", host);
    ck_assert(is_own(f.ret[0]));
}
END_TEST

#endif

/* The way to a node outside: one address, the one that the kernel would take. */
START_TEST(route)
{
    static const char *const outside[][2] = { { "192.0.2.1", NULL }, { "2001:db8::1", NULL } };
    const char *const *host = outside[_i];
    struct sockaddr_storage to, from = { 0 };
    socklen_t size, n = sizeof from;
    char text[IP_CHARS];
    struct fixture f;
    struct ip a;
    int fd;

    ck_assert(ip_parse(host[0], &a));
    size = ip_to_socket(&a, 9, &to);
    fd = socket(to.ss_family, SOCK_DGRAM, 0);
    if (connect(fd, (struct sockaddr *)&to, size) == 0) {
        ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&from, &n), 0);
        ck_assert(ip_of_socket((struct sockaddr *)&from, &a));
        ck_assert_int_eq(ask(&f, "auto", host), 1);
        ck_assert_str_eq(f.ret[0], ip_text(&a, text));
    } else {
        printf("SKIP route: this machine has no way to %s\n", host[0]);
    }
    close(fd);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, this_machine);
#ifndef __SANITIZE_THREAD__
    tcase_add_test(tc, unknown_names);
    tcase_add_test(tc, wishes);
#endif
    tcase_add_loop_test(tc, route, 0, 2);
}

SUITE_MAIN("addresses", add_tests)
