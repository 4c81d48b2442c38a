/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c - which of this machine's addresses the ways to the nodes begin at */
#include "addresses.h"

#include "agents/driver/start/localhost.h"

#include "lib/base/clock.h"
#include "lib/base/ip.h"
#include "lib/topo/interfaces.h"
#include "scheduler/networks.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_INTERFACES = 256, DISCARD_PORT = 9 };

static const int64_t resolve_ns = 3 * CLOCK_S; /* all names together */

struct found {
    char (*ret)[LISTENERS_ADDRESS];
    int n;
};

static void add(struct found *f, const char *address)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->ret[i], address) == 0)
            return;
    if (f->n < HTTP_MAX_BASES)
        (void)snprintf(f->ret[f->n++], LISTENERS_ADDRESS, "%s", address);
}

/* Add the address that the kernel would send from; nothing is sent.  Of IPv6 it is none of those
 * that last for some days only (RFC 8981): a job may last longer.
 */
static bool add_route(struct found *f, const struct ip *to)
{
    static const int stable = 2; /* IPV6_PREFER_SRC_PUBLIC of <linux/in6.h> */
    struct sockaddr_storage a, from = { 0 };
    socklen_t size = ip_to_socket(to, DISCARD_PORT, &a), n = sizeof from;
    int fd = socket(a.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char text[IP_CHARS];
    struct ip own;
    bool found;

    if (fd >= 0 && a.ss_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, &stable, sizeof stable);
    found = fd >= 0 && connect(fd, (struct sockaddr *)&a, size) == 0 &&
            getsockname(fd, (struct sockaddr *)&from, &n) == 0 &&
            ip_of_socket((struct sockaddr *)&from, &own) && !ip_is_unspecified(&own) &&
            (ip_is_v4(&own) || !ip_is_link_local(&own));
    if (found)
        add(f, ip_text(&own, text));
    if (fd >= 0)
        (void)close(fd);
    return found;
}

/* How a node is reached, as far as can be known here. */
static const char *name_of(const struct job_host *h)
{
    return h->address && strcmp(h->address, "auto") != 0 ? h->address : h->host;
}

/* ---- names ---- */

/* Names that are asked for at once. */
struct lookup {
    struct lookup *next;
    struct gaicb **query; /* [n] into q */
    size_t n;
    struct gaicb q[];
};

/* Those that the C library may still write to, even a moment behind their end: never freed. */
static struct lookup *under_way;

static struct lookup *new_lookup(const char *const *name, size_t n, bool v4)
{
    static const struct addrinfo four = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM }, six = {
        .ai_family = AF_INET6, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_ADDRCONFIG
    };
    struct lookup *l = calloc(1, sizeof *l + n * sizeof *l->q);

    if (l && !(l->query = calloc(n, sizeof(struct gaicb *)))) {
        free(l);
        return NULL;
    }
    for (size_t i = 0; l && i < n; i++) {
        l->q[i] = (struct gaicb){ .ar_name = name[i], .ar_request = v4 ? &four : &six };
        l->query[i] = &l->q[i];
    }
    if (l)
        l->n = n;
    return l;
}

static void forget(struct lookup *l)
{
    bool busy = false;

    for (size_t i = 0; i < l->n; i++) {
        busy |= gai_cancel(l->query[i]) == EAI_NOTCANCELED;
        if (gai_error(l->query[i]) == 0)
            freeaddrinfo(l->query[i]->ar_result);
    }
    free(l->query);
    l->query = NULL;
    if (busy) {
        l->next = under_way;
        under_way = l;
    } else {
        free(l);
    }
}

static void wait_for_names(const struct lookup *l, int64_t deadline_ns)
{
    int64_t left_ns;

    for (size_t i = 0; i < l->n; i++)
        while (gai_error(l->query[i]) == EAI_INPROGRESS &&
               (left_ns = deadline_ns - clock_now_ns()) > 0) {
            const struct timespec left = { .tv_sec = left_ns / CLOCK_S,
                                           .tv_nsec = left_ns % CLOCK_S };

            (void)gai_suspend((const struct gaicb *const *)&l->query[i], 1, &left);
        }
}

/* Add the ways to the names that were found, and keep the others.  Returns how many those are. */
static size_t add_found(struct found *f, const struct lookup *l, const char **name)
{
    size_t lost = 0;
    struct ip to;

    for (size_t i = 0; i < l->n; i++)
        if (gai_error(l->query[i]) != 0 || !ip_of_socket(l->q[i].ar_result->ai_addr, &to) ||
            !add_route(f, &to))
            name[lost++] = name[i];
    return lost;
}

/* Resolve names at once and add the ways of one family to them.  Returns how many are left. */
static size_t add_family(struct found *f, const char **name, size_t n, bool v4, int64_t deadline_ns)
{
    struct lookup *l = new_lookup(name, n, v4);

    if (l && getaddrinfo_a(GAI_NOWAIT, l->query, (int)n, NULL) == 0) {
        wait_for_names(l, deadline_ns);
        n = add_found(f, l, name);
    }
    if (l)
        forget(l);
    return n;
}

/* IPv6 is asked for only where IPv4 leads nowhere: a name server that does not answer such
 * questions delays nobody else.  Returns how many led nowhere.
 */
static int add_names(struct found *f, const char **name, size_t n)
{
    int64_t deadline_ns = clock_now_ns() + resolve_ns;

    n = add_family(f, name, n, true, deadline_ns);
    if (n && clock_now_ns() < deadline_ns)
        n = add_family(f, name, n, false, deadline_ns);
    return (int)n;
}

/* ---- all of it ---- */

/* Whether others could reach it, or the user names it. */
static bool is_open(const struct interface *o, const char *wish)
{
    bool any = strcmp(wish, "auto") == 0, near;
    struct ip a;

    if (o->loopback || !ip_parse(o->address, &a))
        return false;
    near = ip_is_link_local(&a);
    return (any ? !near && !o->is_virtual : ip_is_v4(&a) || !near) &&
           networks_wished(wish, o->name, o->address, o->prefix);
}

/* This machine's addresses that the user wishes for; "auto": all that others could reach.  Those of
 * IPv4 come first.
 */
static int add_own(struct found *f, const char *wish, struct eddis_error *err)
{
    struct interface *list = calloc(MAX_INTERFACES, sizeof *list);
    int n = list ? interfaces_list(list, MAX_INTERFACES, err)
                 : eddis_fail(err, -ENOMEM, "no memory for the network interfaces");

    for (int six = 0; six < 2; six++)
        for (int i = 0; i < n; i++)
            if ((strchr(list[i].address, ':') != NULL) == six && is_open(&list[i], wish))
                add(f, list[i].address);
    free(list);
    return n < 0 ? n : 0;
}

static int add_nodes(struct found *f, const struct job *job)
{
    const char **name = calloc(job->n_hosts, sizeof *name);
    size_t n_names = 0;
    int lost = 0;

    for (size_t i = 0; name && i < job->n_hosts; i++) {
        struct ip a;
        const char *s = name_of(&job->host[i]);

        if (localhost_is(job->host[i].host))
            continue;
        if (!ip_parse(s, &a))
            name[n_names++] = s;
        else if (!add_route(f, &a))
            lost++;
    }
    if (name && n_names)
        lost += add_names(f, name, n_names);
    free(name);
    return name ? lost : -ENOMEM;
}

static bool all_here(const struct job *job)
{
    for (size_t i = 0; i < job->n_hosts; i++)
        if (!localhost_is(job->host[i].host))
            return false;
    return true;
}

int addresses_find(const struct job *job, char ret[HTTP_MAX_BASES][LISTENERS_ADDRESS],
                   struct eddis_error *err)
{
    const char *wish = job->communication.interface;
    struct found f = { .ret = ret };
    int rc = 0;

    if (all_here(job)) {
        add(&f, "127.0.0.1");
        return f.n;
    }
    if (strcmp(wish, "auto") != 0)
        rc = add_own(&f, wish, err);
    if (rc == 0 && f.n == 0) {
        rc = add_nodes(&f, job);
        if (rc == -ENOMEM)
            return eddis_fail(err, rc, "no memory for the nodes' addresses");
        if (rc > 0)
            rc = add_own(&f, "auto", err);
    }
    if (rc == 0 && f.n == 0)
        add(&f, "127.0.0.1"); /* a machine without a network, and ssh to itself */
    return rc < 0 ? rc : f.n;
}
