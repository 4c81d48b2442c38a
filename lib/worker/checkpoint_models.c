/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_models.c - what a checkpoint of async or hybrid mode holds besides the program's files
 *
 *     rank-0000.eddis.samples   samples done; then first and count of every range that is left
 *     rank-....eddis.local      the parameters of a group's own model, by its root
 *     rank-....eddis.group      the ranks of that group
 *
 * The program itself puts the centre: it is in the place of the parameters while the checkpoint is
 * written.  Restored with the same groups every group goes on with its own model, otherwise all go
 * on with the centre; sync mode takes the samples that are left in their order.  Numbers are in
 * this machine's order of bytes, as parameters are.
 */
#include "worker.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_GROUP   "eddis.group"
#define KEPT_LOCAL   "eddis.local"
#define KEPT_SAMPLES "eddis.samples"

/* ---- writing ---- */

/* All increments are in the centre, and it is in the parameters. */
static int checkpoint_models_centre(struct eddis *e, struct checkpoint_models *k,
                                    struct eddis_error *err)
{
    int rc = centre_exchange(e, SYNC_SETTLE, err);

    if (rc == 0)
        rc = collectives_barrier(&e->all, err);
    if (rc < 0)
        return rc;
    k->local_bytes = parameters_bytes(&e->parameters);
    k->local = parameters_copy(&e->parameters);
    rc = collectives_agree(
        &e->all, k->local ? 0 : eddis_fail(err, -ENOMEM, "no memory for a copy of the model"), err);
    return rc < 0 ? rc : centre_exchange(e, SYNC_ADOPT, err);
}

static int checkpoint_models_samples(struct eddis *e, struct checkpoint_models *k,
                                     struct eddis_error *err)
{
    int rc = collectives_agree(&e->all, samples_freeze(e, err), err);

    if (rc == 0)
        rc = samples_left(e, &k->left, &k->n_left, err);
    samples_thaw(e);
    return collectives_agree(&e->all, rc, err);
}

int checkpoint_models_take(struct eddis *e, struct checkpoint_models *k, struct eddis_error *err)
{
    int rc;

    k->step = e->step;
    if (!centre_several(e))
        return e->samples.ranges ? samples_left(e, &k->left, &k->n_left, err) : 0;
    if (!e->samples.ranges)
        return eddis_fail(err, -EINVAL, "call eddis_commit before a checkpoint");
    rc = e->centre.finished ? 0 : centre_meet(e, err);
    if (rc == 0)
        rc = collectives_allreduce(
            &e->all,
            &(struct allreduce){ .data = &k->step, .n = 1, .type = COMM_INT64, .rule = COMM_MAX },
            err);
    if (rc == 0 && e->centre.started && !e->centre.finished)
        rc = checkpoint_models_centre(e, k, err);
    return rc < 0 ? rc : checkpoint_models_samples(e, k, err);
}

/* { samples done, first, count, first, count, ... } */
static int put_samples(const struct eddis *e, const struct checkpoint_models *k,
                       struct checkpoint *files, struct eddis_error *err)
{
    size_t n = 1 + 2 * k->n_left;
    cleanup_free int64_t *number = calloc(n, sizeof *number);

    if (!number)
        return eddis_fail(err, -ENOMEM, "no memory for ranges of samples");
    number[0] = ranges_total(e->samples.ranges);
    for (size_t i = 0; i < k->n_left; i++) {
        number[0] -= k->left[i].count;
        number[1 + 2 * i] = k->left[i].first;
        number[2 + 2 * i] = k->left[i].count;
    }
    return checkpoint_put(files, 0, KEPT_SAMPLES, number, n * sizeof *number, err);
}

static size_t group_bytes(const struct eddis *e)
{
    return (size_t)e->group.place.n_ranks * sizeof *e->group.member;
}

int checkpoint_models_put(struct eddis *e, const struct checkpoint_models *k,
                          struct checkpoint *files, struct eddis_error *err)
{
    int rc = 0;

    if (!e->samples.ranges)
        return 0;
    if (e->all.place.rank == 0)
        rc = put_samples(e, k, files, err);
    if (rc < 0 || !k->local || e->group.place.rank != 0)
        return rc;
    rc = checkpoint_put(files, e->all.place.rank, KEPT_GROUP, e->group.member, group_bytes(e), err);
    if (rc == 0)
        rc = checkpoint_put(files, e->all.place.rank, KEPT_LOCAL, k->local, k->local_bytes, err);
    return rc;
}

void checkpoint_models_release(struct eddis *e, struct checkpoint_models *k)
{
    if (k->local)
        parameters_put_back(&e->parameters, k->local);
    free(k->local);
    free(k->left);
    *k = (struct checkpoint_models){ 0 };
}

/* ---- reading ---- */

bool checkpoint_models_has(const struct checkpoint *files)
{
    return checkpoint_size(files, 0, KEPT_SAMPLES) > 0;
}

static int64_t total_samples(const struct eddis *e)
{
    int64_t all;

    return e->options.epochs == 0 ||
                   __builtin_mul_overflow(e->options.samples, e->options.epochs, &all)
               ? INT64_MAX
               : all;
}

/* A checkpoint of sync mode: everything behind its step's place in the epoch. */
static int left_of_step(const struct eddis *e, int64_t step, struct range *ret)
{
    int64_t per_epoch = sampler_steps_in_epoch(e->sampler);
    int64_t in_epoch = step % per_epoch * e->global_batch;
    int64_t total = total_samples(e);

    ret->first = step / per_epoch * e->options.samples + in_epoch;
    ret->count = total - ret->first;
    return ret->count > 0;
}

/* The ranges of the file's numbers [1 + 2 n], which must be in order.  *ret_total: samples of all
 * epochs when they were written.
 */
static int samples_parse(const int64_t *number, size_t n, struct range *ret, int64_t *ret_total,
                         struct eddis_error *err)
{
    int64_t total = number[0], end = 0;
    bool good = total >= 0;

    for (size_t i = 0; good && i < n; i++) {
        struct range x = { number[1 + 2 * i], number[2 + 2 * i] };

        good = x.first >= end && x.count > 0 && !__builtin_add_overflow(x.first, x.count, &end) &&
               !__builtin_add_overflow(total, x.count, &total);
        ret[i] = x;
    }
    if (!good || end > total)
        return eddis_fail(err, -EINVAL, "file '%s' holds no list of samples", KEPT_SAMPLES);
    *ret_total = total;
    return 0;
}

/* The job may have more epochs now, or fewer, than the `before` samples of the list, which has room
 * for a range more.  Returns how many ranges there are.
 */
static size_t samples_fit(struct range *left, size_t n, int64_t before, int64_t total)
{
    if (total > before)
        left[n++] = (struct range){ before, total - before };
    while (n && left[n - 1].first >= total)
        n--;
    if (n && left[n - 1].count > total - left[n - 1].first)
        left[n - 1].count = total - left[n - 1].first;
    return ranges_join(left, n);
}

static int get_samples(const struct eddis *e, const struct checkpoint *files, struct range **ret,
                       size_t *ret_n, struct eddis_error *err)
{
    int64_t bytes = checkpoint_size(files, 0, KEPT_SAMPLES), before = 0;
    size_t n = bytes > 0 ? (size_t)bytes / sizeof(int64_t) : 0;
    cleanup_free int64_t *number = calloc(n + 1, sizeof *number);
    cleanup_free struct range *left = calloc(n / 2 + 1, sizeof *left);
    int rc = 0;

    if (!number || !left)
        return eddis_fail(err, -ENOMEM, "no memory for ranges of samples");
    if (n) {
        rc = checkpoint_get(files, 0, KEPT_SAMPLES, number, (size_t)bytes, err);
        if (rc == 0)
            rc = samples_parse(number, (n - 1) / 2, left, &before, err);
        if (rc == 0)
            *ret_n = samples_fit(left, (n - 1) / 2, before, total_samples(e));
    } else {
        *ret_n = (size_t)left_of_step(e, checkpoint_meta(files)->step, left);
    }
    if (rc == 0)
        *ret = cleanup_keep(left);
    return rc;
}

/* A list of nothing means everything to ranges_open: an empty range means nothing. */
static int begin_again(struct eddis *e, struct range *left, size_t n, struct eddis_error *err)
{
    struct range none = { 0, 0 };
    int64_t done = total_samples(e);

    for (size_t i = 0; i < n; i++)
        done -= left[i].count;
    if (!centre_several(e))
        return samples_begin_alike(e, n ? left : &none, n ? n : 1, done, err);
    e->centre.due_before = samples_due(e, done);
    e->centre.flagged = e->centre.planned = 0;
    return samples_begin(e, n ? left : &none, n ? n : 1, done, err);
}

/* Whether the group had the same members, of as many ranks: 1 or 0. */
static int get_group(const struct eddis *e, const struct checkpoint *files, struct eddis_error *err)
{
    int root = e->group.member[0], rc;
    size_t bytes = group_bytes(e);
    cleanup_free int *member = malloc(bytes);

    if (!member)
        return eddis_fail(err, -ENOMEM, "no memory for a group of workers");
    if (checkpoint_meta(files)->n_ranks != e->all.place.n_ranks ||
        checkpoint_size(files, root, KEPT_GROUP) != (int64_t)bytes)
        return 0;
    rc = checkpoint_get(files, root, KEPT_GROUP, member, bytes, err);
    return rc < 0 ? rc : memcmp(member, e->group.member, bytes) == 0;
}

/* The group's own model, when there was the same group; it replaces the centre after the start. */
static int get_local(struct eddis *e, const struct checkpoint *files, struct eddis_error *err)
{
    size_t bytes = parameters_bytes(&e->parameters);
    cleanup_free void *local = malloc(bytes + 1);
    int root = e->group.member[0], rc = get_group(e, files, err);

    if (rc == 1 && !local)
        return eddis_fail(err, -ENOMEM, "no memory for a copy of the model");
    if (rc <= 0 || checkpoint_size(files, root, KEPT_LOCAL) != (int64_t)bytes)
        return rc;
    rc = checkpoint_get(files, root, KEPT_LOCAL, local, bytes, err);
    if (rc < 0)
        return rc;
    free(e->centre.local);
    e->centre.local = cleanup_keep(local);
    return 0;
}

int checkpoint_models_restore(struct eddis *e, const struct checkpoint *files,
                              struct eddis_error *err)
{
    cleanup_free struct range *left = NULL;
    size_t n = 0;
    int rc;

    if (centre_several(e) && (!e->samples.ranges || e->centre.started))
        return eddis_fail(err, -EINVAL,
                          "a checkpoint is restored between eddis_commit and the first "
                          "step");
    rc = get_samples(e, files, &left, &n, err);
    if (rc == 0 && centre_several(e))
        rc = get_local(e, files, err);
    rc = collectives_agree(&e->all, rc, err);
    return rc < 0 ? rc : begin_again(e, left, n, err);
}
