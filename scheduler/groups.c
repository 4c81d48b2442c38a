/* SPDX-License-Identifier: Apache-2.0 */
/* groups.c - puts workers into groups, and splits a group's batch among its members */
#include "groups.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Copy the groups that the job lists to ret [n]. Return their number; -EINVAL: the job lists
 * another number of ranks.
 */
static int take_given(const struct job_groups *wanted, int n, int *ret, struct eddis_error *err)
{
    if (wanted->n_of != (size_t)n)
        return eddis_fail(err, -EINVAL, "sync.groups names %zu ranks, but there are %d workers",
                          wanted->n_of, n);
    memcpy(ret, wanted->of, (size_t)n * sizeof *ret);
    return (int)wanted->n;
}

/* Fill ret [n] with the job's groups for the workers that are left; began_as [n]: their ranks when
 * the job began. Groups without members are dropped and the others renumbered. Return the number of
 * groups; -EINVAL: the job lists too few ranks; -ENOMEM.
 */
static int take_left(const struct job_groups *wanted, int n, const int *began_as, int *ret,
                     struct eddis_error *err)
{
    cleanup_free int *number = calloc((size_t)wanted->n, sizeof *number);
    int groups = 0;

    if (!number)
        return eddis_fail(err, -ENOMEM, "no memory for groups");
    for (int i = 0; i < n; i++) {
        if ((size_t)began_as[i] >= wanted->n_of)
            return eddis_fail(
                err, -EINVAL,
                "sync.groups names only %zu ranks, but the job began with rank %d too",
                wanted->n_of, began_as[i]);
        number[wanted->of[began_as[i]]] = 1;
    }
    for (int64_t k = 0; k < wanted->n; k++)
        number[k] = number[k] ? groups++ : -1;
    for (int i = 0; i < n; i++)
        ret[i] = number[wanted->of[began_as[i]]];
    return groups;
}

/* Fill ret [n] with one group for each node's workers. Return the number of groups. Node numbers
 * may have gaps.
 */
static int by_node(const struct group_worker *w, int n, int *ret)
{
    int groups = 0;

    for (int i = 0; i < n; i++) {
        groups += i == 0 || w[i].node != w[i - 1].node;
        ret[i] = groups - 1;
    }
    return groups;
}

/* A worker and its speed, to be sorted. */
struct ranked {
    double samples_per_s;
    int rank;
};

/* Order workers by falling speed, then by rank, for qsort. */
static int faster(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->samples_per_s != y->samples_per_s)
        return x->samples_per_s > y->samples_per_s ? -1 : 1;
    return x->rank - y->rank;
}

/* Sort the workers by speed and cut them into `groups` runs of equal length in ret [n]; if n does
 * not divide, the first runs are one longer. Return the number of groups, or -ENOMEM.
 */
static int by_speed(const struct group_worker *w, int n, int groups, int *ret,
                    struct eddis_error *err)
{
    cleanup_free struct ranked *r = calloc((size_t)n, sizeof *r);

    if (!r)
        return eddis_fail(err, -ENOMEM, "no memory for groups");
    for (int i = 0; i < n; i++)
        r[i] = (struct ranked){ w[i].samples_per_s, i };
    qsort(r, (size_t)n, sizeof *r, faster);
    for (int g = 0, i = 0; g < groups; g++)
        for (int k = n / groups + (g < n % groups); k > 0; k--)
            ret[r[i++].rank] = g;
    return groups;
}

/* Fill ret [n] with the first choice of groups. Return the number of groups, -EINVAL or -ENOMEM. */
static int first_choice(const struct group_worker *w, int n, const struct job_groups *wanted,
                        const int *began_as, int *ret, struct eddis_error *err)
{
    int nodes;

    if (wanted->of)
        return began_as ? take_left(wanted, n, began_as, ret, err)
                        : take_given(wanted, n, ret, err);
    if (wanted->n > n && began_as)
        return by_speed(w, n, n, ret, err);
    if (wanted->n > n)
        return eddis_fail(err, -EINVAL, "sync.groups is %lld, but there are %d workers",
                          (long long)wanted->n, n);
    if (wanted->n)
        return by_speed(w, n, (int)wanted->n, ret, err);
    nodes = by_node(w, n, ret);
    if (nodes > 1 && nodes < n)
        return nodes;
    return by_speed(w, n, (int)round(sqrt((double)n)), ret, err);
}

/* Sort the nodes of the workers by speed, cut them into `groups` runs of equal length, and put the
 * workers of a run into one group, in ret [n]. nodes: number of nodes. Return the number of groups,
 * or -ENOMEM.
 */
static int by_runs_of_nodes(const struct group_worker *w, int n, int nodes, int groups, int *ret,
                            struct eddis_error *err)
{
    cleanup_free struct group_worker *node = calloc((size_t)nodes, sizeof *node);
    cleanup_free int *of = calloc((size_t)nodes, sizeof *of);
    int rc;

    if (!node || !of)
        return eddis_fail(err, -ENOMEM, "no memory for groups");
    by_node(w, n, ret);
    for (int i = 0; i < n; i++)
        node[ret[i]].samples_per_s += w[i].samples_per_s;
    rc = by_speed(node, nodes, groups, of, err);
    for (int i = 0; i < n && rc >= 0; i++)
        ret[i] = of[ret[i]];
    return rc;
}

/* Append a choice whose groups are in the next place of c->group. groups: their number, or a
 * negative errno. Return 0 or that errno.
 */
static int append(struct groups_choices *c, int groups)
{
    if (groups >= 0)
        c->groups[c->n++] = groups;
    return groups < 0 ? groups : 0;
}

/* Borrow the place of the next choice. */
static int *next_place(const struct groups_choices *c)
{
    return &c->group[(size_t)c->n * (size_t)c->n_workers];
}

/* Return the number of groups of n workers to try after k: up to 16 all, of many workers and beyond
 * that powers of 2.
 */
static int next_number(int n, int k)
{
    return n <= 64 && k < 16 ? k + 1 : 2 * k;
}

/* Fill c->rounds, which is behind all choices in c->group. given: the job sets the groups, which
 * are the first choice.
 */
static void set_rounds(struct groups_choices *c, const struct group_worker *w, bool given)
{
    int n = c->n_workers;

    c->rounds = &c->group[(size_t)n * GROUPS_CHOICES];
    c->n_rounds = given ? c->groups[0] : by_node(w, n, c->rounds);
    if (given)
        memcpy(c->rounds, c->group, (size_t)n * sizeof *c->rounds);
    if (given || (c->n_rounds > 1 && c->n_rounds < n))
        return;
    for (c->n_rounds = 0; c->n_rounds < n; c->n_rounds++)
        c->rounds[c->n_rounds] = c->n_rounds;
}

int groups_list(const struct group_worker *w, int n, const struct job_groups *wanted,
                const int *began_as, int64_t most, struct groups_choices *ret,
                struct eddis_error *err)
{
    int nodes, rc;

    *ret = (struct groups_choices){ .n_workers = n };
    ret->group = calloc((size_t)n * (GROUPS_CHOICES + 1), sizeof *ret->group);
    if (!ret->group)
        return eddis_fail(err, -ENOMEM, "no memory for groups");
    rc = append(ret, first_choice(w, n, wanted, began_as, ret->group, err));
    if (rc < 0)
        return rc;
    set_rounds(ret, w, wanted->of || wanted->n);
    if (wanted->of || wanted->n)
        return 0;
    nodes = by_node(w, n, next_place(ret));
    for (int k = 2; nodes < n && k < nodes && k <= most && rc == 0; k = next_number(n, k))
        rc = append(ret, by_runs_of_nodes(w, n, nodes, k, next_place(ret), err));
    for (int k = 2; k < n && k <= most && rc == 0; k = next_number(n, k))
        rc = append(ret, by_speed(w, n, k, next_place(ret), err));
    return rc;
}

const int *groups_choice(const struct groups_choices *c, int i)
{
    return &c->group[(size_t)i * (size_t)c->n_workers];
}

void groups_fini(struct groups_choices *c)
{
    free(c->group);
}

/* Fill rank [n] with the ranks ordered by group, and behind [groups], zeroed by the caller, with
 * the index in rank at which each group ends.
 */
static void sort_by_group(const int *group, int n, int groups, int *rank, int *behind)
{
    for (int i = 0; i < n; i++)
        behind[group[i]]++;
    for (int g = 0, at = 0; g < groups; g++) { /* first store where each group begins */
        int members = behind[g];

        behind[g] = at;
        at += members;
    }
    for (int i = 0; i < n; i++)
        rank[behind[group[i]]++] = i;
}

/* Split the summed batch of one group of m ranks optimally among its members, in place in batch.
 * member and part [m] are scratch. Return 0, or an error of split_optimal: batch is unchanged.
 */
static int balance_one(const struct split_worker *w, const int *rank, int m, int64_t grain,
                       int64_t *batch, struct split_worker *member, int64_t *part,
                       struct eddis_error *err)
{
    int64_t sum = 0;
    int rc;

    for (int k = 0; k < m; k++) {
        member[k] = w[rank[k]];
        sum += batch[rank[k]];
    }
    rc = split_optimal(member, m, sum, grain, part, err);
    for (int k = 0; k < m && rc == 0; k++)
        batch[rank[k]] = part[k];
    return rc;
}

int groups_balance(const struct split_worker *w, const int *group, int n, int64_t grain,
                   int64_t *batch, struct eddis_error *err)
{
    cleanup_free struct split_worker *member = calloc((size_t)n, sizeof *member);
    cleanup_free int64_t *part = calloc((size_t)n, sizeof *part);
    cleanup_free int *rank = calloc((size_t)n, sizeof *rank), *behind = NULL;
    int groups = 0, at = 0, rc = 0;

    for (int i = 0; i < n; i++)
        groups = group[i] >= groups ? group[i] + 1 : groups;
    behind = calloc((size_t)groups, sizeof *behind);
    if (!member || !part || !rank || !behind)
        return eddis_fail(err, -ENOMEM, "no memory to split the batch");
    sort_by_group(group, n, groups, rank, behind);
    for (int g = 0; g < groups && rc == 0; at = behind[g++])
        if (behind[g] > at)
            rc = balance_one(w, &rank[at], behind[g] - at, grain, batch, member, part, err);
    return rc;
}
