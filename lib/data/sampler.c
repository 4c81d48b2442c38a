/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.c - plans ordered by their first step, and the split of a step by largest remainder */
#include "sampler.h"

#include "permutation.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 1 << 20 };

/* The batch sizes in force from a step on. */
struct plan {
    int64_t version, from_step;
    int64_t *batch; /* [n_ranks] */
    int64_t piece;  /* this rank's micro-batch size; 0: no limit */
    bool small;     /* some rank has fewer than min_count samples, but not 0 */
};

/* A sampler with its plans. */
struct sampler {
    struct sampler_options o;
    int64_t batch;     /* B; 0 before the first plan */
    int64_t asked;     /* highest step asked for; -1: none */
    int64_t forgotten; /* steps below it cannot be asked for any more */
    struct plan *plan; /* ordered by from_step, strictly increasing */
    size_t n_plans, plan_room;
};

int sampler_check_data(int64_t samples, int64_t epochs, struct eddis_error *err)
{
    if (samples < 1 || samples > PERMUTATION_MAX)
        return eddis_fail(err, -EINVAL, "an epoch of %lld samples is out of range, 1 to %lld",
                          (long long)samples, (long long)PERMUTATION_MAX);
    if (epochs < 0)
        return eddis_fail(err, -EINVAL, "%lld epochs are out of range", (long long)epochs);
    return 0;
}

int sampler_open(const struct sampler_options *o, struct sampler **ret, struct eddis_error *err)
{
    struct sampler *s;
    int rc = sampler_check_data(o->samples ? o->samples : 1, o->epochs, err);

    if (rc < 0)
        return rc;
    if (o->min_count < 0)
        return eddis_fail(err, -EINVAL, "the minimum batch of a worker cannot be %lld samples",
                          (long long)o->min_count);
    if (o->n_ranks < 1 || o->n_ranks > MAX_RANKS || o->rank < 0 || o->rank >= o->n_ranks)
        return eddis_fail(err, -EINVAL, "no rank %d among %d", o->rank, o->n_ranks);
    s = calloc(1, sizeof *s);
    if (!s)
        return eddis_fail(err, -ENOMEM, "no memory for a sampler");
    s->o = *o;
    s->asked = -1;
    *ret = s;
    return 0;
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_plans; i++)
        free(s->plan[i].batch);
    free(s->plan);
    free(s);
}

int sampler_set_data(struct sampler *s, int64_t samples, int64_t epochs, struct eddis_error *err)
{
    int rc = sampler_check_data(samples, epochs, err);

    if (rc < 0)
        return rc;
    s->o.samples = samples;
    s->o.epochs = epochs;
    return 0;
}

/* Check the batch sizes of all ranks and store their sum in *ret.  Return 0 or -EINVAL: one is
 * negative or too large, or the sum is 0.
 */
static int sum_of(const struct sampler *s, const int64_t *batch, int64_t *ret,
                  struct eddis_error *err)
{
    int64_t sum = 0;

    for (int i = 0; i < s->o.n_ranks; i++) {
        if (batch[i] < 0 || batch[i] > PERMUTATION_MAX - sum)
            return eddis_fail(err, -EINVAL, "rank %d cannot take %lld samples a step", i,
                              (long long)batch[i]);
        sum += batch[i];
    }
    if (sum == 0)
        return eddis_fail(err, -EINVAL, "no rank takes any samples");
    *ret = sum;
    return 0;
}

/* Check that a plan with this sum may follow the newest one.  -EINVAL or -ESTALE if not, as
 * sampler_add_plan.
 */
static int check_plan(const struct sampler *s, int64_t version, int64_t from_step, int64_t sum,
                      struct eddis_error *err)
{
    const struct plan *last = s->n_plans ? &s->plan[s->n_plans - 1] : NULL;

    if (!last) {
        if (from_step != 0)
            return eddis_fail(err, -EINVAL, "the first plan must apply from step 0");
        return 0;
    }
    if (sum != s->batch)
        return eddis_fail(err, -EINVAL,
                          "plan %lld has a global batch of %lld, the job has one of %lld",
                          (long long)version, (long long)sum, (long long)s->batch);
    if (version <= last->version)
        return eddis_fail(err, -EINVAL, "plan %lld cannot follow plan %lld", (long long)version,
                          (long long)last->version);
    if (from_step <= s->asked || from_step < last->from_step)
        return eddis_fail(err, -ESTALE,
                          "plan %lld cannot apply from step %lld, which is already fixed",
                          (long long)version, (long long)from_step);
    return 0;
}

/* Check whether some batch size is below min_count, but not 0. */
static bool has_small(const struct sampler *s, const int64_t *batch)
{
    for (int i = 0; i < s->o.n_ranks; i++)
        if (batch[i] > 0 && batch[i] < s->o.min_count)
            return true;
    return false;
}

int sampler_add_plan(struct sampler *s, int64_t version, int64_t from_step, const int64_t *batch,
                     struct eddis_error *err)
{
    size_t bytes = (size_t)s->o.n_ranks * sizeof *batch;
    struct plan *last = s->n_plans ? &s->plan[s->n_plans - 1] : NULL;
    cleanup_free int64_t *copy = NULL;
    int64_t sum = 0;
    int rc = sum_of(s, batch, &sum, err);

    if (rc == 0)
        rc = check_plan(s, version, from_step, sum, err);
    if (rc < 0)
        return rc;
    copy = malloc(bytes);
    if (!copy)
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    memcpy(copy, batch, bytes);
    if (last && last->from_step == from_step) {
        free(last->batch);
        s->n_plans--;
    } else if (!array_grow(&s->plan, &s->plan_room, s->n_plans, sizeof *s->plan)) {
        return eddis_fail(err, -ENOMEM, "no memory for a plan");
    }
    s->plan[s->n_plans++] = (struct plan){ .version = version,
                                           .from_step = from_step,
                                           .small = has_small(s, batch),
                                           .batch = cleanup_keep(copy) };
    if (!s->batch)
        s->batch = sum; /* constant from now on, so other threads may read it */
    return 0;
}

void sampler_set_piece(struct sampler *s, int64_t piece)
{
    s->plan[s->n_plans - 1].piece = piece;
}

/* Borrow the plan in force in a step. */
static const struct plan *plan_at(const struct sampler *s, int64_t step)
{
    size_t low = 0, high = s->n_plans;

    while (high - low > 1) {
        size_t mid = low + (high - low) / 2;

        if (s->plan[mid].from_step <= step)
            low = mid;
        else
            high = mid;
    }
    return &s->plan[low];
}

/* A rank's share of n samples. */
struct share {
    int64_t floor, rest; /* b n / B = floor + rest / B */
};

/* Return the share in n samples of a rank with batch size b, if all batch sizes together are `all`.
 */
static struct share share_of(int64_t b, int64_t n, int64_t all)
{
    unsigned __int128 product = (unsigned __int128)b * (unsigned __int128)n;

    return (struct share){ (int64_t)(product / (uint64_t)all), (int64_t)(product % (uint64_t)all) };
}

/* Compare two pairs { rest or batch, rank }: larger ones first, then lower ranks; for qsort. */
static int larger_first(const void *a, const void *b)
{
    const int64_t *x = a, *y = b; /* { rest or batch, rank } */

    if (x[0] != y[0])
        return x[0] < y[0] ? 1 : -1;
    return (x[1] > y[1]) - (x[1] < y[1]);
}

/* A split of n samples among n_ranks ranks in proportion to batch, whose sum is `all`, by largest
 * remainder: `left` samples remain after rounding down, and the `left` ranks with the largest rests
 * get one more each.
 */
struct split {
    int64_t *batch; /* [n_ranks] batch sizes, which split_make replaces by numbers of samples */
    int n_ranks;
    int64_t all, n; /* sum of batch; samples to split */
};

/* Set the batch sizes of as few ranks as possible to 0, so that each other rank gets at least
 * `least` samples, and p->all to the new sum.  If the k largest batches share, with sum S, the
 * smallest of them gets b n / S, which grows as k falls.  order: scratch [n_ranks].
 */
static void split_narrow(struct split *p, int64_t least, int64_t (*order)[2])
{
    int64_t sum = 0;
    int kept = p->n_ranks;

    for (int i = 0; i < p->n_ranks; i++) {
        order[i][0] = p->batch[i];
        order[i][1] = i;
        sum += p->batch[i];
    }
    qsort(order, (size_t)p->n_ranks, sizeof *order, larger_first);
    while (kept > 1 && (unsigned __int128)order[kept - 1][0] * (unsigned __int128)p->n <
                           (unsigned __int128)least * (unsigned __int128)sum) {
        kept--;
        sum -= order[kept][0];
        p->batch[order[kept][1]] = 0;
    }
    p->all = sum;
}

/* Replace the batch sizes in p by the ranks' numbers of samples; if possible each is 0 or at least
 * `least`.  Return 0 or -ENOMEM.
 */
static int split_make(struct split *p, int64_t least, struct eddis_error *err)
{
    cleanup_free int64_t(*order)[2] = malloc((size_t)p->n_ranks * sizeof *order);
    int64_t left = p->n;

    if (!order)
        return eddis_fail(err, -ENOMEM, "no memory to split a step");
    if (least > 1)
        split_narrow(p, least, order);
    for (int i = 0; i < p->n_ranks; i++) {
        struct share share = share_of(p->batch[i], p->n, p->all);

        order[i][0] = share.rest;
        order[i][1] = i;
        left -= share.floor;
        p->batch[i] = share.floor;
    }
    qsort(order, (size_t)p->n_ranks, sizeof *order, larger_first);
    for (int64_t i = 0; i < left; i++)
        p->batch[order[i][1]]++;
    return 0;
}

/* Split the ret->batch samples of a step by plan p.  Set ret->count to the rank's samples, and
 * advance ret->first from the step's first position to the rank's.  -ENOMEM.
 */
static int plan_part(const struct sampler *s, const struct plan *p, int rank,
                     struct sampler_step *ret, struct eddis_error *err)
{
    size_t bytes = (size_t)s->o.n_ranks * sizeof *p->batch;
    bool whole = ret->batch == s->batch && !p->small;
    cleanup_free int64_t *own = whole ? NULL : malloc(bytes);
    const int64_t *count = whole ? p->batch : own;
    struct split split = { own, s->o.n_ranks, s->batch, ret->batch };
    int rc = 0;

    if (!count)
        return eddis_fail(err, -ENOMEM, "no memory to split a step");
    if (!whole) {
        memcpy(own, p->batch, bytes);
        rc = split_make(&split, s->o.min_count, err);
    }
    for (int i = 0; i < rank; i++)
        ret->first += count[i];
    ret->count = count[rank];
    return rc;
}

int sampler_look(const struct sampler *s, int64_t step, int rank, struct sampler_step *ret,
                 struct eddis_error *err)
{
    int64_t per_epoch = sampler_steps_in_epoch(s);
    struct sampler_step r = { .step = step, .steps_in_epoch = per_epoch };
    const struct plan *p;
    int rc;

    if (!per_epoch || step < 0 || rank < 0 || rank >= s->o.n_ranks)
        return eddis_fail(err, -EINVAL, "no samples for step %lld of rank %d", (long long)step,
                          rank);
    if (step < s->forgotten)
        return eddis_fail(err, -ESTALE, "step %lld ended long ago", (long long)step);
    r.epoch = step / per_epoch;
    r.step_in_epoch = step % per_epoch;
    if (s->o.epochs && r.epoch >= s->o.epochs)
        return 0;
    p = plan_at(s, step);
    r.version = p->version;
    r.piece = p->piece;
    r.last_of_epoch = r.step_in_epoch + 1 == per_epoch;
    r.first = r.step_in_epoch * s->batch;
    r.batch = sampler_used(s) - r.first < s->batch ? sampler_used(s) - r.first : s->batch;
    if (__builtin_mul_overflow(r.epoch, sampler_used(s), &r.passed) ||
        __builtin_add_overflow(r.passed, r.first + r.batch, &r.passed))
        r.passed = INT64_MAX;
    rc = plan_part(s, p, rank, &r, err);
    if (rc < 0)
        return rc;
    *ret = r;
    return 1;
}

int sampler_ask(struct sampler *s, int64_t step, struct sampler_step *ret, struct eddis_error *err)
{
    int rc = sampler_look(s, step, s->o.rank, ret, err);

    if (rc == 1 && step > s->asked)
        s->asked = step;
    return rc;
}

int64_t sampler_group_batch(const struct sampler *s, const struct sampler_group *g)
{
    int64_t sum = 0;

    for (int i = 0; i < g->n_members; i++)
        sum += s->plan[s->n_plans - 1].batch[g->member[i]];
    return sum > s->o.min_count ? sum : s->o.min_count;
}

int sampler_counts(const struct sampler *s, const struct sampler_group *g, int64_t step, int64_t n,
                   int64_t *ret, struct eddis_error *err)
{
    struct split split = { .batch = ret, .n_ranks = g->n_members, .n = n };
    const struct plan *p;

    if (!s->n_plans || step < s->forgotten)
        return eddis_fail(err, -ESTALE, "step %lld ended long ago", (long long)step);
    p = plan_at(s, step);
    for (int i = 0; i < g->n_members; i++) {
        ret[i] = p->batch[g->member[i]];
        split.all += ret[i];
    }
    /* The samples were taken under an older plan that gave the group work: split them equally. */
    if (split.all == 0) {
        for (int i = 0; i < g->n_members; i++)
            ret[i] = 1;
        split.all = g->n_members;
    }
    return split_make(&split, s->o.min_count, err);
}

int sampler_share(struct sampler *s, const struct sampler_group *g, int64_t step, int64_t n,
                  struct sampler_step *ret, struct eddis_error *err)
{
    cleanup_free int64_t *count = malloc((size_t)g->n_members * sizeof *count);
    struct sampler_step r = { .step = step, .batch = n };
    int own = 0, rc;

    if (!count)
        return eddis_fail(err, -ENOMEM, "no memory to split a step");
    rc = sampler_counts(s, g, step, n, count, err);
    if (rc < 0)
        return rc;
    while (own + 1 < g->n_members && g->member[own] != s->o.rank)
        r.first += count[own++];
    r.count = count[own];
    r.version = plan_at(s, step)->version;
    r.piece = plan_at(s, step)->piece;
    r.steps_in_epoch = sampler_steps_in_epoch(s);
    if (step > s->asked)
        s->asked = step;
    *ret = r;
    return 0;
}

int64_t sampler_asked(const struct sampler *s)
{
    return s->asked;
}

/* Free the first n plans. */
static void drop_plans(struct sampler *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(s->plan[i].batch);
    s->n_plans -= n;
    if (n)
        memmove(s->plan, s->plan + n, s->n_plans * sizeof *s->plan);
}

void sampler_resume(struct sampler *s, int64_t step)
{
    if (s->n_plans) {
        drop_plans(s, s->n_plans - 1);
        s->plan[0].from_step = 0;
    }
    s->asked = step - 1;
    s->forgotten = step;
}

void sampler_forget(struct sampler *s, int64_t step)
{
    size_t gone = 0;

    if (step <= s->forgotten)
        return;
    s->forgotten = step;
    while (gone + 1 < s->n_plans && s->plan[gone + 1].from_step <= step)
        gone++;
    drop_plans(s, gone);
}

int sampler_indices(const struct sampler *s, int64_t epoch, int64_t first, int64_t count,
                    int64_t *ret, struct eddis_error *err)
{
    struct permutation p;

    if (epoch < 0 || first < 0 || count < 0 || first > s->o.samples || count > s->o.samples - first)
        return eddis_fail(err, -ERANGE, "%lld samples from %lld on are not inside an epoch of %lld",
                          (long long)count, (long long)first, (long long)s->o.samples);
    permutation_init(&p, s->o.samples, s->o.seed, epoch);
    for (int64_t i = 0; i < count; i++)
        ret[i] = permutation_at(&p, first + i);
    return 0;
}

int64_t sampler_used(const struct sampler *s)
{
    int64_t rest = s->batch ? s->o.samples % s->batch : 0;

    if (s->batch < s->o.min_count || !s->batch)
        return 0;
    return s->o.drop_last || rest < s->o.min_count ? s->o.samples - rest : s->o.samples;
}

int64_t sampler_steps_in_epoch(const struct sampler *s)
{
    int64_t used = sampler_used(s);

    return used ? (used - 1) / s->batch + 1 : 0;
}

int64_t sampler_steps(const struct sampler *s)
{
    int64_t per_epoch = sampler_steps_in_epoch(s), all;

    return __builtin_mul_overflow(per_epoch, s->o.epochs, &all) ? INT64_MAX : all;
}
