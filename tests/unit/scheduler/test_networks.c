/* SPDX-License-Identifier: Apache-2.0 */
/* test_networks.c - tests of scheduler/networks.h and network_checks.h */
#include "scheduler/networks.h"

#include "scheduler/network_checks.h"

#include "lib/base/random.h"
#include "suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = 6, MAX_ADDRESSES = 8 };

/* A cluster in a line: nodes are separated by ';', addresses by ' ', each "interface=a.b.c.d/p" and
 * perhaps ":speed", "v" for virtual and "u" for one that Open MPI cannot use; "<" before one: the
 * agent came by it.
 */
struct cluster {
    char text[1024];
    struct network_node node[MAX_NODES];
    struct network_address address[MAX_NODES][MAX_ADDRESSES];
    char names[MAX_NODES][16];
    int n;
};

static void read_address(struct network_node *node, struct network_address *a, char *word)
{
    bool came = *word == '<';
    char *equals = strchr(word, '='), *slash = strchr(word, '/'), *end = NULL;

    word += came;
    *equals = *slash = '\0';
    a->interface = word;
    a->address = equals + 1;
    a->prefix = (int)strtol(slash + 1, &end, 10);
    if (*end == ':')
        a->speed_mbit = strtol(end + 1, &end, 10);
    a->is_virtual = *end == 'v';
    a->unfit = *end == 'u' ? "it is not to be used" : NULL;
    if (came)
        node->came_from = a->address;
}

static void read_cluster(const char *line, struct cluster *c)
{
    char *outer = NULL, *inner = NULL;

    memset(c, 0, sizeof *c);
    (void)snprintf(c->text, sizeof c->text, "%s", line);
    for (char *node = strtok_r(c->text, ";", &outer); node; node = strtok_r(NULL, ";", &outer)) {
        struct network_node *w = &c->node[c->n];

        (void)snprintf(c->names[c->n], sizeof c->names[0], "c%02d", c->n + 1);
        w->name = c->names[c->n];
        w->address = c->address[c->n];
        for (char *a = strtok_r(node, " ", &inner); a; a = strtok_r(NULL, " ", &inner))
            read_address(w, &c->address[c->n][w->n_addresses++], a);
        c->n++;
    }
}

static const struct {
    const char *line, *wanted, *found; /* subnets, best first; "" none */
    const char *dropped;               /* is part of what was left out; NULL: nothing was */
} rows[] = {
    { "eth0=10.1.0.1/24", "auto", "127.0.0.0/8 ", NULL },
    { "", "auto", "127.0.0.0/8 ", NULL },
    { "eth0=10.1.0.1/24;eth0=10.1.0.2/24", "auto", "10.1.0.0/24 ", NULL },
    /* matched by subnet, whatever the names are */
    { "eth0=10.1.0.1/24 eth1=10.2.0.1/24;eth1=10.1.0.2/24 eth0=10.2.0.2/24", "auto",
      "10.1.0.0/24 10.2.0.0/24 ", NULL },
    /* bridges of containers are on several nodes; loopback and link-local are nobody's */
    { "docker0=172.17.0.1/16v eth0=10.1.0.1/24;eth0=10.1.0.2/24 docker0=172.17.0.1/16v", "auto",
      "10.1.0.0/24 ", "172.17.0.0/16: 172.17.0.1 is on c01 and on c02" },
    { "lo=127.0.0.1/8 eth0=169.254.1.1/16 eth1=10.1.0.1/24;eth0=169.254.1.2/16 eth1=10.1.0.2/24",
      "auto", "10.1.0.0/24 ", NULL },
    /* IPv6, which is as good as IPv4 where nothing else tells them apart, but comes behind it */
    { "eth0=fd00::1/64;eth1=fd00::2/64", "auto", "fd00::/64 ", NULL },
    { "eth0=fd00::1/64 eth1=10.1.0.1/24;eth0=fd00::2/64 eth1=10.1.0.2/24", "auto",
      "10.1.0.0/24 fd00::/64 ", NULL },
    { "<eth0=fd00::1/64 eth0=10.1.0.1/24;<eth0=fd00::2/64 eth0=10.1.0.2/24", "auto",
      "10.1.0.0/24 fd00::/64 ", NULL },
    { "<eth0=fd00::1/64 eth1=10.1.0.1/24;<eth0=fd00::2/64 eth1=10.1.0.2/24", "auto",
      "fd00::/64 10.1.0.0/24 ", NULL },
    { "a=fd00::1/64:9000 b=10.1.0.1/24:1000;a=fd00::2/64:9000 b=10.1.0.2/24:1000", "auto",
      "fd00::/64 10.1.0.0/24 ", NULL },
    { "a=10.1.0.1/24 a=fd00::1/64;a=10.2.0.2/24 a=fd00::2/64", "auto", "fd00::/64 ",
      "10.1.0.0/24: c02 has no address of its own in it" },
    { "<a=10.1.0.1/24 a=fd00::1/64;<a=10.2.0.2/24 a=fd00::2/64", "auto", "10.0.0.0/14 fd00::/64 ",
      NULL },
    { "lo=::1/128 a=fe80::1/64 a=fd00::1/64;lo=::1/128 a=fe80::2/64 a=fd00::2/64", "auto",
      "fd00::/64 ", NULL },
    { "a=fe80::1/64;a=fe80::2/64", "auto", "", NULL },
    { "a=ff02::1/64 a=::/64;a=ff02::2/64 a=::3/64", "auto", "", NULL },
    { "d=fd01::1/64v a=fd00::1/64;d=fd01::1/64v a=fd00::2/64", "auto", "fd00::/64 ",
      "fd01::/64: fd01::1 is on c01 and on c02" },
    { "a=fd00::1/64 b=fd01::1/60;a=fd00::2/64 b=fd01::2/60", "fd01::/32", "fd01::/60 ",
      "fd00::/64: is not what" },
    { "a=fd00::1/64 b=fd01::1/60;a=fd00::2/64 b=fd01::2/60", "FD01:0::2", "fd01::/60 ",
      "fd00::/64: is not what" },
    /* as DHCPv6 gives them, and racks */
    { "<a=fd00:7::1/128;<a=fd00:7::2/128", "auto", "fd00:7::/126 ", "fd00:7::1/128: c02" },
    { "<a=fd00:0:1::1/64;<a=fd00:0:2::1/64", "auto", "fd00::/46 ", "fd00:0:1::/64: c02" },
    { "<a=fd00:0:1::1/64;<b=10.1.0.1/24", "auto", "", NULL },
    { "<a=fd00:0:1::1/64;<a=fd00:0:2::1/64u", "auto", "", NULL },
    /* what Open MPI cannot use */
    { "a=fd00::1/64 a=10.1.0.1/24;a=fd00::2/64u a=10.1.0.2/24", "auto", "10.1.0.0/24 ",
      "fd00::/64: c02, a: it is not to be used" },
    { "a=fd00::1/64u;a=fd00::2/64", "auto", "", NULL },
    { "a=fd00::1/64u;a=fd00::1/64u", "auto", "127.0.0.0/8 ", NULL },
    /* one node is not in it */
    { "ib0=10.9.0.1/24 eth0=10.1.0.1/24;eth0=10.1.0.2/24;ib0=10.9.0.3/24 eth0=10.1.0.3/24", "auto",
      "10.1.0.0/24 ", "10.9.0.0/24: c02 has no address of its own in it" },
    /* the one by which the agents came, else the faster, else the smaller; real before virtual */
    { "ib0=10.9.0.1/24:100000 <eth0=10.1.0.1/24:1000;ib0=10.9.0.2/24:100000 "
      "<eth0=10.1.0.2/24:1000",
      "auto", "10.1.0.0/24 10.9.0.0/24 ", NULL },
    { "eth0=10.1.0.1/24:1000 ib0=10.9.0.1/24:100000;eth0=10.1.0.2/24:1000 ib0=10.9.0.2/24:100000",
      "auto", "10.9.0.0/24 10.1.0.0/24 ", NULL },
    { "a=10.1.0.1/24:9000 b=10.9.0.1/24:1000;a=10.1.0.2/24:10 b=10.9.0.2/24:1000", "auto",
      "10.9.0.0/24 10.1.0.0/24 ", NULL },
    { "a=10.1.0.1/16 b=10.9.0.1/24;a=10.1.0.2/16 b=10.9.0.2/24", "auto", "10.9.0.0/24 10.1.0.0/16 ",
      NULL },
    { "a=10.1.0.1/24:9000v b=10.9.0.1/24;a=10.1.0.2/24:9000 b=10.9.0.2/24", "auto",
      "10.9.0.0/24 10.1.0.0/24 ", NULL },
    /* the user's wish: a name, an address, a network, several */
    { "a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.2/24 b=10.9.0.2/24", "b", "10.9.0.0/24 ",
      "10.1.0.0/24: is not what" },
    { "a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.2/24 x=10.9.0.2/24", "x", "10.9.0.0/24 ",
      "10.1.0.0/24: is not what" },
    { "a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.2/24 b=10.9.0.2/24", "10.9.0.0/16", "10.9.0.0/24 ",
      "10.1.0.0/24: is not what" },
    { "a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.2/24 b=10.9.0.2/24", "10.9.0.2", "10.9.0.0/24 ",
      "10.1.0.0/24: is not what" },
    { "a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.2/24 b=10.9.0.2/24", "b,10.1.0.0/24",
      "10.1.0.0/24 10.9.0.0/24 ", NULL },
    { "a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.2/24 b=10.9.0.2/24", "ib0", "", NULL },
    { "a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.2/24", "b", "", NULL },
    /* racks with a router between them */
    { "<a=10.1.0.1/24;<a=10.1.1.2/24;<a=10.1.7.3/24", "auto", "10.1.0.0/21 ", "10.1.0.0/24" },
    { "<a=10.1.0.1/24;<a=172.16.0.1/24", "auto", "", NULL },
    { "a=10.1.0.1/24;<a=10.1.1.2/24", "auto", "", NULL },
    /* one machine under two names, with and without an address */
    { "a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.1/24 b=10.9.0.1/24", "auto", "127.0.0.0/8 ", NULL },
    { "<lo=127.0.0.1/8;<lo=127.0.0.1/8", "auto", "127.0.0.0/8 ", NULL },
    /* nothing, and nonsense */
    { "lo=127.0.0.1/8;a=10.1.0.1/24", "auto", "", NULL },
    { "a=10.1.0.1/24;a=10.2.0.1/24", "auto", "", NULL },
    { "a=hello/24 b=10.1.0.1/0 c=0.0.0.0/8 d=224.0.0.1/4;a=hello/24 b=10.1.0.2/99", "auto", "",
      NULL },
    { "a=fd00::1/0 b=fd00::1/129;a=fd00::2/0 b=fd00::2/129", "auto", "", NULL },
};

START_TEST(row)
{
    struct cluster c;
    struct networks s = { 0 };
    struct eddis_error err = { 0 };
    char found[512] = "";
    bool seen = false;
    int rc;

    read_cluster(rows[_i].line, &c);
    rc = networks_find(c.node, c.n ? c.n : 1, rows[_i].wanted, &s, &err);
    ck_assert_int_eq(rc, rows[_i].found[0] ? 0 : -ENETUNREACH);
    for (int i = 0; i < s.n; i++) {
        strcat(found, s.network[i].subnet);
        strcat(found, " ");
    }
    ck_assert_str_eq(found, rows[_i].found);
    for (size_t i = 0; i < s.dropped.n; i++)
        seen |= rows[_i].dropped && strstr(s.dropped.item[i], rows[_i].dropped);
    ck_assert_msg(seen == (rows[_i].dropped != NULL), "%s", s.dropped.n ? s.dropped.item[0] : "");
    networks_fini(&s);
}
END_TEST

START_TEST(sentences)
{
    struct cluster c;
    struct networks s;
    struct eddis_error err = { 0 };

    read_cluster("a=10.1.0.1/24 b=10.9.0.1/24;a=10.1.0.2/24;x=10.8.0.3/24", &c);
    ck_assert_int_eq(networks_find(c.node, c.n, "auto", &s, &err), -ENETUNREACH);
    ck_assert_str_eq(
        err.text,
        "no network connects all 3 nodes: c01 has 10.1.0.1/24, 10.9.0.1/24; c03 has 10.8.0.3/24");
    ck_assert_int_eq(networks_find(c.node, 2, "ib0", &s, &err), -ENETUNREACH);
    ck_assert_str_eq(err.text,
                     "communication.interface \"ib0\" matches no network that connects all 2 "
                     "nodes: c01 has 10.1.0.1/24, 10.9.0.1/24; c02 has 10.1.0.2/24");
    read_cluster("a=10.1.0.1/24;lo=127.0.0.1/8", &c);
    ck_assert_int_eq(networks_find(c.node, 2, "auto", &s, &err), -ENETUNREACH);
    ck_assert_str_eq(
        err.text,
        "no network connects all 2 nodes: c01 has 10.1.0.1/24; c02 has no address but loopback");
    read_cluster("a=fd00::1/64;a=fd00::2/64u", &c);
    ck_assert_int_eq(networks_find(c.node, 2, "auto", &s, &err), -ENETUNREACH);
    ck_assert_str_eq(err.text, "no network connects all 2 nodes: c01 has fd00::1/64; c02 has "
                               "fd00::2/64; fd00::/64 on c02, a: it is not to be used");
}
END_TEST

/* ---- random clusters, held against the words of the header ---- */

struct random_cluster {
    struct network_node node[MAX_NODES];
    struct network_address address[MAX_NODES][MAX_ADDRESSES];
    char text[MAX_NODES][MAX_ADDRESSES][16], from[MAX_NODES][16];
    int n;
};

static void random_cluster(uint64_t *seed, struct random_cluster *c)
{
    static const char *const name[] = { "eth0", "eth1", "ib0", "docker0" };

    memset(c, 0, sizeof *c);
    c->n = 2 + (int)random_below(seed, MAX_NODES - 1);
    for (int i = 0; i < c->n; i++) {
        int n = (int)random_below(seed, MAX_ADDRESSES);

        c->node[i] =
            (struct network_node){ .name = "c", .address = c->address[i], .n_addresses = n };
        for (int k = 0; k < n; k++) {
            static const char *const net[] = { "10.1.0", "10.1.1", "10.2.0", "127.0.0",
                                               "169.254.3" };

            /* few hosts in few nets, so that everything happens */
            (void)snprintf(c->text[i][k], 16, "%s.%d", net[random_below(seed, 5)],
                           1 + (int)random_below(seed, 9));
            c->address[i][k] = (struct network_address){
                .interface = name[random_below(seed, 4)],
                .address = c->text[i][k],
                .prefix = random_below(seed, 4) ? 24 : 16,
                .speed_mbit = (int64_t)random_below(seed, 3) * 1000,
                .is_virtual = random_below(seed, 4) == 0,
            };
        }
        if (n && random_below(seed, 2)) {
            strcpy(c->from[i], c->text[i][random_below(seed, (uint64_t)n)]);
            c->node[i].came_from = c->from[i];
        }
    }
}

static uint32_t number(const char *address)
{
    struct in_addr a = { 0 };

    ck_assert_int_eq(inet_pton(AF_INET, address, &a), 1);
    return ntohl(a.s_addr);
}

static uint32_t masked(uint32_t a, int prefix)
{
    return a & ~(prefix == 32 ? 0 : UINT32_MAX >> prefix);
}

static bool has(const struct network_node *w, uint32_t address)
{
    for (int i = 0; i < w->n_addresses; i++)
        if (number(w->address[i].address) == address)
            return true;
    return false;
}

/* Of this node alone, and good for anything. */
static bool own(const struct random_cluster *c, int node, uint32_t address)
{
    for (int i = 0; i < c->n; i++)
        if (i != node && has(&c->node[i], address))
            return false;
    return address >> 24 != 127 && address >> 16 != 0xa9fe && has(&c->node[node], address);
}

static bool in_subnet(const char *subnet, uint32_t address)
{
    char text[24];
    int prefix = atoi(strchr(subnet, '/') + 1);

    (void)snprintf(text, sizeof text, "%.*s", (int)(strchr(subnet, '/') - subnet), subnet);
    return number(text) == masked(address, prefix);
}

static void check_candidate(const struct random_cluster *c, const struct network_candidate *w)
{
    int came = 0;

    for (int i = 0; i < c->n; i++) {
        uint32_t a = number(w->address[i]);

        ck_assert(own(c, i, a));
        ck_assert(in_subnet(w->subnet, a));
        came += c->from[i][0] && number(c->from[i]) == a;
    }
    ck_assert_int_eq(w->n_came, came);
}

/* Subnets of the first node's addresses in which all have an address of their own. */
static int brute_force(const struct random_cluster *c, char ret[MAX_ADDRESSES][24])
{
    int n = 0;

    for (int k = 0; k < c->node[0].n_addresses; k++) {
        uint32_t a = number(c->text[0][k]), net = masked(a, c->address[0][k].prefix);
        bool good = own(c, 0, a);
        struct in_addr in = { htonl(net) };
        char subnet[24], text[16];

        (void)snprintf(subnet, sizeof subnet, "%s/%d", inet_ntop(AF_INET, &in, text, sizeof text),
                       c->address[0][k].prefix);
        for (int i = 1; i < c->n && good; i++) {
            good = false;
            for (int m = 0; m < c->node[i].n_addresses; m++)
                good |=
                    own(c, i, number(c->text[i][m])) && in_subnet(subnet, number(c->text[i][m]));
        }
        for (int i = 0; i < n; i++)
            good &= strcmp(ret[i], subnet) != 0;
        if (good)
            strcpy(ret[n++], subnet);
    }
    return n;
}

START_TEST(random_clusters)
{
    uint64_t seed = 4;
    int joined = 0, routed = 0;

    for (int round = 0; round < 5000; round++) {
        struct random_cluster c;
        struct networks s = { 0 };
        char want[MAX_ADDRESSES][24];
        int n;

        random_cluster(&seed, &c);
        n = brute_force(&c, want);
        if (networks_find(c.node, c.n, "auto", &s, NULL) < 0) {
            ck_assert_int_eq(n, 0);
            continue;
        }
        if (s.network[0].routed || strcmp(s.network[0].subnet, "127.0.0.0/8") == 0) {
            ck_assert_int_eq(s.n, 1);
            ck_assert_int_eq(n, 0);
            routed += s.network[0].routed;
            networks_fini(&s);
            continue;
        }
        ck_assert_int_eq(s.n, n);
        joined += n > 1;
        for (int i = 0; i < s.n; i++) {
            bool wanted = false;

            check_candidate(&c, &s.network[i]);
            for (int k = 0; k < n; k++)
                wanted |= strcmp(want[k], s.network[i].subnet) == 0;
            ck_assert(wanted);
            if (i)
                ck_assert_int_ge(s.network[i - 1].n_came, s.network[i].n_came);
        }
        networks_fini(&s);
    }
    ck_assert_int_gt(joined, 50); /* the clusters were not all alike */
    ck_assert_int_gt(routed, 10);
}
END_TEST

/* ---- the same in IPv6 ---- */

/* Write the address of IPv6 of which the last 32 bits are this one of IPv4, and of its kind. */
static void to_six(const char *address, char ret[static IP_CHARS])
{
    uint32_t a = number(address);

    if (a >> 24 == 127)
        (void)snprintf(ret, IP_CHARS, "::1");
    else
        (void)snprintf(ret, IP_CHARS, "%s::%x:%x", a >> 16 == 0xa9fe ? "fe80" : "fd00", a >> 16,
                       a & 0xffff);
}

struct six_texts {
    char text[MAX_NODES][MAX_ADDRESSES][IP_CHARS], from[MAX_NODES][IP_CHARS];
};

static void turn_to_six(struct random_cluster *c, struct six_texts *t)
{
    for (int i = 0; i < c->n; i++) {
        for (int k = 0; k < c->node[i].n_addresses; k++) {
            to_six(c->text[i][k], t->text[i][k]);
            c->address[i][k].address = t->text[i][k];
            c->address[i][k].prefix += 96;
        }
        if (c->from[i][0]) {
            to_six(c->from[i], t->from[i]);
            c->node[i].came_from = t->from[i];
        }
    }
}

/* Whether the one of IPv6 is what the one of IPv4 becomes. */
static bool is_turned(const struct network_candidate *six, const struct network_candidate *four,
                      int n_nodes)
{
    for (int i = 0; i < n_nodes; i++) {
        char text[IP_CHARS];

        to_six(four->address[i], text);
        if (!ip_same(six->address[i], text) || strcmp(six->interface[i], four->interface[i]) != 0)
            return false;
    }
    return atoi(strchr(six->subnet, '/') + 1) == atoi(strchr(four->subnet, '/') + 1) + 96 &&
           six->speed_mbit == four->speed_mbit && six->n_came == four->n_came && six->six &&
           !four->six && six->is_virtual == four->is_virtual && six->routed == four->routed;
}

/* What is found among addresses of IPv4 is found among those of IPv6. */
START_TEST(six_alike)
{
    uint64_t seed = 9;
    int found = 0;

    for (int round = 0; round < 3000; round++) {
        struct random_cluster c;
        struct networks four = { 0 }, six = { 0 };
        struct six_texts t;
        int rc;

        random_cluster(&seed, &c);
        rc = networks_find(c.node, c.n, "auto", &four, NULL);
        turn_to_six(&c, &t);
        ck_assert_int_eq(networks_find(c.node, c.n, "auto", &six, NULL), rc);
        ck_assert_int_eq(six.n, four.n);
        for (int i = 0; i < four.n; i++) {
            bool same = strcmp(four.network[i].subnet, "127.0.0.0/8") == 0 &&
                        strcmp(six.network[i].subnet, "127.0.0.0/8") == 0;

            for (int k = 0; k < six.n && !same; k++)
                same = is_turned(&six.network[k], &four.network[i], c.n);
            ck_assert_msg(same, "%s, first of IPv6: %s", four.network[i].subnet,
                          six.network[0].subnet);
            found++;
        }
        networks_fini(&four);
        networks_fini(&six);
    }
    ck_assert_int_gt(found, 500);
}
END_TEST

/* As many nodes as there may be, with a container bridge each. */
START_TEST(many_nodes)
{
    enum { N = 10000 };
    struct network_node *node = calloc(N, sizeof *node);
    struct network_address(*a)[3] = calloc(N, sizeof *a);
    char(*text)[3][16] = calloc(N, sizeof *text);
    struct networks s;

    for (int i = 0; i < N; i++) {
        (void)snprintf(text[i][0], 16, "10.1.%d.%d", i / 250, 1 + i % 250);
        (void)snprintf(text[i][1], 16, "172.17.0.1");
        (void)snprintf(text[i][2], 16, "192.168.%d.1", i % 256);
        for (int k = 0; k < 3; k++)
            a[i][k] = (struct network_address){ "x", text[i][k], k ? 24 : 16, 0, false };
        node[i] = (struct network_node){ "c", a[i], 3, text[i][0] };
    }
    ck_assert_int_eq(networks_find(node, N, "auto", &s, NULL), 0);
    ck_assert_int_eq(s.n, 1);
    ck_assert_str_eq(s.network[0].subnet, "10.1.0.0/16");
    ck_assert_int_eq(s.network[0].n_came, N);
    ck_assert_uint_eq(s.dropped.n, 2);
    networks_fini(&s);
    free(node);
    free(a);
    free(text);
}
END_TEST

/* ---- which links tell whether a network is what it was ---- */

enum { CHECKED = 5 };

/* Every pair of n nodes, at a speed that depends on the pair: the greater the faster. */
static struct network *all_pairs(int n)
{
    struct network *net = calloc(1, sizeof *net);

    net->n_nodes = n;
    net->host = calloc((size_t)n, sizeof *net->host);
    net->link = calloc((size_t)(n * n), sizeof *net->link);
    for (int i = 0; i < n; i++)
        ck_assert_int_gt(asprintf(&net->host[i], "n%d", i), 0);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            if (i != k)
                net->link[net->n_links++] =
                    (struct network_link){ i, k, 1e-4, 1e8 + 1e6 * (i + k) + (i > k) };
    return net;
}

/* The slowest first, each node once; the one that is left over with one that has another. */
START_TEST(checks_chosen)
{
    static const char *const host[CHECKED] = { "n4", "n0", "n1", "n2", "n3" };
    static const int rank[CHECKED] = { 0, 2, 4, 6, 8 };
    struct network *net = all_pairs(CHECKED);
    struct network_checks c[CHECKED];

    ck_assert_int_eq(network_checks_choose(net, host, rank, CHECKED, c, NULL), 0);
    ck_assert_int_eq(c[1].row[0].peer, 4); /* n0 and n1 */
    ck_assert_int_eq(c[2].row[0].peer, 2);
    ck_assert_int_eq(c[1].row[0].turn, 0);
    ck_assert(c[1].row[0].bytes_per_s == 1e8 + 1e6 && c[2].row[0].bytes_per_s == 1e8 + 1e6 + 1);
    ck_assert_int_eq(c[3].row[0].peer, 8); /* n2 and n3 */
    ck_assert_int_eq(c[3].row[0].turn, 1);
    ck_assert_int_eq(c[0].row[0].peer, 2); /* n4 with n0, which has one */
    ck_assert_int_eq(c[1].row[1].peer, 0);
    ck_assert_int_eq(c[0].row[0].turn, NETWORK_CHECK_TURNS - 1);
    ck_assert_int_eq(c[0].row[1].peer, -1);
    for (int i = 0; i < CHECKED; i++)
        ck_assert_int_eq(c[i].turns, NETWORK_CHECK_TURNS);
    network_free(net);
}
END_TEST

/* Whatever links are known: a node has one link at a time, and both ends know of it. */
START_TEST(checks_meet)
{
    enum { MANY = 40 };
    uint64_t seed = 7 + (uint64_t)_i;
    int n = 2 + _i, rank[MANY], met = 0;
    struct network *net = all_pairs(n);
    const char *host[MANY];
    struct network_checks c[MANY];

    for (int i = 0; i < n; i++) {
        host[i] = net->host[i];
        rank[i] = 3 * i;
    }
    for (int i = 0; i < net->n_links; i++)
        net->link[i].bytes_per_s =
            (seed = random_mix(seed, 1)) % 4 ? 1e6 + (double)(seed % 999) : 0;
    ck_assert_int_eq(network_checks_choose(net, host, rank, n, c, NULL), 0);
    for (int i = 0; i < n; i++)
        for (int r = 0; r < NETWORK_CHECK_ROWS; r++) {
            const struct network_check_row *x = &c[i].row[r];
            const struct network_checks *of = &c[x->peer < 0 ? i : x->peer / 3];

            if (x->peer < 0)
                continue;
            met++;
            ck_assert_int_lt(x->turn, c[i].turns);
            ck_assert(x->bytes_per_s > 0);
            ck_assert((of->row[0].peer == rank[i] && of->row[0].turn == x->turn) ||
                      (of->row[1].peer == rank[i] && of->row[1].turn == x->turn));
            ck_assert(r == 0 || x->turn != c[i].row[0].turn);
        }
    ck_assert(met > 0 || n < 4); /* of so few all links may be unknown */
    network_free(net);
}
END_TEST

/* Names that are missing, or there twice, are no use. */
START_TEST(checks_without_names)
{
    static const char *const host[][2] = { { "n0", "n9" }, { "n0", "n0" } };
    static const int rank[] = { 0, 1 };
    struct network *net = all_pairs(3);
    struct network_checks c[2];

    ck_assert_int_eq(network_checks_choose(net, host[_i], rank, 2, c, NULL), 0);
    ck_assert_int_eq(c[0].turns, 0);
    network_free(net);
}
END_TEST

static void add_tests(TCase *tc)
{
    tcase_add_test(tc, checks_chosen);
    tcase_add_loop_test(tc, checks_meet, 0, 38);
    tcase_add_loop_test(tc, checks_without_names, 0, 2);
    tcase_add_loop_test(tc, row, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tc, sentences);
    tcase_add_test(tc, random_clusters);
    tcase_add_test(tc, six_alike);
    tcase_add_test(tc, many_nodes);
}

SUITE_MAIN("networks", add_tests)
