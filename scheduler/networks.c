/* SPDX-License-Identifier: Apache-2.0 */
/* networks.c - finds the networks that all nodes of a job are on, and ranks them */
#include "networks.h"

#include "lib/base/ip.h"
#include "lib/base/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the lists; shortest prefix, in bits, of a routed network; speed of loopback (unknown).
 */
enum { MAX_CANDIDATES = 64, MAX_DROPPED = 64, SHORTEST_PREFIX = 8 };

/* An address and the node that has it. */
struct place {
    struct ip address;
    int node, at; /* the node's index, and the index into its addresses */
    bool several; /* another node has the same address */
    int other;    /* index of such a node, if `several` */
};

struct search {
    const struct network_node *node;
    int n_nodes;
    const char *allowed;
    struct place *place; /* [n_places] usable addresses, by node */
    int n_places;
    int *first; /* [n_nodes + 1]: where a node's places begin */
    struct networks *ret;
    char unfit[256]; /* first address that Open MPI cannot use, and why; "": none */
};

/* Parse an address into *ret. Return false if text is NULL or no address. */
static bool parse(const char *text, struct ip *ret)
{
    return text && ip_parse(text, ret);
}

/* ---- communication.interface ---- */

/* Check whether one word of communication.interface means this interface or address. The word is an
 * interface's name, an address or a network.
 */
static bool word_fits(const char *word, const char *interface, const struct ip *address, int prefix)
{
    const char *slash = strchr(word, '/');
    char text[64];
    struct ip net;
    int bits = prefix; /* an address stands for its whole subnet */

    if (strcmp(word, interface) == 0)
        return true;
    (void)snprintf(text, sizeof text, "%.*s", (int)(slash ? slash - word : (long)strlen(word)),
                   word);
    if (slash)
        bits = atoi(slash + 1);
    return parse(text, &net) && ip_same_network(&net, address, bits);
}

bool networks_allow(const char *allowed, const char *interface, const char *address, int prefix)
{
    struct ip a;

    if (strcmp(allowed, "auto") == 0)
        return true;
    if (!parse(address, &a))
        return false;
    while (*allowed) {
        size_t n = strcspn(allowed, ",");
        char word[64];

        (void)snprintf(word, sizeof word, "%.*s", (int)n, allowed);
        if (word[0] && word_fits(word, interface, &a, prefix))
            return true;
        allowed += n + (allowed[n] == ',');
    }
    return false;
}

/* ---- networks that are left out ---- */

/* Add to s->ret->dropped that a network is not used, and why (printf format), unless the same text
 * is there. Set s->failed if there is no memory.
 */
__attribute__((format(printf, 4, 5))) static void drop(struct search *s, const struct ip *address,
                                                       int prefix, const char *fmt, ...)
{
    struct strlist *l = &s->ret->dropped;
    char subnet[IP_NETWORK_CHARS], why[200], text[256];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    (void)snprintf(text, sizeof text, "%s: %s", ip_network_text(address, prefix, subnet), why);
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->item[i], text) == 0)
            return; /* recorded before */
    if (l->n < MAX_DROPPED)
        strlist_addf(l, "%s", text);
}

/* Check whether an address is unicast, and neither loopback nor link-local. */
static bool usable(const struct ip *a)
{
    return ip_is_unicast(a) && !ip_is_loopback(a) && !ip_is_link_local(a);
}

/* Order places by node, then index, for qsort. */
static int by_node(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return x->node != y->node ? (x->node < y->node ? -1 : 1) : x->at - y->at;
}

/* Order places by address, then node, then index, for qsort. */
static int by_address(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = ip_compare(&x->address, &y->address);

    return order ? order : by_node(a, b);
}

/* Mark addresses that several nodes have; p [n] must be sorted by address. */
static void mark_several(struct place *p, int n)
{
    for (int i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && ip_compare(&p[end].address, &p[i].address) == 0; end++)
            ;
        if (p[end - 1].node == p[i].node)
            continue;
        for (int k = i; k < end; k++) {
            p[k].several = true;
            p[k].other = p[k].node == p[i].node ? p[end - 1].node : p[i].node;
        }
    }
}

/* List all usable addresses in s->place, by node, and mark those of several nodes. Return 0 or
 * -ENOMEM; s owns the list.
 */
static int collect(struct search *s)
{
    int n = 0, all = 0;

    for (int i = 0; i < s->n_nodes; i++)
        all += s->node[i].n_addresses;
    s->place = calloc((size_t)all + 1, sizeof *s->place);
    s->first = calloc((size_t)s->n_nodes + 1, sizeof *s->first);
    if (!s->place || !s->first)
        return -ENOMEM;
    for (int i = 0; i < s->n_nodes; i++)
        for (int k = 0; k < s->node[i].n_addresses; k++) {
            const struct network_address *a = &s->node[i].address[k];
            struct place p = { .node = i, .at = k };

            if (parse(a->address, &p.address) && usable(&p.address) && a->prefix >= 1 &&
                a->prefix <= ip_bits(&p.address))
                s->place[n++] = p;
        }
    s->n_places = n;
    qsort(s->place, (size_t)n, sizeof *s->place, by_address);
    mark_several(s->place, n);
    qsort(s->place, (size_t)n, sizeof *s->place, by_node);
    for (int i = 0, k = 0; i <= s->n_nodes; i++) {
        while (k < n && s->place[k].node < i)
            k++;
        s->first[i] = k;
    }
    return 0;
}

/* Borrow the node's own record of an address. */
static const struct network_address *address_at(const struct search *s, const struct place *p)
{
    return &s->node[p->node].address[p->at];
}

/* ---- candidates ---- */

/* Check whether address p of a node is better than another: Open MPI can use it; or else it is not
 * virtual; or else it is faster.
 */
static bool better_place(const struct search *s, const struct place *p, const struct place *than)
{
    const struct network_address *a = address_at(s, p), *b = address_at(s, than);

    if (!a->unfit != !b->unfit)
        return b->unfit != NULL;
    if (a->is_virtual != b->is_virtual)
        return b->is_virtual;
    return a->speed_mbit > b->speed_mbit;
}

/* Borrow the best address of a node in this subnet, of those that no other node has; NULL: there is
 * none.
 */
static const struct place *place_in(const struct search *s, int node, const struct ip *net,
                                    int prefix)
{
    const struct place *best = NULL;

    for (int i = s->first[node]; i < s->first[node + 1]; i++) {
        const struct place *p = &s->place[i];

        if (!p->several && ip_same_network(&p->address, net, prefix) &&
            (!best || better_place(s, p, best)))
            best = p;
    }
    return best;
}

/* Free a candidate's arrays and zero it. */
static void candidate_free(struct network_candidate *w)
{
    free(w->address);
    free(w->interface);
    *w = (struct network_candidate){ 0 };
}

/* Allocate a candidate's arrays for n_nodes nodes. Return 0, or -ENOMEM: one array may be
 * allocated; candidate_free frees it.
 */
static int candidate_new(int n_nodes, struct network_candidate *ret)
{
    ret->address = calloc((size_t)n_nodes, sizeof *ret->address);
    ret->interface = calloc((size_t)n_nodes, sizeof *ret->interface);
    return ret->address && ret->interface ? 0 : -ENOMEM;
}

/* Borrow the node's own address from which it connected to the driver; NULL: unknown, or several
 * nodes have it.
 */
static const struct place *came_by(const struct search *s, int node)
{
    struct ip from;

    if (!parse(s->node[node].came_from, &from))
        return NULL;
    for (int i = s->first[node]; i < s->first[node + 1]; i++)
        if (ip_compare(&s->place[i].address, &from) == 0 && !s->place[i].several)
            return &s->place[i];
    return NULL;
}

/* Check whether the node of p connected to the driver from this address. If it connected over IPv6,
 * an IPv4 address of the same interface counts as well.
 */
static bool came_by_cable(const struct search *s, const struct place *p)
{
    const struct place *by = came_by(s, p->node);

    if (!by)
        return false;
    if (ip_is_v4(&by->address) || !ip_is_v4(&p->address))
        return ip_compare(&by->address, &p->address) == 0;
    return strcmp(address_at(s, by)->interface, address_at(s, p)->interface) == 0;
}

/* Enter address p of its node into candidate w, and update w's speed and properties. Call it for
 * node 0 first.
 */
static void take_place(const struct search *s, const struct place *p, struct network_candidate *w)
{
    const struct network_address *a = address_at(s, p);

    (void)ip_text(&p->address, w->address[p->node]);
    (void)snprintf(w->interface[p->node], sizeof *w->interface, "%s", a->interface);
    w->is_virtual |= a->is_virtual;
    w->six = !ip_is_v4(&p->address);
    if (p->node == 0 || a->speed_mbit < w->speed_mbit)
        w->speed_mbit = a->speed_mbit;
    w->n_came += came_by_cable(s, p);
}

/* Record that Open MPI cannot use this address of a node; keep the first such text in s->unfit. */
static void drop_unfit(struct search *s, const struct place *p, const struct ip *net, int prefix)
{
    const struct network_address *a = address_at(s, p);
    char subnet[IP_NETWORK_CHARS];

    drop(s, net, prefix, "%.60s, %s: %.120s", s->node[p->node].name, a->interface, a->unfit);
    if (!s->unfit[0])
        (void)snprintf(s->unfit, sizeof s->unfit, "%s on %.60s, %s: %.120s",
                       ip_network_text(net, prefix, subnet), s->node[p->node].name, a->interface,
                       a->unfit);
}

/* Check whether communication.interface allows this network, by the address or interface of any
 * node in it.
 */
static bool is_allowed(const struct search *s, const struct ip *net, int prefix)
{
    for (int i = 0; i < s->n_places; i++) {
        const struct network_address *a = address_at(s, &s->place[i]);

        if (ip_same_network(&s->place[i].address, net, prefix) &&
            networks_allow(s->allowed, a->interface, a->address, prefix))
            return true;
    }
    return false;
}

/* Fill candidate w with every node's address in the subnet, in a routed one with that from which it
 * connected. Return 1; 0: a node has no usable address there, which is recorded; -ENOMEM. The
 * caller owns w's arrays in each case.
 */
static int fill(struct search *s, const struct ip *net, int prefix, struct network_candidate *w)
{
    int rc = candidate_new(s->n_nodes, w);

    (void)ip_network_text(net, prefix, w->subnet);
    for (int i = 0; rc == 0 && i < s->n_nodes; i++) {
        const struct place *p = w->routed ? came_by(s, i) : place_in(s, i, net, prefix);

        if (p && !address_at(s, p)->unfit) {
            take_place(s, p, w);
            continue;
        }
        if (p)
            drop_unfit(s, p, net, prefix);
        else
            drop(s, net, prefix, "%.60s has no address of its own in it", s->node[i].name);
        return 0;
    }
    return rc < 0 ? rc : 1;
}

/* Make the subnet of address p of the first node a candidate, if all nodes are in it and the job
 * allows it. Otherwise record why not. Return 0 in both cases, or -ENOMEM.
 */
static int consider(struct search *s, const struct place *p)
{
    struct networks *r = s->ret;
    int prefix = address_at(s, p)->prefix, rc;
    struct ip net = ip_masked(&p->address, prefix);
    struct network_candidate w = { 0 };

    if (p->several) {
        drop(s, &p->address, prefix, "%s is on %.40s and on %.40s: a bridge or container network",
             address_at(s, p)->address, s->node[p->node].name, s->node[p->other].name);
        return 0;
    }
    if (!is_allowed(s, &net, prefix)) {
        drop(s, &net, prefix, "is not what communication.interface asks for");
        return 0;
    }
    rc = fill(s, &net, prefix, &w);
    for (int i = 0; i < r->n && rc == 1; i++)
        if (strcmp(r->network[i].subnet, w.subnet) == 0)
            rc = 0;
    if (rc == 1 && r->n < MAX_CANDIDATES)
        r->network[r->n++] = w;
    else
        candidate_free(&w);
    return rc < 0 ? rc : 0;
}

/* Return the prefix length of a candidate's subnet, in bits. */
static int prefix_of(const struct network_candidate *w)
{
    return atoi(strchr(w->subnet, '/') + 1);
}

/* Order candidates best first, as networks.h says, for qsort. */
static int by_merit(const void *a, const void *b)
{
    const struct network_candidate *x = a, *y = b;

    if (x->n_came != y->n_came)
        return x->n_came > y->n_came ? -1 : 1;
    if (x->is_virtual != y->is_virtual)
        return x->is_virtual ? 1 : -1;
    if (x->speed_mbit != y->speed_mbit)
        return x->speed_mbit > y->speed_mbit ? -1 : 1;
    if (x->six != y->six)
        return x->six ? 1 : -1;
    if (prefix_of(x) != prefix_of(y))
        return prefix_of(y) - prefix_of(x);
    return strcmp(x->subnet, y->subnet);
}

/* Return the number of leading bits that two addresses share; -1: one is IPv4, the other IPv6. */
static int bits_in_common(const struct ip *a, const struct ip *b)
{
    int bits = ip_is_v4(a) == ip_is_v4(b) ? ip_bits(a) : -1;

    while (bits > 0 && !ip_same_network(a, b, bits))
        bits--;
    return bits;
}

/* Check whether a routed network is to be tried: there is no candidate yet, or all candidates are
 * IPv6 while node 0 connected over IPv4, which is known to work.
 */
static bool may_be_routed(const struct search *s)
{
    const struct networks *r = s->ret;
    const struct place *by = came_by(s, 0);

    for (int i = 0; i < r->n; i++)
        if (!r->network[i].six || !by || !ip_is_v4(&by->address))
            return false;
    return r->n < MAX_CANDIDATES;
}

/* Make the smallest network that contains the addresses from which all nodes connected a candidate,
 * if communication.interface allows these addresses and its prefix has SHORTEST_PREFIX bits or
 * more. Return 0 in both cases, or -ENOMEM.
 */
static int consider_routed(struct search *s)
{
    struct networks *r = s->ret;
    const struct place *first = came_by(s, 0);
    int prefix = first ? ip_bits(&first->address) : 0, rc;
    struct network_candidate w = { .routed = true };
    struct ip net;

    for (int i = 0; i < s->n_nodes; i++) {
        const struct place *p = came_by(s, i);
        int bits;

        if (!p || !networks_allow(s->allowed, address_at(s, p)->interface,
                                  address_at(s, p)->address, address_at(s, p)->prefix))
            return 0;
        bits = bits_in_common(&first->address, &p->address);
        prefix = bits < prefix ? bits : prefix;
    }
    if (prefix < SHORTEST_PREFIX)
        return 0;
    net = ip_masked(&first->address, prefix);
    rc = fill(s, &net, prefix, &w);
    if (rc == 1)
        r->network[r->n++] = w;
    else
        candidate_free(&w);
    return rc < 0 ? rc : 0;
}

/* ---- one machine ---- */

/* Check whether all nodes connected to the driver over loopback. */
static bool all_came_by_loopback(const struct search *s)
{
    struct ip from;

    for (int i = 0; i < s->n_nodes; i++)
        if (!parse(s->node[i].came_from, &from) || !ip_is_loopback(&from))
            return false;
    return true;
}

/* Check whether all nodes are one machine under several names: they have the same addresses; or
 * none has an address, and all connected over loopback. True for one node.
 */
static bool same_machine(const struct search *s)
{
    for (int i = 0; i < s->n_places; i++)
        if (!s->place[i].several)
            return s->n_nodes == 1;
    for (int i = 1; i < s->n_nodes; i++) {
        int n = s->first[1];

        if (s->first[i + 1] - s->first[i] != n)
            return false;
        for (int k = 0; k < n; k++)
            if (ip_compare(&s->place[s->first[i] + k].address, &s->place[k].address) != 0)
                return false;
    }
    return s->n_nodes == 1 || s->n_places > 0 || all_came_by_loopback(s);
}

/* Add the loopback network as the only candidate. Return 0 or -ENOMEM. */
static int loopback(struct search *s, struct eddis_error *err)
{
    struct network_candidate w = { .subnet = "127.0.0.0/8" };

    if (candidate_new(s->n_nodes, &w) < 0) {
        candidate_free(&w);
        return eddis_fail(err, -ENOMEM, "no memory for the addresses of %d nodes", s->n_nodes);
    }
    for (int i = 0; i < s->n_nodes; i++) {
        (void)strcpy(w.address[i], "127.0.0.1");
        (void)strcpy(w.interface[i], "lo");
    }
    s->ret->network[s->ret->n++] = w;
    return 0;
}

/* ---- the search ---- */

/* Append a node's name and addresses, four at most, to b: for the error that no network fits. */
static void describe(const struct search *s, int node, struct strbuf *b)
{
    int n = 0;

    strbuf_addf(b, "%.60s has", s->node[node].name);
    for (int i = s->first[node]; i < s->first[node + 1] && n < 4; i++, n++)
        strbuf_addf(b, "%s %s/%d", n ? "," : "", address_at(s, &s->place[i])->address,
                    address_at(s, &s->place[i])->prefix);
    if (n == 0)
        strbuf_add(b, " no address but loopback");
}

/* Return the index of the first node that shares no subnet with node 0; if every node shares one,
 * the index of the last node.
 */
static int stranger(const struct search *s)
{
    for (int i = 1; i < s->n_nodes; i++) {
        bool together = false;

        for (int k = s->first[0]; k < s->first[1] && !together; k++) {
            int prefix = address_at(s, &s->place[k])->prefix;

            together = !s->place[k].several && place_in(s, i, &s->place[k].address, prefix);
        }
        if (!together)
            return i;
    }
    return s->n_nodes - 1;
}

/* Set err to the nodes and addresses that show why no network joins all nodes. Return -ENETUNREACH.
 */
static int none(const struct search *s, struct eddis_error *err)
{
    cleanup_strbuf struct strbuf b = { 0 };

    describe(s, 0, &b);
    strbuf_add(&b, "; ");
    describe(s, stranger(s), &b);
    if (s->unfit[0])
        strbuf_addf(&b, "; %s", s->unfit);
    if (strcmp(s->allowed, "auto") != 0)
        return eddis_fail(
            err, -ENETUNREACH,
            "communication.interface \"%.60s\" matches no network that connects all %d nodes: %s",
            s->allowed, s->n_nodes, strbuf_text(&b));
    return eddis_fail(err, -ENETUNREACH, "no network connects all %d nodes: %s", s->n_nodes,
                      strbuf_text(&b));
}

/* Find the candidates and fill s->ret with them, best first. Return 0; -ENETUNREACH: there is none;
 * -ENOMEM.
 */
static int find(struct search *s, struct eddis_error *err)
{
    int rc = collect(s);

    if (rc == 0 && same_machine(s))
        return loopback(s, err);
    for (int i = 0; rc == 0 && i < s->first[1]; i++)
        rc = consider(s, &s->place[i]);
    if (rc == 0 && may_be_routed(s))
        rc = consider_routed(s);
    if (rc < 0 || s->ret->dropped.failed)
        return eddis_fail(err, -ENOMEM, "no memory for the networks of %d nodes", s->n_nodes);
    if (s->ret->n == 0)
        return none(s, err);
    qsort(s->ret->network, (size_t)s->ret->n, sizeof *s->ret->network, by_merit);
    return 0;
}

int networks_find(const struct network_node *node, int n_nodes, const char *allowed,
                  struct networks *ret, struct eddis_error *err)
{
    struct networks found = { .network = calloc(MAX_CANDIDATES, sizeof *found.network) };
    struct search s = { .node = node, .n_nodes = n_nodes, .allowed = allowed, .ret = &found };
    int rc = found.network ? find(&s, err)
                           : eddis_fail(err, -ENOMEM, "no memory for the nodes' networks");

    free(s.place);
    free(s.first);
    if (rc < 0)
        networks_fini(&found);
    else
        *ret = found;
    return rc;
}

void networks_fini(struct networks *s)
{
    for (int i = 0; i < s->n; i++)
        candidate_free(&s->network[i]);
    free(s->network);
    strlist_fini(&s->dropped);
    *s = (struct networks){ 0 };
}
