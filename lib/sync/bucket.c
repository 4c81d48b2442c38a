/* SPDX-License-Identifier: Apache-2.0 */
/* bucket.c - makes buckets by size, or merges them by the times at which gradients are ready */
#include "bucket.h"

#include <errno.h>
#include <stdlib.h>

/* A latency in seconds so high that transfer times no longer matter, only the number of buckets. */
#define HIGHEST_PRICE_S 1000

/* The factor by which all buckets but the last may exceed their predicted duration before a layout
 * of fewer buckets ends later than the best one; see merge_relax.  With a factor of 1.5, sixteen
 * hosts on two cores, whose messages wait for one another, had an exposed communication time of 10
 * ms instead of 7.
 */
#define SLACK 3.0

/* The ratio of transfer time to latency above which buckets are not merged further.  The link
 * wastes almost nothing then, and large buckets near the end depend on the prediction.  Four hosts
 * with layers of 250 KB: [1 x 16] took 53 % of two cores and left 1.4 ms exposed, [8 4 2 1 1] 57 %
 * and 1.8 ms, [12 3 1] 60 % and 13 ms.
 */
#define WORTH 8.0

enum { WORTH_BYTES = 256 << 10 }; /* size up to which buckets are merged whatever WORTH says */

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

/* One entry of an order in which items are combined. */
struct ranked {
    int64_t ready_ns; /* the item's ready time */
    int item;         /* index in the arena order */
};

/* Compare two struct ranked by ready time, then by item, for qsort. */
static int ranked_compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->ready_ns != y->ready_ns)
        return x->ready_ns < y->ready_ns ? -1 : 1;
    return x->item - y->item;
}

/* The best cut of the first j items of the order into buckets. */
struct prefix {
    int64_t end_ns;        /* time at which the last bucket ends; INT64_MAX: no cut is possible */
    int begin;             /* index in the order at which the last bucket begins */
    int buckets;           /* number of buckets */
    struct bucket_run run; /* the last bucket, as a run of the arena */
};

/* Some entries of the order that may become a bucket.  Initially empty, with run.first =
 * INT32_MAX.
 */
struct range {
    struct bucket_run run; /* the shortest run of the arena that contains all the items */
    int64_t ready_ns;      /* latest ready time of an item */
    size_t bytes;          /* size of all the items */
};

/* Add item `at` to range r, which has `count` items afterwards.  Return true if the items of r are
 * neighbours in the arena, so that they can be a bucket.
 */
static bool range_take(struct range *r, const struct bucket_item *item, int at, int count)
{
    r->bytes += item[at].bytes;
    r->ready_ns = later(r->ready_ns, item[at].ready_ns);
    r->run.first = at < r->run.first ? at : r->run.first;
    r->run.end = at + 1 > r->run.end ? at + 1 : r->run.end;
    return r->run.end - r->run.first == count;
}

/* The rules for a bucket. */
struct price {
    struct bucket_cost cost;
    size_t most_bytes; /* limit of the size of a bucket of several items */
};

/* Return the best cut of the first j items of the order, with end_ns INT64_MAX if none is possible.
 * p[i], i < j, is the best cut of the first i items; the last bucket takes the entries i .. j - 1.
 * This is optimal, because an earlier end of the first i items is never worse for the items that
 * follow.
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

/* Store in p[j], 0 <= j <= n, the best cut of the first j items of the order, with no limit of a
 * bucket's size.
 */
static void prefix_fill(const struct bucket_item *item, const struct ranked *order, int n,
                        const struct bucket_cost *cost, struct prefix *p)
{
    const struct price price = { *cost, SIZE_MAX };

    p[0] = (struct prefix){ 0 };
    for (int j = 1; j <= n; j++)
        p[j] = prefix_find(item, order, j, &price, p);
}

/* Compute the best cuts for the arena order and for the order of ready times.  Store the order
 * whose last bucket ends first in `order` [n] and its cuts in p [n + 1].  Their previous contents
 * do not matter.
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

/* Return the size in bytes above which a merged bucket is not worth it; see WORTH. */
static size_t worth_bytes(const struct bucket_cost *cost)
{
    double bytes = WORTH * cost->latency_s * cost->bytes_per_s;

    return bytes > WORTH_BYTES ? (size_t)bytes : WORTH_BYTES;
}

/* Replace p [n + 1], the best cuts for `order`, by cuts into fewer buckets, if two conditions hold:
 * merged buckets have at most worth_bytes, and the last bucket ends as early as in p even if all
 * other buckets take SLACK times their predicted duration.  Otherwise, or without memory, leave p.
 * Reason: every message costs work on machines that compute, and predictions are inexact.
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
        return; /* p stays valid, only with more messages */
    for (int j = 1; j <= n; j++)
        all[j].end_ns = INT64_MAX;
    for (int k = 0; k + 1 < p[n].buckets && !last; k++) { /* try k buckets before the last one */
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

/* The limit of the number of atoms.  An atom is an item, or neighbouring items joined into one.
 * Merging examines all pairs of atoms.  For thousands of items that would take half a second while
 * all ranks wait; with this limit it takes a few milliseconds.  With 2048 items the last bucket
 * then ended 0.05 % later if the items were ready in order, and 0.16 % later if in no order.  The
 * worst of 60 combinations of networks, models and orders was 0.5 %.
 */
enum { ATOMS = 512 };

/* The size limit of an atom that is ready last, as a fraction of the limit of one that is ready
 * first.
 */
#define FINEST 0.05

/* The items, joined into at most ATOMS atoms. */
struct atoms {
    int n;
    int first[ATOMS + 1]; /* atom i is the items first[i] .. first[i + 1] - 1 */
    struct bucket_item item[ATOMS];
};

/* The items' total size and ready times, and the limits of an atom. */
struct grain {
    size_t bytes;            /* size of all items */
    int64_t soonest, latest; /* first and last ready time of an item, ns */
    /* limits of an atom: of its size, as a fraction of `bytes`, and of the spread of its ready
     * times, as a fraction of the time from `soonest` to `latest`; 0: no items are joined
     */
    double of_bytes, of_time;
};

/* Join neighbouring items of one type into atoms within the limits g, and store them in a.  Items
 * that are ready long before the last one may form larger atoms, because they have time to spare.
 * Return false, with a unfinished, if more than ATOMS atoms are needed.
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

/* Join the n items into at most ATOMS atoms, as small as possible, and store them in a.  If n <=
 * ATOMS each item is an atom.  Return false if more atoms are needed because types alternate too
 * often.
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

/* Find the best layout of the atoms and store it in ret, with runs of atoms instead of items.
 * Return the number of buckets, -ENOMEM, or -E2BIG if more than BUCKET_MAX are needed.
 */
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
