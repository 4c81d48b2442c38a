/* SPDX-License-Identifier: Apache-2.0 */
/* network_checks.c - chooses a link of every node to measure again, slowest first, and its time
 * slot
 */
#include "network_checks.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Number of time slots for links between nodes that measure no other link. One more slot follows
 * for the nodes without such a link.
 */
enum { SPREAD = NETWORK_CHECK_TURNS - 1 };

/* A link with both directions measured; a and b index the job's nodes. */
struct pair {
    int a, b;
    double there, back; /* bytes a second from a to b, from b to a */
};

/* Return the bandwidth of a link's slower direction. */
static double slower(const struct pair *p)
{
    return p->there < p->back ? p->there : p->back;
}

/* Order links by the speed of their slower direction, then by nodes, for qsort. */
static int compare(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;
    double a = slower(p), b = slower(q);

    if (a < b || a > b)
        return a < b ? -1 : 1;
    return p->a != q->a ? p->a - q->a : p->b - q->b;
}

/* Fill ret [net->n_nodes] with the job's index of each node of the network; -1: it does not take
 * part. Return false if a name is missing or ambiguous.
 */
static bool number_nodes(const struct network *net, const char *const *host, int n, int *ret)
{
    int found = 0;

    for (int k = 0; net->host && k < net->n_nodes; k++) {
        int times = 0;

        ret[k] = -1;
        for (int i = 0; i < n; i++)
            if (strcmp(net->host[k], host[i]) == 0) {
                ret[k] = i;
                times++;
            }
        if (times > 1)
            return false;
        for (int j = 0; j < k; j++)
            if (ret[k] >= 0 && ret[j] == ret[k])
                return false;
        found += times;
    }
    return found == n;
}

/* Order links by their two ends, for qsort and bsearch. */
static int by_ends(const void *x, const void *y)
{
    const struct network_link *a = x, *b = y;

    return a->from != b->from ? a->from - b->from : a->to - b->to;
}

/* List the links between nodes that take part, with both directions known, in ret, slowest first.
 * link [n_links] is scratch. Return how many there are.
 */
static int list_pairs(const struct network *net, struct network_link *link, const int *number,
                      struct pair *ret)
{
    size_t links = (size_t)net->n_links;
    int n = 0;

    memcpy(link, net->link, links * sizeof *link);
    qsort(link, links, sizeof *link, by_ends);
    for (size_t i = 0; i < links; i++) {
        const struct network_link *l = &link[i], other = { .from = l->to, .to = l->from };
        const struct network_link *back = bsearch(&other, link, links, sizeof *link, by_ends);
        int a = number[l->from], b = number[l->to];

        if (a >= 0 && b > a && l->bytes_per_s > 0 && back && back->bytes_per_s > 0)
            ret[n++] = (struct pair){ a, b, l->bytes_per_s, back->bytes_per_s };
    }
    qsort(ret, (size_t)n, sizeof *ret, compare);
    return n;
}

/* Return how many links a node measures so far, 0 to 2. */
static int used(const struct network_checks *c)
{
    return (c->row[0].peer >= 0) + (c->row[1].peer >= 0);
}

/* Add a link to the measurements of both its nodes, in time slot `turn`. rank: first rank of each
 * node.
 */
static void add(struct network_checks *ret, const struct pair *p, const int *rank, int turn)
{
    struct network_checks *a = &ret[p->a], *b = &ret[p->b];

    a->row[used(a)] = (struct network_check_row){ rank[p->b], turn, p->there };
    b->row[used(b)] = (struct network_check_row){ rank[p->a], turn, p->back };
}

/* Check whether one of two nodes measures no link yet, and the other node measures exactly one
 * link, not in the last time slot.
 */
static bool is_left_over(const struct network_checks *a, const struct network_checks *b)
{
    return used(a) + used(b) == 1 && a->row[0].turn < SPREAD && b->row[0].turn < SPREAD;
}

/* Choose the links to measure, and store them in ret. First take links whose nodes have no link
 * yet, spread over the time slots. Then, in one more slot, give each node without a link one to a
 * node that has a link. Return the number of time slots.
 */
static int choose(const struct pair *pair, int n_pairs, const int *rank, struct network_checks *ret)
{
    int n = 0, turns;

    for (int i = 0; i < n_pairs; i++)
        if (!used(&ret[pair[i].a]) && !used(&ret[pair[i].b]))
            add(ret, &pair[i], rank, n++ % SPREAD);
    turns = n < SPREAD ? n : SPREAD;
    for (int i = 0; i < n_pairs; i++) {
        if (is_left_over(&ret[pair[i].a], &ret[pair[i].b])) {
            add(ret, &pair[i], rank, SPREAD);
            turns = NETWORK_CHECK_TURNS;
        }
    }
    return turns;
}

int network_checks_choose(const struct network *net, const char *const *host, const int *rank,
                          int n, struct network_checks *ret, struct eddis_error *err)
{
    cleanup_free int *number = calloc((size_t)net->n_nodes + 1, sizeof *number);
    cleanup_free struct pair *pair = calloc((size_t)net->n_links + 1, sizeof *pair);
    cleanup_free struct network_link *link = calloc((size_t)net->n_links + 1, sizeof *link);
    int turns = 0;

    if (!number || !pair || !link)
        return eddis_fail(err, -ENOMEM, "no memory for the links to be checked");
    for (int i = 0; i < n; i++)
        ret[i] = (struct network_checks){ .row = { { .peer = -1 }, { .peer = -1 } } };
    if (number_nodes(net, host, n, number))
        turns = choose(pair, list_pairs(net, link, number, pair), rank, ret);
    for (int i = 0; i < n; i++)
        ret[i].turns = turns;
    return 0;
}
