/* SPDX-License-Identifier: Apache-2.0 */
/* bucket.c - makes buckets by size, or merges them by the times at which gradients are ready */
#include "bucket.h"

#include <errno.h>
#include <stdlib.h>

/* A latency in seconds beyond which only the number of buckets matters. */
#define HIGHEST_PRICE_S 1000

/* The factor by which a bucket may exceed its predicted time in a layout of fewer buckets.  With a
 * factor of 1.5, sixteen hosts on two cores, whose messages wait for one another, had 10 ms exposed
 * instead of 7.
 */
#define SLACK 3.0

/* The ratio of transfer time to latency above which buckets are not merged further.  The link
 * wastes almost nothing then, and large buckets near the end depend on the prediction.  Four hosts
 * with layers of 250 KB: [1 x 16] took 53 % of two cores and left 1.4 ms exposed, [8 4 2 1 1] 57 %
 * and 1.8 ms, [12 3 1] 60 % and 13 ms.
 */
#define WORTH 8.0

enum { WORTH_BYTES = 256 << 10 }; /* the size of a merged bucket may reach this in any case */

int bucket_fill(const struct bucket_item *item, int n, size_t first_bytes, size_t bytes,
                struct bucket_run *ret)
{
    size_t filled = 0;
    int k = 0;

    for (int i = 0; i < n; i++) {
        size_t room = k <= 1 ? first_bytes : bytes;

        if (!k || item[i].type != item[i - 1].type || filled + item[i].bytes > room) {
            ret[k++] = (struct bucket_run){ .first = i };
            filled = 0;
        }
        filled += item[i].bytes;
        ret[k - 1].end = i + 1;
    }
    return k;
}

int64_t bucket_ns(const struct bucket_cost *cost, size_t bytes)
{
    return (int64_t)((cost->latency_s + (double)bytes / cost->bytes_per_s) * 1e9 + 0.5);
}

/* Return the later of two times. */
static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- merging ---- */

/* One entry of an order of items. */
struct ranked {
    int64_t ready_ns;
    int item;
};

/* Compare two entries by ready time, then by item, for qsort. */
static int ranked_compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->ready_ns != y->ready_ns)
        return x->ready_ns < y->ready_ns ? -1 : 1;
    return x->item - y->item;
}

/* The first items of the order, cut into buckets in the best way. */
struct prefix {
    int64_t end_ns;
    int begin; /* index in the order at which its last bucket begins */
    int buckets;
    struct bucket_run run; /* the last bucket */
};

/* A range of the order that may become a bucket.  Initially empty, with run.first = INT32_MAX. */
struct range {
    struct bucket_run run;
    int64_t ready_ns;
    size_t bytes;
};

/* Add item `at` to the range.  Return whether its `count` items are neighbours in the arena now. */
static bool range_take(struct range *r, const struct bucket_item *item, int at, int count)
{
    r->bytes += item[at].bytes;
    r->ready_ns = later(r->ready_ns, item[at].ready_ns);
    r->run.first = at < r->run.first ? at : r->run.first;
    r->run.end = at + 1 > r->run.end ? at + 1 : r->run.end;
    return r->run.end - r->run.first == count;
}

/* The cost of a bucket, and the largest size of a bucket of several items. */
struct price {
    struct bucket_cost cost;
    size_t most_bytes;
};

/* Find the best cut of the first j items, given the best cuts p[i] of the first i items, i < j: the
 * last bucket takes items i .. j - 1.  This is optimal: an earlier end of a prefix is never worse
 * for the items that follow.
 */
static struct prefix prefix_find(const struct bucket_item *item, const struct ranked *order, int j,
                                 const struct price *price, const struct prefix *p)
{
    struct prefix best = { .end_ns = INT64_MAX };
    struct range r = { .run.first = INT32_MAX };

    for (int i = j - 1; i >= 0; i--) {
        int64_t end;

        if (item[order[i].item].type != item[order[j - 1].item].type ||
            (i < j - 1 && r.bytes + item[order[i].item].bytes > price->most_bytes))
            break;
        if (!range_take(&r, item, order[i].item, j - i) || p[i].end_ns == INT64_MAX)
            continue;
        end = later(p[i].end_ns, r.ready_ns) + bucket_ns(&price->cost, r.bytes);
        /* Of equal ends take the one with fewer buckets. */
        if (end < best.end_ns || (end == best.end_ns && p[i].buckets + 1 < best.buckets))
            best = (struct prefix){ end, i, p[i].buckets + 1, r.run };
    }
    return best;
}

/* Compute the best cuts p[0 .. n] of every prefix of the order, without a size limit. */
static void prefix_fill(const struct bucket_item *item, const struct ranked *order, int n,
                        const struct bucket_cost *cost, struct prefix *p)
{
    const struct price price = { *cost, SIZE_MAX };

    p[0] = (struct prefix){ 0 };
    for (int j = 1; j <= n; j++)
        p[j] = prefix_find(item, order, j, &price, p);
}

/* Compute the best cuts for arena order and for the order of ready times.  Leave in p [n + 1] and
 * `order` the one that ends first.
 */
static void merge_orders(const struct bucket_item *item, struct ranked *order, int n,
                         const struct bucket_cost *cost, struct prefix *p)
{
    int64_t end;

    for (int i = 0; i < n; i++)
        order[i] = (struct ranked){ item[i].ready_ns, i };
    prefix_fill(item, order, n, cost, p);
    end = p[n].end_ns;
    qsort(order, (size_t)n, sizeof *order, ranked_compare);
    prefix_fill(item, order, n, cost, p);
    if (p[n].end_ns <= end)
        return;
    for (int i = 0; i < n; i++)
        order[i].item = i;
    prefix_fill(item, order, n, cost, p);
}

/* Return the size in bytes above which merging is not worth it; see WORTH. */
static size_t worth_bytes(const struct bucket_cost *cost)
{
    double bytes = WORTH * cost->latency_s * cost->bytes_per_s;

    return bytes > WORTH_BYTES ? (size_t)bytes : WORTH_BYTES;
}

/* Replace the best layout p by one of fewer buckets, if there is one.  It must end as early as p,
 * and merge only up to worth_bytes.  It must still do so if all buckets but the last took SLACK
 * times as long.  Reason: every message costs work on machines that compute, and predictions are
 * inexact.
 */
static void merge_relax(const struct bucket_item *item, const struct ranked *order, int n,
                        const struct bucket_cost *cost, struct prefix *p)
{
    const struct price fair = { *cost, worth_bytes(cost) },
                       dear = { { cost->latency_s * SLACK, cost->bytes_per_s / SLACK },
                                fair.most_bytes };
    size_t row = (size_t)n + 1;
    struct prefix *all = calloc((size_t)p[n].buckets * row, sizeof *all), best = p[n];
    int last = 0;

    if (!all)
        return; /* more messages, but correct */
    for (int j = 1; j <= n; j++)
        all[j].end_ns = INT64_MAX;
    for (int k = 0; k + 1 < p[n].buckets && !last; k++) { /* k buckets before the last */
        const struct prefix *before = all + (size_t)k * row;
        struct prefix *next = all + (size_t)(k + 1) * row;

        best = prefix_find(item, order, n, &fair, before);
        if (best.end_ns <= p[n].end_ns)
            last = k + 1;
        next[0].end_ns = INT64_MAX;
        for (int j = 1; j <= n; j++)
            next[j] = prefix_find(item, order, j, &dear, before);
    }
    if (last) {
        p[n] = best;
        for (int j = best.begin, k = last - 1; k > 0; j = p[j].begin, k--)
            p[j] = all[(size_t)k * row + (size_t)j];
    }
    free(all);
}

/* The most atoms, which are items or joined neighbours.  Merging examines all pairs, which for
 * thousands of items would take half a second while all ranks wait; with this limit it takes a few
 * milliseconds.  With 2048 items the last bucket then ended 0.05 % later if they were ready in
 * order, and 0.16 % if in no order.  The worst of 60 combinations of networks, models and orders
 * was 0.5 %.
 */
enum { ATOMS = 512 };

/* The size limit of the finest atom, as a fraction of the limit of the coarsest. */
#define FINEST 0.05

/* The items, joined into at most ATOMS atoms. */
struct atoms {
    int n;
    int first[ATOMS + 1]; /* atom i is the items first[i] .. first[i + 1] - 1 */
    struct bucket_item item[ATOMS];
};

/* The items' total size and times, and the size limits of atoms. */
struct grain {
    size_t bytes;            /* of all items */
    int64_t soonest, latest; /* first and last ready time, ns */
    /* limits of an atom: fraction of all bytes, fraction of the whole time; 0: nothing joins */
    double of_bytes, of_time;
};

/* Join neighbouring items of one type into atoms within the limits g.  Items that are ready long
 * before the last one may form coarser atoms, because they have time to spare.  Return whether at
 * most ATOMS atoms were needed.
 */
static bool atoms_join(struct atoms *a, const struct bucket_item *item, int n,
                       const struct grain *g)
{
    double span = (double)(g->latest - g->soonest) + 1, share = 0;
    struct bucket_item *last = NULL;
    int64_t soonest = 0;

    a->n = 0;
    for (int i = 0; i < n; i++) {
        int64_t ready = item[i].ready_ns, late = last ? later(ready, last->ready_ns) : 0;

        if (last && item[i].type == last->type &&
            (double)(last->bytes + item[i].bytes) <= share * g->of_bytes * (double)g->bytes &&
            (double)(late - (ready < soonest ? ready : soonest)) <= share * g->of_time * span) {
            last->bytes += item[i].bytes;
            last->ready_ns = late;
            soonest = ready < soonest ? ready : soonest;
            continue;
        }
        if (a->n == ATOMS)
            return false;
        a->first[a->n] = i;
        last = &a->item[a->n++];
        *last = item[i];
        soonest = ready;
        share = (double)(g->latest - ready) / span + FINEST;
    }
    a->first[a->n] = n;
    return true;
}

/* Join the items into atoms, as fine as fits in ATOMS; if all items fit, each is an atom.  Return
 * false if they do not fit because the types alternate too often.
 */
static bool atoms_make(struct atoms *a, const struct bucket_item *item, int n)
{
    struct grain g = { 0 };

    for (int i = 0; i < n; i++) {
        g.bytes += item[i].bytes;
        g.soonest = i && g.soonest < item[i].ready_ns ? g.soonest : item[i].ready_ns;
        g.latest = later(g.latest, item[i].ready_ns);
    }
    if (n <= ATOMS)
        return atoms_join(a, item, n, &g);
    for (g.of_bytes = 2.0 / ATOMS; g.of_bytes * FINEST <= 2; g.of_bytes *= 2)
        for (g.of_time = 1.0 / ATOMS; g.of_time * FINEST <= 2; g.of_time *= 1.5)
            if (atoms_join(a, item, n, &g))
                return true;
    return false;
}

/* Find the best layout of atoms, with runs counted in atoms.  Return like bucket_merge. */
static int merge_atoms(const struct atoms *a, const struct bucket_cost *cost,
                       struct bucket_layout *ret)
{
    const struct bucket_item *item = a->item;
    struct bucket_cost c = *cost;
    int n = a->n, k = -ENOMEM;
    struct ranked *order = calloc((size_t)n + 1, sizeof *order);
    struct prefix *p = calloc((size_t)n + 1, sizeof *p);

    if (!order || !p)
        goto out;
    merge_orders(item, order, n, &c, p);
    /* A higher latency leads to fewer buckets. */
    while (p[n].buckets > BUCKET_MAX && c.latency_s < HIGHEST_PRICE_S) {
        c.latency_s = c.latency_s > 1e-6 ? 2 * c.latency_s : 2e-6;
        merge_orders(item, order, n, &c, p);
    }
    if (p[n].buckets > BUCKET_MAX) {
        k = -E2BIG;
        goto out;
    }
    merge_relax(item, order, n, &c, p);
    ret->n = k = p[n].buckets;
    for (int j = n, b = k - 1; b >= 0; j = p[j].begin, b--)
        ret->run[b] = p[j].run;
out:
    free(order);
    free(p);
    return k;
}

int bucket_merge(const struct bucket_item *item, int n, const struct bucket_cost *cost,
                 struct bucket_layout *ret)
{
    struct atoms *a = calloc(1, sizeof *a);
    int k = -ENOMEM;

    if (a)
        k = atoms_make(a, item, n) ? merge_atoms(a, cost, ret) : -E2BIG;
    for (int b = 0; b < k; b++) {
        ret->run[b].first = a->first[ret->run[b].first];
        ret->run[b].end = a->first[ret->run[b].end];
    }
    free(a);
    return k;
}

bool bucket_fits(const struct bucket_layout *l, const struct bucket_item *item, int n)
{
    int covered = 0;

    if (l->n < 0 || l->n > BUCKET_MAX)
        return false;
    for (int k = 0; k < l->n; k++) {
        const struct bucket_run *r = &l->run[k];

        if (r->first < 0 || r->first >= r->end || r->end > n)
            return false;
        for (int i = r->first; i < r->end; i++)
            if (item[i].type != item[r->first].type)
                return false;
        for (int j = 0; j < k; j++)
            if (l->run[j].first < r->end && r->first < l->run[j].end)
                return false;
        covered += r->end - r->first;
    }
    return covered == n;
}
