/* SPDX-License-Identifier: Apache-2.0 */
/* samples_left.c - the list in a checkpoint of the samples that are not done, of all groups */
#include "samples.h"

#include "samples_feed.h"

#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The samples left that this worker knows of, all at one moment. */
struct snapshot {
    struct range *own; /* [n_own] taken by this group and not done; only on its root */
    size_t n_own;
    struct range *rest; /* [n_rest] that nobody has taken; only on rank 0 */
    size_t n_rest;
};

/* Free both lists of the snapshot. */
static void snapshot_fini(struct snapshot *x)
{
    free(x->own);
    free(x->rest);
}

/* Return how many samples are taken, by all groups: `counted` if they share a counter. */
static int64_t taken_by_all(const struct samples *s, int64_t counted)
{
    if (s->group->rounds)
        return s->rounds.counter;
    return s->group->several ? counted : s->counter.counted;
}

/* Store in *ret the samples left at this moment; the caller calls snapshot_fini, also after a
 * failure.  `counted`: position of the shared counter; ignored if each worker counts by itself.
 * Return 0 or -ENOMEM.
 */
static int snapshot_make(struct samples *s, int64_t counted, struct snapshot *ret,
                         struct eddis_error *err)
{
    *ret = (struct snapshot){ .n_own = 0 };
    pthread_mutex_lock(&s->lock);
    if (group_is_root(s->group))
        ret->n_own = ranges_n_unfinished(s->ranges);
    ret->own = calloc(ret->n_own + 1, sizeof *ret->own);
    ret->rest = calloc(ranges_n_rest(s->ranges) + 1, sizeof *ret->rest);
    if (ret->own && ret->n_own)
        ranges_unfinished(s->ranges, ret->own);
    if (ret->rest && s->all->place.rank == 0)
        ret->n_rest = ranges_rest(s->ranges, taken_by_all(s, counted), ret->rest);
    pthread_mutex_unlock(&s->lock);
    if (!ret->own || !ret->rest)
        return eddis_fail(err, -ENOMEM, "no memory for ranges");
    return 0;
}

/* Store in *ret the position of the shared counter, read from the box on rank 0; 0 on other ranks,
 * and if each worker counts by itself.  Return 0 or a negative errno.
 */
static int samples_count(struct samples *s, int64_t *ret, struct eddis_error *err)
{
    struct smb_request q = { .kind = SMB_FETCH_ADD, .key = s->counter.key };
    int rc = 0;

    if (s->group->several && !s->group->rounds && s->all->place.rank == 0)
        rc = shared_buffers_ask_own(s->box, &q, err);
    *ret = samples_counter_at(q.value);
    return rc;
}

/* Collect on rank 0, in order in *ret [*ret_n], the ranges that the groups have taken and not done
 * (x->own) and those that nobody has taken (x->rest); the caller frees *ret.  Both are unchanged on
 * other ranks.  Return 0 or a negative errno.  Collective; for a moment every rank has all ranges.
 */
static int samples_gather(struct samples *s, const struct snapshot *x, struct range **ret,
                          size_t *ret_n, struct eddis_error *err)
{
    size_t ranks = (size_t)s->all->place.n_ranks, longest = 0, n = 0;
    cleanup_free int64_t *length = calloc(ranks, sizeof *length);
    cleanup_free struct range *own = NULL, *all = NULL, *left = NULL;
    int64_t mine = (int64_t)x->n_own;
    int rc = collectives_agree(s->all,
                               length ? 0 : eddis_fail(err, -ENOMEM, "no memory for ranges"), err);

    if (rc == 0)
        rc = collectives_allgather(s->all, &mine, length, sizeof mine, err);
    for (size_t i = 0; rc == 0 && i < ranks; i++)
        longest = (size_t)length[i] > longest ? (size_t)length[i] : longest;
    if (rc < 0)
        return rc;
    own = calloc(longest + 1, sizeof *own);
    all = calloc(ranks * longest + 1, sizeof *all);
    left = calloc(ranks * longest + x->n_rest + 1, sizeof *left);
    rc = own && all && left ? 0 : eddis_fail(err, -ENOMEM, "no memory for ranges");
    rc = collectives_agree(s->all, rc, err);
    if (rc < 0)
        return rc;
    memcpy(own, x->own, x->n_own * sizeof *own);
    rc = collectives_allgather(s->all, own, all, longest * sizeof *own, err);
    if (rc < 0 || s->all->place.rank != 0)
        return rc;
    for (size_t i = 0; i < ranks; i++)
        for (int64_t k = 0; k < length[i]; k++)
            left[n++] = all[i * longest + (size_t)k];
    memcpy(left + n, x->rest, x->n_rest * sizeof *left);
    *ret_n = ranges_join(left, n + x->n_rest);
    *ret = cleanup_keep(left);
    return 0;
}

int samples_left(struct samples *s, struct range **ret, size_t *ret_n, struct eddis_error *err)
{
    struct snapshot x = { .n_own = 0 };
    int64_t counted = 0;
    int rc = s->group->rounds ? samples_rounds_level_all(s, err) : 0;

    if (rc == 0)
        rc = samples_count(s, &counted, err);

    if (rc == 0)
        rc = snapshot_make(s, counted, &x, err);
    rc = collectives_agree(s->all, rc, err);
    if (rc == 0)
        rc = samples_gather(s, &x, ret, ret_n, err);
    snapshot_fini(&x);
    return rc;
}
