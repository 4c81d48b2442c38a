/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - computes the optimal split by bisection on the finish time
 *
 * The k-th grain of worker i ends at t_i(min_i + k grain). As t_i never falls, the first g grains
 * in the order (end, rank, k) hold each worker's first ones without a gap, and no choice of g
 * grains ends earlier. Bisection finds the end of the g-th among all doubles, exactly, and then
 * takes the grains before it.
 *
 * The rest of total, less than a grain, goes last to the worker that ends earliest with it. This is
 * optimal as well. If a smaller finish time T were possible, no worker could hold one more grain
 * within T (it could not even hold the rest). The worker with the rest would hold a grain less than
 * now, so a grain would be left over.
 */
#include "split.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The workers, and the number of grains to give. */
struct batch_multiples {
    const struct split_worker *w;
    int n;
    /* Samples of a grain; grains to give; samples besides, fewer than a grain. */
    int64_t grain, count, rest;
    int64_t *cap; /* [n] most grains of each worker, at most count; borrowed */
};

/* Return the seconds that worker i takes for its minimum and k more grains. */
static double end_s(const struct batch_multiples *g, int i, int64_t k)
{
    return time_model_s(&g->w[i].t, g->w[i].min + k * g->grain);
}

/* Return how many grains of worker i end at limit_s or before. */
static int64_t grains_within(const struct batch_multiples *g, int i, double limit_s)
{
    int64_t low = 0, high = g->cap[i];

    while (low < high) {
        int64_t mid = low + (high - low + 1) / 2;

        if (end_s(g, i, mid) <= limit_s)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

/* Check whether all workers together end g->count grains by limit_s. */
static bool enough_within(const struct batch_multiples *g, double limit_s)
{
    int64_t left = g->count;

    for (int i = 0; i < g->n && left > 0; i++)
        left -= grains_within(g, i, limit_s);
    return left <= 0;
}

/* Return the double with these bits. Non-negative doubles sort as their bits do, so bisection on
 * bits finds an exact threshold in 63 steps.
 */
static double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Fill k [n] with each worker's grains, by bisection on the finish time. */
static void take(const struct batch_multiples *g, int64_t *k)
{
    uint64_t low = 0, high = UINT64_C(0x7ff) << 52; /* the bits of infinity */
    int64_t left = g->count;
    double last_s;

    while (low < high) {
        uint64_t mid = low + (high - low) / 2;

        if (enough_within(g, double_of(mid)))
            high = mid;
        else
            low = mid + 1;
    }
    last_s = double_of(low);
    for (int i = 0; i < g->n; i++) {
        k[i] = low > 0 ? grains_within(g, i, double_of(low - 1)) : 0;
        left -= k[i];
    }
    for (int i = 0; i < g->n && left > 0; i++) {
        int64_t more = grains_within(g, i, last_s) - k[i];

        more = more < left ? more : left;
        k[i] += more;
        left -= more;
    }
}

/* Fill in g's count, rest and cap [n], which is allocated. Return 0, or -ERANGE: the bounds cannot
 * hold total.
 */
static int prepare(struct batch_multiples *g, int64_t total, struct eddis_error *err)
{
    int64_t left = total, most = 0;

    for (int i = 0; i < g->n; i++) {
        left -= g->w[i].min <= left ? g->w[i].min : left + 1;
        if (left < 0)
            return eddis_fail(
                err, -ERANGE,
                "the smallest batches of the workers add up to more than %lld samples",
                (long long)total);
    }
    g->count = left / g->grain;
    g->rest = left % g->grain;
    for (int i = 0; i < g->n; i++) {
        g->cap[i] = (g->w[i].max - g->w[i].min) / g->grain;
        if (g->cap[i] > g->count)
            g->cap[i] = g->count;
        most += g->cap[i] < g->count - most ? g->cap[i] : g->count - most;
    }
    if (most < g->count)
        return eddis_fail(err, -ERANGE,
                          "the largest batches of the workers, in steps of %lld, hold fewer than "
                          "%lld samples",
                          (long long)g->grain, (long long)total);
    return 0;
}

/* Add the rest, less than a grain, to the batch in b [n] of the worker that ends earliest with it.
 * Return 0, or -ERANGE: nobody may take it.
 */
static int give_rest(const struct batch_multiples *g, int64_t *b, struct eddis_error *err)
{
    double best_s = INFINITY;
    int best = -1;

    if (g->rest == 0)
        return 0;
    for (int i = 0; i < g->n; i++) {
        double s;

        if (b[i] > g->w[i].max - g->rest)
            continue;
        s = time_model_s(&g->w[i].t, b[i] + g->rest);
        if (best < 0 || s < best_s) {
            best = i;
            best_s = s;
        }
    }
    if (best < 0)
        return eddis_fail(
            err, -ERANGE,
            "the largest batches of the workers, in steps of %lld, leave %lld samples unassigned",
            (long long)g->grain, (long long)g->rest);
    b[best] += g->rest;
    return 0;
}

/* Check the input. Return 0, or -EINVAL: a bound or number is out of range. */
static int check(const struct batch_multiples *g, int64_t total, struct eddis_error *err)
{
    if (g->n < 1 || total < 0 || g->grain < 1)
        return eddis_fail(err, -EINVAL,
                          "cannot split %lld samples over %d workers in steps of %lld",
                          (long long)total, g->n, (long long)g->grain);
    for (int i = 0; i < g->n; i++)
        if (g->w[i].min < 0 || g->w[i].max < g->w[i].min)
            return eddis_fail(err, -EINVAL, "worker %d cannot take %lld to %lld samples", i,
                              (long long)g->w[i].min, (long long)g->w[i].max);
    return 0;
}

int split_optimal(const struct split_worker *w, int n, int64_t total, int64_t grain, int64_t *ret,
                  struct eddis_error *err)
{
    struct batch_multiples g = { .w = w, .n = n, .grain = grain };
    cleanup_free int64_t *b = NULL, *cap = NULL;
    int rc = check(&g, total, err);

    if (rc < 0)
        return rc;
    b = calloc((size_t)n, sizeof *b);
    g.cap = cap = calloc((size_t)n, sizeof *cap);
    if (!b || !cap)
        return eddis_fail(err, -ENOMEM, "no memory to split the batch over %d workers", n);
    if ((rc = prepare(&g, total, err)) < 0)
        return rc;
    take(&g, b);
    for (int i = 0; i < n; i++)
        b[i] = w[i].min + b[i] * grain;
    if ((rc = give_rest(&g, b, err)) < 0)
        return rc;
    memcpy(ret, b, (size_t)n * sizeof *ret);
    return 0;
}

void split_equal(int n, int64_t total, int64_t *ret)
{
    for (int i = 0; i < n; i++)
        ret[i] = total / n + (i < total % n);
}
