/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c - find this machine's source addresses of the routes to the nodes */
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

/* DISCARD_PORT: port to which a socket is connected to find a route; nothing is sent to it. */
enum { MAX_INTERFACES = 256, DISCARD_PORT = 9 };

static const int64_t resolve_ns = 3 * CLOCK_S; /* time limit for resolving all names */

/* The addresses found so far, without duplicates. */
struct found {
    char (*ret)[LISTENERS_ADDRESS];
    int n;
};

/* Add an address that the driver may listen on, unless it is there already or the list is full. */
static void add(struct found *f, const char *address)
{
    for (int i = 0; i < f->n; i++)
        if (strcmp(f->ret[i], address) == 0)
            return;
    if (f->n < HTTP_MAX_BASES)
        (void)snprintf(f->ret[f->n++], LISTENERS_ADDRESS, "%s", address);
}

/* Add the source address that the kernel would use for packets to `to`.  Return whether there is a
 * usable one.  Nothing is sent.  For IPv6, prefer a public to a temporary address, which lasts only
 * a few days (RFC 8981): a job may last longer.
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

/* Return the name or address by which ssh would reach a node, borrowed from h, never NULL. */
static const char *name_of(const struct job_host *h)
{
    return h->address && strcmp(h->address, "auto") != 0 ? h->address : h->host;
}

/* ---- names ---- */

/* A batch of names that are resolved at the same time. */
struct lookup {
    struct lookup *next;
    struct gaicb **query; /* [n] pointers into q */
    size_t n;
    struct gaicb q[];
};

/* Abandoned lookups: the C library may still write to them, even shortly after they end.  They are
 * never freed.
 */
static struct lookup *under_way;

/* Allocate a lookup of n names for one address family, without starting it.  The names are
 * borrowed.  Return NULL without memory; free the result with forget().
 */
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

/* Cancel a name lookup and free it.  If the C library may still write to it, keep it in under_way
 * instead.
 */
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

/* Block until all names of the lookup are resolved or have failed, or until the deadline. */
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

/* Add the routes to the names that were resolved.  Move the names that gave no route to the front
 * of name[], and return their number.
 */
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

/* Resolve n names at the same time and add the routes of one address family to them, IPv4 if v4,
 * else IPv6.  Move the names that gave no route to the front of name[], and return their number.
 * Blocks until the deadline at most.
 */
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

/* Resolve n names and add the routes to them.  Return how many names gave no route.  IPv6 is looked
 * up only for names without an IPv4 route, so that a name server that does not answer IPv6 queries
 * delays no other name.  Blocks for resolve_ns at most.
 */
static int add_names(struct found *f, const char **name, size_t n)
{
    int64_t deadline_ns = clock_now_ns() + resolve_ns;

    n = add_family(f, name, n, true, deadline_ns);
    if (n && clock_now_ns() < deadline_ns)
        n = add_family(f, name, n, false, deadline_ns);
    return (int)n;
}

/* ---- choosing ---- */

/* Check whether an interface address may be used.  It must match the user's request ("auto", or the
 * name, address or subnet of an interface) and be neither loopback nor IPv6 link-local.  "auto"
 * also excludes IPv4 link-local addresses and virtual interfaces.
 */
static bool is_open(const struct interface *o, const char *allowed)
{
    bool any = strcmp(allowed, "auto") == 0, near;
    struct ip a;

    if (o->loopback || !ip_parse(o->address, &a))
        return false;
    near = ip_is_link_local(&a);
    return (any ? !near && !o->is_virtual : ip_is_v4(&a) || !near) &&
           networks_allow(allowed, o->name, o->address, o->prefix);
}

/* Add this machine's addresses that match the user's request, IPv4 addresses first.  "auto" matches
 * every address that other machines could reach.  Return 0 or a negative error.
 */
static int add_own(struct found *f, const char *allowed, struct eddis_error *err)
{
    struct interface *list = calloc(MAX_INTERFACES, sizeof *list);
    int n = list ? interfaces_list(list, MAX_INTERFACES, err)
                 : eddis_fail(err, -ENOMEM, "no memory for the network interfaces");

    for (int six = 0; six < 2; six++)
        for (int i = 0; i < n; i++)
            if ((strchr(list[i].address, ':') != NULL) == six && is_open(&list[i], allowed))
                add(f, list[i].address);
    free(list);
    return n < 0 ? n : 0;
}

/* Add the source addresses of the routes to all nodes other than this machine.  Return the number
 * of nodes without a usable route; -ENOMEM without memory.
 */
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

/* Check whether every node of the job is this machine. */
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
    const char *allowed = job->communication.interface;
    struct found f = { .ret = ret };
    int rc = 0;

    if (all_here(job)) {
        add(&f, "127.0.0.1");
        return f.n;
    }
    if (strcmp(allowed, "auto") != 0)
        rc = add_own(&f, allowed, err);
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
