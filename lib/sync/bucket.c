/* SPDX-License-Identifier: Apache-2.0 */
#include "bucket.h"

#include <errno.h>
#include <stdlib.h>

/* Of a bucket, beyond which nothing else counts. */
#define HIGHEST_PRICE_S 1000

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

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t bucket_end_ns(const struct bucket_item *item, const struct bucket_run *run, int n_runs,
                      const struct bucket_cost *cost)
{
    int64_t end = 0;

    for (int k = 0; k < n_runs; k++) {
        size_t bytes = 0;

        for (int i = run[k].first; i < run[k].end; i++) {
            bytes += item[i].bytes;
            end = later(end, item[i].ready_ns);
        }
        end += bucket_ns(cost, bytes);
    }
    return end;
}

/* ---- merging ---- */

struct ranked {
    int64_t ready_ns;
    int item;
};

static int ranked_compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->ready_ns != y->ready_ns)
        return x->ready_ns < y->ready_ns ? -1 : 1;
    return x->item - y->item;
}

/* The first `count` items of the order, in their best cut. */
struct prefix {
    int64_t end_ns;
    int begin; /* of its last bucket: a place in the order */
    int buckets;
    struct bucket_run run; /* that bucket */
};

/* p[j].. from all p[i], i < j: its last bucket is places i .. j - 1 when they are neighbours in the
 * arena.  An earlier end is better for whatever follows, so the best prefixes make the best whole.
 */
static void prefix_find(const struct bucket_item *item, const struct ranked *order, int j,
                        const struct bucket_cost *cost, struct prefix *p)
{
    struct bucket_run run = { INT32_MAX, 0 };
    int64_t ready = 0;
    size_t bytes = 0;

    p[j].end_ns = INT64_MAX;
    for (int i = j - 1; i >= 0; i--) {
        int at = order[i].item;
        int64_t end;

        if (item[at].type != item[order[j - 1].item].type)
            break;
        bytes += item[at].bytes;
        ready = later(ready, item[at].ready_ns);
        run.first = at < run.first ? at : run.first;
        run.end = at + 1 > run.end ? at + 1 : run.end;
        if (run.end - run.first != j - i)
            continue;
        end = later(p[i].end_ns, ready) + bucket_ns(cost, bytes);
        /* Of equal ends the fewer buckets. */
        if (end < p[j].end_ns || (end == p[j].end_ns && p[i].buckets < p[j].buckets))
            p[j] = (struct prefix){ end, i, p[i].buckets + 1, run };
    }
}

static void prefix_fill(const struct bucket_item *item, const struct ranked *order, int n,
                        const struct bucket_cost *cost, struct prefix *p)
{
    p[0] = (struct prefix){ 0 };
    for (int j = 1; j <= n; j++)
        prefix_find(item, order, j, cost, p);
}

/* Both orders, as announced and as in the arena, into p [n + 1]: the one that ends first. */
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

int bucket_merge(const struct bucket_item *item, int n, const struct bucket_cost *cost,
                 struct bucket_layout *ret)
{
    struct bucket_cost c = *cost;
    struct ranked *order = calloc((size_t)n + 1, sizeof *order);
    struct prefix *p = calloc((size_t)n + 1, sizeof *p);
    int k = -ENOMEM;

    if (!order || !p)
        goto out;
    merge_orders(item, order, n, &c, p);
    /* A higher price makes fewer of them. */
    while (p[n].buckets > BUCKET_MAX && c.latency_s < HIGHEST_PRICE_S) {
        c.latency_s = c.latency_s > 1e-6 ? 2 * c.latency_s : 2e-6;
        merge_orders(item, order, n, &c, p);
    }
    k = p[n].buckets <= BUCKET_MAX ? p[n].buckets : -E2BIG;
    for (int j = n, b = k - 1; b >= 0; j = p[j].begin, b--)
        ret->run[b] = p[j].run;
    if (k >= 0)
        ret->n = k;
out:
    free(order);
    free(p);
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
