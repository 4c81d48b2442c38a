/* SPDX-License-Identifier: Apache-2.0 */
/* drop_search.c - searches the set of workers with the most progress */
#include "drop_search.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    VERY_FEW = 12,   /* most workers that are taken and exchanged one by one */
    FEW = 64,        /* most workers for which many sets are weighed */
    MANY_KINDS = 10, /* most kinds of more workers */
    MOST_NODES = 16, /* most nodes that are taken or left one by one */
    WORK = 10000,    /* workers in all plans that the search weighs; for very many workers: */
    PASSES = 3,      /* plans of all workers instead */
};

/* Part of the best progress that stays when workers come back */
static const double KEPT = 0.975;
/* Least factor of progress that counts as more */
static const double MORE = 1 + 1e-9;

/* The sets at work */
struct drop_sets {
    struct drop_search *s;
    bool *trial, *base; /* [n] set to weigh; set from which a round of changes begins */
    int count[DROP_MAX_KINDS], first[DROP_MAX_KINDS]; /* workers of each kind; its first worker */
    int n_nodes;
    struct eddis_error *err;
};

/* ---- kinds ---- */

/* Check whether two workers are equal but for a part `step` of speed and bandwidth, as logarithms;
 * above 1, devices of any kind are equal.
 */
static bool is_alike(const struct drop_worker *a, const struct drop_worker *b, double step)
{
    return (a->device == b->device || step > 1) && fabs(log(a->sample_s / b->sample_s)) <= step &&
           fabs(log((a->bytes_per_s + 1) / (b->bytes_per_s + 1))) <= step;
}

/* Sort the workers into kinds of workers alike by `step`. Return false if there are more than most.
 */
static bool sort_kinds(struct drop_sets *a, double step, int most)
{
    struct drop_search *s = a->s;

    s->n_kinds = 0;
    for (int i = 0; i < s->n; i++) {
        int k = 0;

        while (k < s->n_kinds && !is_alike(&s->worker[a->first[k]], &s->worker[i], step))
            k++;
        if (k == most)
            return false;
        if (k == s->n_kinds) {
            a->first[k] = i;
            a->count[k] = 0;
            s->n_kinds++;
        }
        s->kind[i] = k;
        a->count[k]++;
    }
    return true;
}

/* Sort the workers into few kinds, as fine as possible. */
static void make_kinds(struct drop_sets *a)
{
    int most = a->s->n <= FEW ? DROP_MAX_KINDS : MANY_KINDS;
    double step = 0;

    while (!sort_kinds(a, step, most))
        step = step > 0 ? 2 * step : 0.02;
}

/* ---- weighing ---- */

/* Return how many workers are in the set. */
static int size_of(const bool *set, int n)
{
    int k = 0;

    for (int i = 0; i < n; i++)
        k += set[i];
    return k;
}

/* Predict the progress of a->trial in *ret; 0: the set is empty. Return 0 or -ENOMEM. */
static int weigh(struct drop_sets *a, double *ret)
{
    struct drop_search *s = a->s;
    int k = size_of(a->trial, s->n);

    *ret = 0;
    s->spent += k;
    return k > 0 ? s->weigh(s->ctx, a->trial, ret, a->err) : 0;
}

/* Keep a->trial if this progress is the best so far. */
static void keep_better(struct drop_sets *a, double progress)
{
    struct drop_search *s = a->s;

    if (!(progress > s->best * MORE))
        return;
    s->best = progress;
    memcpy(s->keep, a->trial, (size_t)s->n * sizeof *s->keep);
}

/* Weigh a->trial, and keep it if it is the best so far. Do nothing if the work is done. Return 0 or
 * -ENOMEM.
 */
static int try_set(struct drop_sets *a)
{
    struct drop_search *s = a->s;
    int64_t most = (int64_t)PASSES * s->n > WORK ? (int64_t)PASSES * s->n : WORK;
    double progress;
    int rc;

    if (s->spent + size_of(a->trial, s->n) > most)
        return 0;
    rc = weigh(a, &progress);
    if (rc == 0)
        keep_better(a, progress);
    return rc;
}

/* ---- where the search begins ---- */

/* Check whether kind a comes before kind b: by bandwidth, or by speed. */
static bool is_before(const struct drop_sets *a, int x, int y, bool by_link)
{
    const struct drop_worker *p = &a->s->worker[a->first[x]], *q = &a->s->worker[a->first[y]];

    return by_link ? p->bytes_per_s > q->bytes_per_s : p->sample_s < q->sample_s;
}

/* Try the sets of the first 1, 2, ... kinds by bandwidth, or by speed. Return 0 or -ENOMEM. */
static int try_first_kinds(struct drop_sets *a, bool by_link)
{
    struct drop_search *s = a->s;
    int place[DROP_MAX_KINDS] = { 0 }, rc = 0;

    for (int k = 0; k < s->n_kinds; k++)
        for (int j = 0; j < s->n_kinds; j++)
            place[k] += is_before(a, j, k, by_link) || (j < k && !is_before(a, k, j, by_link));
    for (int most = s->n_kinds - 1; most > 0 && rc == 0; most--) {
        for (int i = 0; i < s->n; i++)
            a->trial[i] = place[s->kind[i]] < most;
        rc = try_set(a);
    }
    return rc;
}

/* Return the node whose workers are the fastest together. */
static int fastest_node(const struct drop_search *s)
{
    double best = 0, sum = 0;
    int node = 0;

    for (int i = 0; i < s->n; i++) {
        if (i == 0 || s->worker[i].node != s->worker[i - 1].node)
            sum = 0;
        sum += 1 / s->worker[i].sample_s;
        if (sum > best) {
            best = sum;
            node = s->worker[i].node;
        }
    }
    return node;
}

/* Try the workers of each node alone, or of many nodes the fastest; and the fastest worker alone.
 * Return 0 or -ENOMEM.
 */
static int try_alone(struct drop_sets *a)
{
    struct drop_search *s = a->s;
    int only = a->n_nodes > MOST_NODES ? fastest_node(s) : -1, fastest = 0, rc = 0;

    for (int node = 0; node < a->n_nodes && rc == 0; node++) {
        if (only >= 0 && node != only)
            continue;
        for (int i = 0; i < s->n; i++)
            a->trial[i] = s->worker[i].node == node;
        rc = try_set(a);
    }
    for (int i = 0; i < s->n; i++)
        if (s->worker[i].sample_s < s->worker[fastest].sample_s)
            fastest = i;
    for (int i = 0; i < s->n; i++)
        a->trial[i] = i == fastest;
    return rc == 0 ? try_set(a) : rc;
}

/* ---- few workers: one after another ---- */

/* Try a->base with each one of the workers that it lacks. Return the best of them; -1: it lacks
 * none, or the job allows none; or -ENOMEM.
 */
static int best_next(struct drop_sets *a)
{
    struct drop_search *s = a->s;
    double most = 0;
    int best = -1;

    for (int i = 0; i < s->n; i++) {
        double progress;

        if (a->base[i])
            continue;
        memcpy(a->trial, a->base, (size_t)s->n * sizeof *a->trial);
        a->trial[i] = true;
        if (weigh(a, &progress) < 0)
            return -ENOMEM;
        keep_better(a, progress);
        if (progress > most) {
            most = progress;
            best = i;
        }
    }
    return best;
}

/* Begin with the best worker alone, and take the next best until all are taken. Return 0 or
 * -ENOMEM.
 */
static int grow(struct drop_sets *a)
{
    int next = 0;

    memset(a->base, 0, (size_t)a->s->n * sizeof *a->base);
    while (next >= 0) {
        next = best_next(a);
        if (next >= 0)
            a->base[next] = true;
    }
    return next == -ENOMEM ? next : 0;
}

/* ---- changes of a set ---- */

/* Return how many workers of this kind are in a->base. */
static int taken(const struct drop_sets *a, int kind)
{
    int n = 0;

    for (int i = 0; i < a->s->n; i++)
        n += a->base[i] && a->s->kind[i] == kind;
    return n;
}

/* Make a->trial the set a->base with `most` workers of a kind: the last ones leave, the first ones
 * come back.
 */
static void set_count(struct drop_sets *a, int kind, int most)
{
    struct drop_search *s = a->s;
    int have = taken(a, kind), n = 0;

    memcpy(a->trial, a->base, (size_t)s->n * sizeof *a->trial);
    for (int i = 0; i < s->n; i++) {
        if (s->kind[i] != kind)
            continue;
        if (!a->trial[i] && have < most) {
            a->trial[i] = true;
            have++;
        }
        n += a->trial[i];
        a->trial[i] = a->trial[i] && n <= most;
    }
}

/* Try other numbers of workers of a kind. Return 0 or -ENOMEM. */
static int try_counts(struct drop_sets *a, int kind)
{
    int have = taken(a, kind), rc = 0;
    const int count[] = { 0, 1, have / 2, have - 1, have + 1, a->count[kind] };

    for (size_t i = 0; i < sizeof count / sizeof *count && rc == 0; i++) {
        bool again = count[i] < 0 || count[i] > a->count[kind] || count[i] == have;

        for (size_t j = 0; j < i; j++)
            again |= count[j] == count[i];
        if (again)
            continue;
        set_count(a, kind, count[i]);
        rc = try_set(a);
    }
    return rc;
}

/* Try to leave a whole node, and to take it. Return 0 or -ENOMEM. */
static int try_node(struct drop_sets *a, int node)
{
    struct drop_search *s = a->s;
    int rc = 0;

    for (int take = 0; take < 2 && rc == 0; take++) {
        bool same = true;

        for (int i = 0; i < s->n; i++) {
            a->trial[i] = s->worker[i].node == node ? take : a->base[i];
            same &= a->trial[i] == a->base[i];
        }
        rc = same ? 0 : try_set(a);
    }
    return rc;
}

/* Try to take one worker in exchange for another, of few. Return 0 or -ENOMEM. */
static int try_exchanges(struct drop_sets *a)
{
    struct drop_search *s = a->s;
    int rc = 0;

    for (int i = 0; i < s->n && s->n <= VERY_FEW; i++)
        for (int j = 0; j < s->n && rc == 0; j++) {
            if (!a->base[i] || a->base[j])
                continue;
            memcpy(a->trial, a->base, (size_t)s->n * sizeof *a->trial);
            a->trial[i] = false;
            a->trial[j] = true;
            rc = try_set(a);
        }
    return rc;
}

/* Change the best set as long as a change makes it better. Return 0 or -ENOMEM. */
static int climb(struct drop_sets *a)
{
    struct drop_search *s = a->s;
    double before = 0;
    int rc = 0;

    while (rc == 0 && s->best > before) {
        before = s->best;
        memcpy(a->base, s->keep, (size_t)s->n * sizeof *a->base);
        for (int k = 0; k < s->n_kinds && rc == 0; k++)
            rc = try_counts(a, k);
        for (int node = 0; node < a->n_nodes && a->n_nodes <= MOST_NODES && rc == 0; node++)
            rc = try_node(a, node);
        if (rc == 0 && s->best <= before)
            rc = try_exchanges(a);
    }
    return rc;
}

/* ---- who comes back ---- */

/* Make a->trial the workers that stay and all others of a kind. Return whether there are others. */
static bool add_kind(struct drop_sets *a, int kind)
{
    struct drop_search *s = a->s;
    bool any = false;

    for (int i = 0; i < s->n; i++) {
        a->trial[i] = s->keep[i] || s->kind[i] == kind;
        any |= !s->keep[i] && a->trial[i];
    }
    return any;
}

/* Weigh the return of each kind that has left-out workers. Return the kind with the most
 * progress then; -1: none is left out; or -ENOMEM.
 */
static int weigh_returns(struct drop_sets *a)
{
    struct drop_search *s = a->s;
    int best = -1;

    for (int k = 0; k < s->n_kinds; k++) {
        if (!add_kind(a, k))
            continue;
        if (weigh(a, &s->with[k]) < 0)
            return -ENOMEM;
        if (best < 0 || s->with[k] > s->with[best])
            best = k;
    }
    return best;
}

/* Let kinds come back whose return costs less than the margin, as long as all together cost little.
 * Return 0 or -ENOMEM.
 */
static int put_back(struct drop_sets *a)
{
    struct drop_search *s = a->s;
    double least = fmax(s->best * KEPT, s->all * s->margin * MORE);

    for (int times = 0;; times++) {
        int k = weigh_returns(a);

        if (k == -ENOMEM)
            return k;
        if (k < 0 || s->best > s->with[k] * s->margin || s->with[k] < least ||
            (s->n > FEW && times > 0))
            return 0;
        (void)add_kind(a, k);
        memcpy(s->keep, a->trial, (size_t)s->n * sizeof *s->keep);
        s->best = s->with[k];
    }
}

/* ---- all together ---- */

/* Put all workers into a set. */
static void fill(bool *set, int n)
{
    for (int i = 0; i < n; i++)
        set[i] = true;
}

/* Search the set, and let workers come back, or all if it is not worth it. Return 0 or -ENOMEM. */
static int search(struct drop_sets *a)
{
    struct drop_search *s = a->s;
    int rc;

    make_kinds(a);
    fill(a->trial, s->n);
    fill(s->keep, s->n);
    rc = weigh(a, &s->all);
    s->best = s->all;
    if (rc == 0)
        rc = try_first_kinds(a, false);
    if (rc == 0)
        rc = try_first_kinds(a, true);
    if (rc == 0)
        rc = try_alone(a);
    if (rc == 0 && s->n <= VERY_FEW)
        rc = grow(a);
    if (rc == 0)
        rc = climb(a);
    if (rc == 0 && s->best > s->all * s->margin)
        return put_back(a);
    fill(s->keep, s->n);
    s->best = s->all;
    return rc;
}

int drop_search_run(struct drop_search *s, struct eddis_error *err)
{
    cleanup_free bool *trial = calloc((size_t)s->n + 1, sizeof *trial);
    cleanup_free bool *base = calloc((size_t)s->n + 1, sizeof *base);
    struct drop_sets a = { .s = s, .trial = trial, .base = base, .err = err };

    s->kind = calloc((size_t)s->n + 1, sizeof *s->kind);
    s->keep = calloc((size_t)s->n + 1, sizeof *s->keep);
    if (!trial || !base || !s->kind || !s->keep)
        return eddis_fail(err, -ENOMEM, "no memory to compare sets of workers");
    a.n_nodes = s->n > 0 ? s->worker[s->n - 1].node + 1 : 0;
    return search(&a);
}

void drop_search_fini(struct drop_search *s)
{
    free(s->kind);
    free(s->keep);
    s->kind = NULL;
    s->keep = NULL;
}
