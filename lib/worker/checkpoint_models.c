/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_models.c - write and read the library's part of a checkpoint
 *
 *     rank-0000.eddis.used      number of samples used of an epoch, if some are dropped
 *     rank-0000.eddis.samples   samples done; then first and count of every range that is left
 *     rank-....eddis.local      the parameters of a group's own model, by its root
 *     rank-....eddis.group      the ranks of that group
 *     rank-....eddis.float32    float32 copy that the group keeps of its 16-bit parameters
 *     rank-0000.eddis.centre    the same of the centre
 *     rank-0000.eddis.outer     momentum of the outer optimizer, its float32 and float64 numbers
 *
 * The program itself puts the centre: the parameters are the centre while the checkpoint is
 * written.  If the groups are the same after a restore, each continues with its own model;
 * otherwise all continue with the centre.  In local mode a checkpoint is made when a round has
 * ended, so groups have no models of their own, and the common model is the centre.  Sync mode
 * takes the samples that are left in their order.  With several models workers count their own
 * steps, so the checkpoint's step is the one at which sync mode has done as many samples.  Numbers
 * are in this machine's byte order, as parameters are.
 */
#include "checkpoint_models.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/sync/elastic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_CENTRE  "eddis.centre"
#define KEPT_FLOAT32 "eddis.float32"
#define KEPT_GROUP   "eddis.group"
#define KEPT_LOCAL   "eddis.local"
#define KEPT_OUTER   "eddis.outer"
#define KEPT_SAMPLES "eddis.samples"
#define KEPT_USED    "eddis.used"

/* ---- how far the job is ---- */

/* Return how many of the job's samples are done: all except those in left [n]. */
static int64_t done_but(const struct centre *m, const struct range *left, size_t n)
{
    int64_t done = samples_total(m->samples);

    for (size_t i = 0; i < n; i++)
        done -= left[i].count;
    return done;
}

/* Return how many steps sync mode makes until `done` samples are done, rounded down; this is the
 * number of its next step.
 */
static int64_t step_of_done(const struct centre *m, int64_t done)
{
    int64_t n = sampler_used(m->samples->sampler);

    return done / n * sampler_steps_in_epoch(m->samples->sampler) +
           done % n / m->samples->global_batch;
}

/* ---- writing ---- */

/* Wait until the centre has all increments, copy this worker's parameters to k->local, and replace
 * them by the centre; on rank 0 also request the centre's float32 values.  Collective.  Return 0 or
 * a negative errno.
 */
static int checkpoint_models_centre(struct centre *m, struct checkpoint_models *k,
                                    struct eddis_error *err)
{
    int rc = centre_exchange(m, SYNC_SETTLE, err);

    if (rc == 0)
        rc = collectives_barrier(m->all, err);
    if (rc < 0)
        return rc;
    k->local_bytes = parameters_bytes(m->parameters);
    k->local = malloc(k->local_bytes + 1);
    if (k->local)
        elastic_values_gather(m->value, m->parameters->n, k->local);
    else
        rc = eddis_fail(err, -ENOMEM, "no memory for a copy of the model");
    if (rc == 0 && m->all->place.rank == 0)
        rc = centre_halves_want(m, err);
    rc = collectives_agree(m->all, rc, err);
    return rc < 0 ? rc : centre_exchange(m, SYNC_ADOPT, err);
}

/* Set k->left and k->n_left to the ranges of samples that are left, on rank 0 only.  The shared
 * counter is frozen meanwhile.  Collective.  Return 0 or a negative errno.
 */
static int checkpoint_models_samples(struct centre *m, struct checkpoint_models *k,
                                     struct eddis_error *err)
{
    int rc = collectives_agree(m->all, samples_freeze(m->samples, err), err);

    if (rc == 0)
        rc = samples_left(m->samples, &k->left, &k->n_left, err);
    samples_thaw(m->samples);
    return collectives_agree(m->all, rc, err);
}

/* Set k->step from the samples done, which only rank 0 knows, to the same value on all workers.  A
 * worker's own step number does not count the job's steps.  Collective.  Return 0 or a negative
 * errno.
 */
static int checkpoint_models_step(struct centre *m, struct checkpoint_models *k,
                                  struct eddis_error *err)
{
    k->step = step_of_done(m, done_but(m, k->left, k->n_left));
    return collectives_broadcast(m->all, &k->step, sizeof k->step, 0, err);
}

/* In local mode, when a round has ended, request the float32 values of the common model on rank 0.
 * Collective.  Return 0 or a negative errno.
 */
static int checkpoint_models_common(struct centre *m, struct eddis_error *err)
{
    int rc = m->all->place.rank == 0 ? centre_halves_want(m, err) : 0;

    rc = collectives_agree(m->all, rc, err);
    return rc < 0 ? rc : centre_exchange(m, SYNC_ADOPT, err);
}

/* With several models, wait until all workers are at the checkpoint, then collect the centre
 * (unless the parameters are the centre already) and the samples left.  Collective.  Return 0,
 * EDDIS_ROUND_ENDED, or a negative errno.
 */
static int checkpoint_models_meet(struct centre *m, struct checkpoint_models *k,
                                  struct eddis_error *err)
{
    int rc = m->finished ? 0 : centre_meet(m, err);

    if (rc == 0 && m->started && m->group->rounds)
        rc = checkpoint_models_common(m, err);
    else if (rc == 0 && m->started && !m->finished)
        rc = checkpoint_models_centre(m, k, err);
    return rc != 0 ? rc : checkpoint_models_samples(m, k, err);
}

int checkpoint_models_take(struct centre *m, struct checkpoint_models *k, struct eddis_error *err)
{
    int rc;

    k->step = m->samples->step;
    k->listed = samples_listed(m->samples);
    if (!k->listed)
        return m->group->several ? eddis_fail(err, -EINVAL, "call eddis_commit before a checkpoint")
                                 : 0;
    if (m->group->several)
        rc = checkpoint_models_meet(m, k, err);
    else
        rc = samples_left(m->samples, &k->left, &k->n_left, err);
    return rc != 0 ? rc : checkpoint_models_step(m, k, err);
}

/* On rank 0, write the list of samples left to the checkpoint: { samples done, first, count, first,
 * count, ... }.  -ENOMEM, or a failure of checkpoint_put.
 */
static int put_samples(const struct centre *m, const struct checkpoint_models *k,
                       struct checkpoint *files, struct eddis_error *err)
{
    size_t n = 1 + 2 * k->n_left;
    cleanup_free int64_t *number = calloc(n, sizeof *number);

    if (!number)
        return eddis_fail(err, -ENOMEM, "no memory for ranges of samples");
    number[0] = done_but(m, k->left, k->n_left);
    for (size_t i = 0; i < k->n_left; i++) {
        number[1 + 2 * i] = k->left[i].first;
        number[2 + 2 * i] = k->left[i].count;
    }
    return checkpoint_put(files, 0, KEPT_SAMPLES, number, n * sizeof *number, err);
}

/* Return the bytes of m->group->member. */
static size_t group_bytes(const struct centre *m)
{
    return (size_t)m->group->place.n_ranks * sizeof *m->group->member;
}

/* On rank 0, if some samples of an epoch are dropped, write to the checkpoint how many are used:
 * steps and positions count only these.  Return 0, also if nothing is written, or the failure of
 * checkpoint_put.
 */
static int put_used(const struct centre *m, struct checkpoint *files, struct eddis_error *err)
{
    int64_t used = sampler_used(m->samples->sampler);

    if (m->all->place.rank != 0 || used == m->samples->order.samples)
        return 0;
    return checkpoint_put(files, 0, KEPT_USED, &used, sizeof used, err);
}

/* On a group's root, write the group's members and, if it has any, its own model and its float32
 * copy of 16-bit parameters to the checkpoint.  Return 0 or the failure of checkpoint_put.
 */
static int put_models(const struct centre *m, const struct checkpoint_models *k,
                      struct checkpoint *files, struct eddis_error *err)
{
    const struct sync_halves *h = &m->halves;
    int rank = m->all->place.rank;
    int rc = checkpoint_put(files, rank, KEPT_GROUP, m->group->member, group_bytes(m), err);

    if (rc == 0 && k->local)
        rc = checkpoint_put(files, rank, KEPT_LOCAL, k->local, k->local_bytes, err);
    if (rc == 0 && k->local && h->n)
        rc = checkpoint_put(files, rank, KEPT_FLOAT32, h->kept, h->n * sizeof *h->kept, err);
    return rc;
}

/* On rank 0, write the centre's float32 values of 16-bit parameters, if known, to the checkpoint;
 * also at the end, when no group has its own model.  Return 0 or the failure of checkpoint_put.
 */
static int put_centre(const struct centre *m, struct checkpoint *files, struct eddis_error *err)
{
    const struct sync_halves *h = &m->halves;

    if (!h->n || !h->centre || m->all->place.rank != 0)
        return 0;
    return checkpoint_put(files, 0, KEPT_CENTRE, h->centre, h->n * sizeof *h->centre, err);
}

/* Return the bytes of the outer optimizer's momentum of one type. */
static size_t outer_bytes(const struct centre *m, int type)
{
    return m->momentum[type] ? sync_centre_size(m->value, m->parameters->n, sync_type[type]) *
                                   comm_type_bytes(sync_type[type])
                             : 0;
}

/* On rank 0, write the momentum of the outer optimizer, if it has one, to the checkpoint.  Return
 * 0, -ENOMEM, or the failure of checkpoint_put.
 */
static int put_outer(const struct centre *m, struct checkpoint *files, struct eddis_error *err)
{
    size_t bytes[SYNC_TYPES] = { outer_bytes(m, 0), outer_bytes(m, 1) };
    cleanup_free char *both = NULL;

    if (m->all->place.rank != 0 || bytes[0] + bytes[1] == 0)
        return 0;
    both = malloc(bytes[0] + bytes[1]);
    if (!both)
        return eddis_fail(err, -ENOMEM, "no memory for a copy of the outer optimizer's momentum");
    for (int t = 0; t < SYNC_TYPES; t++)
        if (bytes[t])
            memcpy(both + (t ? bytes[0] : 0), m->momentum[t], bytes[t]);
    return checkpoint_put(files, 0, KEPT_OUTER, both, bytes[0] + bytes[1], err);
}

int checkpoint_models_put(const struct centre *m, const struct checkpoint_models *k,
                          struct checkpoint *files, struct eddis_error *err)
{
    int rc = put_used(m, files, err);

    if (rc == 0 && k->listed && m->all->place.rank == 0)
        rc = put_samples(m, k, files, err);
    if (rc < 0 || !k->listed || !group_is_root(m->group))
        return rc;
    if (k->local || (m->group->rounds && !m->finished))
        rc = put_models(m, k, files, err);
    if (rc == 0)
        rc = put_outer(m, files, err);
    return rc < 0 ? rc : put_centre(m, files, err);
}

void checkpoint_models_release(struct centre *m, struct checkpoint_models *k)
{
    if (k->local) {
        elastic_values_scatter(m->value, m->parameters->n, k->local);
        centre_halves_give(m, NULL, NULL);
    }
    free(k->local);
    free(k->left);
    *k = (struct checkpoint_models){ 0 };
}

/* ---- reading ---- */

int checkpoint_models_check(const struct centre *m, const struct checkpoint *files,
                            struct eddis_error *err)
{
    int64_t used = sampler_used(m->samples->sampler), was = checkpoint_meta(files)->samples;
    int rc = 0;

    if (checkpoint_size(files, 0, KEPT_USED) >= 0)
        rc = checkpoint_get(files, 0, KEPT_USED, &was, sizeof was, err);
    if (rc < 0 || was == used)
        return rc;
    return eddis_fail(err, -EINVAL,
                      "the checkpoint was made with %lld of an epoch's %lld samples in use, but "
                      "this job uses %lld (drop_last, min_count)",
                      (long long)was, (long long)m->samples->order.samples, (long long)used);
}

/* Check whether the checkpoint lists the samples that are left.  It does if it was made with
 * several models, or by a job that resumed from a checkpoint which lists them.
 */
static bool lists_samples(const struct checkpoint *files)
{
    return checkpoint_size(files, 0, KEPT_SAMPLES) >= 0;
}

/* Store in *ret the range of all samples that sync mode takes from this step on.  Return 1, or 0 if
 * there are none.
 */
static int left_of_step(const struct centre *m, int64_t step, struct range *ret)
{
    int64_t per_epoch = sampler_steps_in_epoch(m->samples->sampler);
    int64_t in_epoch = step % per_epoch * m->samples->global_batch;
    int64_t total = samples_total(m->samples);

    ret->first = step / per_epoch * sampler_used(m->samples->sampler) + in_epoch;
    ret->count = total - ret->first;
    return ret->count > 0;
}

/* Convert number [1 + 2 n], the list in a file, to ranges ret [n].  *ret_total: samples of all
 * epochs of the job that wrote the list.  Return 0 or -EBADMSG: the ranges are not in order, or do
 * not fit the total.
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
        return eddis_fail(err, -EBADMSG,
                          "the checkpoint is damaged: its '%s' is not a list of samples",
                          KEPT_SAMPLES);
    *ret_total = total;
    return 0;
}

/* Change left [n], the list of a job of `before` samples, to that of a job of `total` samples,
 * which may have more or fewer epochs: add a range or cut the list off.  `left` has room for n + 1
 * ranges.  Return their new number.
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

/* Store the samples that are left in *ret [*ret_n], which the caller frees: those that the
 * checkpoint lists, or else those that follow its step.  Return 0 or a negative errno, and then
 * *ret is unchanged; -EBADMSG: the list is damaged.
 */
static int get_samples(const struct centre *m, const struct checkpoint *files, struct range **ret,
                       size_t *ret_n, struct eddis_error *err)
{
    int64_t bytes = checkpoint_size(files, 0, KEPT_SAMPLES), before = 0;
    size_t n = bytes > 0 ? (size_t)bytes / sizeof(int64_t) : 0;
    cleanup_free int64_t *number = calloc(n + 1, sizeof *number);
    cleanup_free struct range *left = calloc(n / 2 + 1, sizeof *left);
    int rc = 0;

    if (!number || !left)
        return eddis_fail(err, -ENOMEM, "no memory for ranges of samples");
    if (bytes >= 0 && bytes % (int64_t)(2 * sizeof *number) != (int64_t)sizeof *number)
        return eddis_fail(
            err, -EBADMSG,
            "checkpoint '%s' is damaged: its '%s' of %lld bytes is not a list of samples",
            checkpoint_folder(files), KEPT_SAMPLES, (long long)bytes);
    if (n) {
        rc = checkpoint_get(files, 0, KEPT_SAMPLES, number, (size_t)bytes, err);
        if (rc == 0)
            rc = samples_parse(number, (n - 1) / 2, left, &before, err);
        if (rc == 0)
            *ret_n = samples_fit(left, (n - 1) / 2, before, samples_total(m->samples));
    } else {
        *ret_n = (size_t)left_of_step(m, checkpoint_meta(files)->step, left);
    }
    if (rc == 0)
        *ret = cleanup_keep(left);
    return rc;
}

/* Return 1 if the checkpoint's job had as many ranks and this worker's group has the same members;
 * 0 if not; or a failure.
 */
static int get_group(const struct centre *m, const struct checkpoint *files,
                     struct eddis_error *err)
{
    int root = m->group->member[0], rc;
    size_t bytes = group_bytes(m);
    cleanup_free int *member = malloc(bytes);

    if (!member)
        return eddis_fail(err, -ENOMEM, "no memory for a group of workers");
    if (checkpoint_meta(files)->n_ranks != m->all->place.n_ranks ||
        checkpoint_size(files, root, KEPT_GROUP) != (int64_t)bytes)
        return 0;
    rc = checkpoint_get(files, root, KEPT_GROUP, member, bytes, err);
    return rc < 0 ? rc : memcmp(member, m->group->member, bytes) == 0;
}

int checkpoint_models_own(const struct centre *m, const struct checkpoint *files,
                          struct eddis_error *err)
{
    if (m->group->several)
        return get_group(m, files, err);
    return m->all->place.rank < checkpoint_meta(files)->n_ranks;
}

/* Read the group's own model into *ret, which the caller frees; leave it NULL if the checkpoint has
 * none for this group, or one of another size.  Return 0 or a negative errno.
 */
static int get_local(const struct centre *m, const struct checkpoint *files, void **ret,
                     struct eddis_error *err)
{
    size_t bytes = parameters_bytes(m->parameters);
    cleanup_free void *local = malloc(bytes + 1);
    int root = m->group->member[0], rc = get_group(m, files, err);

    if (rc == 1 && !local)
        return eddis_fail(err, -ENOMEM, "no memory for a copy of the model");
    if (rc < 0)
        return rc;
    if (rc == 0 || checkpoint_size(files, root, KEPT_LOCAL) != (int64_t)bytes)
        return 0;
    rc = checkpoint_get(files, root, KEPT_LOCAL, local, bytes, err);
    if (rc < 0)
        return rc;
    *ret = cleanup_keep(local);
    return 0;
}

/* What a group continues with after a restore. */
struct own_model {
    void *local;          /* the group's parameters; NULL: the centre's */
    float *centre, *kept; /* arguments of centre_halves_give */
    char *outer;          /* momentum of the outer optimizer; NULL: it begins with 0 */
};

/* Free the members of *own that nobody has taken (a member that was taken is NULL). */
static void own_model_free(struct own_model *own)
{
    free(own->local);
    free(own->centre);
    free(own->kept);
    free(own->outer);
}

/* Read entry `name` of this rank, float32 values [m->halves.n], into *ret, which the caller frees.
 * If there is no such entry or it has another size, leave *ret as it is and return 0.
 */
static int get_halves(const struct centre *m, const struct checkpoint *files, int rank,
                      const char *name, float **ret, struct eddis_error *err)
{
    size_t bytes = m->halves.n * sizeof **ret;
    cleanup_free float *x = NULL;
    int rc;

    if (!bytes || checkpoint_size(files, rank, name) != (int64_t)bytes)
        return 0;
    x = malloc(bytes);
    if (!x)
        return eddis_fail(err, -ENOMEM, "no memory for %zu parameters as float32", m->halves.n);
    rc = checkpoint_get(files, rank, name, x, bytes, err);
    if (rc == 0)
        *ret = cleanup_keep(x);
    return rc;
}

/* Read the momentum of the outer optimizer into *ret, which the caller frees.  If the checkpoint
 * has none of this size, leave *ret as it is and return 0; rank 0 prints if it has another.  The
 * entry is one row in the order of registration, without names: other parameters of the same total
 * size are not noticed here.
 */
static int get_outer(const struct centre *m, const struct checkpoint *files, char **ret,
                     struct eddis_error *err)
{
    size_t bytes = outer_bytes(m, 0) + outer_bytes(m, 1);
    int64_t kept = checkpoint_size(files, 0, KEPT_OUTER);
    cleanup_free char *both = NULL;
    int rc;

    if (bytes && kept >= 0 && kept != (int64_t)bytes && m->all->place.rank == 0)
        (void)fprintf(stderr,
                      "eddis: checkpoint '%s' has the outer optimizer's momentum of other "
                      "parameters than this job's: it begins without momentum\n",
                      checkpoint_folder(files));
    if (!bytes || kept != (int64_t)bytes)
        return 0;
    both = malloc(bytes);
    if (!both)
        return eddis_fail(err, -ENOMEM, "no memory for the outer optimizer's momentum");
    rc = checkpoint_get(files, 0, KEPT_OUTER, both, bytes, err);
    if (rc == 0)
        *ret = cleanup_keep(both);
    return rc;
}

/* Read from a checkpoint what only this worker's group has: its own model, and the float32 values
 * of the parameters that are 16-bit, those of the center and those of the group's model.  In local
 * mode read those of the common model, and the outer optimizer's momentum.  Members
 * of *own that the checkpoint does not hold stay NULL.  Return 0 or a negative errno of reading;
 * the caller frees the members in either case.
 */
static int get_own(const struct centre *m, const struct checkpoint *files, struct own_model *own,
                   struct eddis_error *err)
{
    int rc = m->group->rounds ? get_outer(m, files, &own->outer, err)
                              : get_local(m, files, &own->local, err);

    if (rc == 0)
        rc = get_halves(m, files, 0, KEPT_CENTRE, &own->centre, err);
    if (rc == 0 && own->local)
        rc = get_halves(m, files, m->group->member[0], KEPT_FLOAT32, &own->kept, err);
    return rc;
}

/* Set the counts of checkpoints in m after a restore, with so many samples done.  Checkpoints that
 * are due by then count as made, and so do those requested by plans that every worker knows.
 * Collective.  Return 0 or a negative errno.
 */
static int count_checkpoints(struct centre *m, struct plan_switch *plan_switch, int64_t done,
                             struct eddis_error *err)
{
    int64_t planned = plan_switch_checkpoints(plan_switch);
    int rc = collectives_least(m->all, &planned, 1, err);

    if (rc < 0)
        return rc;
    m->due_before = centre_due(m, done);
    m->planned_before = planned;
    m->flagged = 0;
    return 0;
}

/* Set the outer optimizer's momentum to that of a checkpoint; NULL: to 0. */
static void give_outer(struct centre *m, const char *outer)
{
    for (int t = 0; t < SYNC_TYPES; t++) {
        size_t bytes = outer_bytes(m, t);

        if (bytes && outer)
            memcpy(m->momentum[t], outer, bytes);
        else if (bytes)
            memset(m->momentum[t], 0, bytes);
        outer = outer ? outer + bytes : NULL;
    }
}

/* Detach from the centre and keep *own for the next centre_start.  Takes own->local and own->centre
 * and sets them to NULL; own->kept is copied.  Collective.  Return 0 or a negative errno.
 */
static int models_go_back(struct centre *m, struct plan_switch *plan_switch, struct own_model *own,
                          int64_t done, struct eddis_error *err)
{
    int rc = centre_go_back(m, err);

    free(m->local);
    m->local = cleanup_keep(own->local);
    centre_halves_give(m, cleanup_keep(own->centre), own->kept);
    give_outer(m, own->outer);
    return rc < 0 ? rc : count_checkpoints(m, plan_switch, done, err);
}

/* Check whether the samples can be resumed: the job names the mode, or eddis_commit has chosen it;
 * with several models there is a counter.
 */
static bool may_resume(const struct centre *m)
{
    bool named = m->area && m->area->mode_named;

    return (named || samples_settled(m->samples)) &&
           (!m->group->several || samples_listed(m->samples));
}

int checkpoint_models_restore(struct centre *m, struct plan_switch *plan_switch,
                              const struct checkpoint *files, int64_t *ret_done,
                              struct eddis_error *err)
{
    struct samples_rest rest = { .step = checkpoint_meta(files)->step };
    cleanup_free struct range *left = NULL;
    struct own_model own = { 0 };
    bool several = m->group->several;
    int rc = 0;

    *ret_done = 0;
    if (!may_resume(m))
        return eddis_fail(err, -EINVAL, "call eddis_commit before a checkpoint is restored");
    if (several || lists_samples(files)) {
        rc = get_samples(m, files, &left, &rest.n_left, err);
        if (rc == 0 && several)
            rc = get_own(m, files, &own, err);
        rc = collectives_agree(m->all, rc, err);
        rest.left = left;
        *ret_done = done_but(m, left, rest.n_left);
        rest.step = step_of_done(m, *ret_done);
    }
    if (rc == 0 && several)
        rc = models_go_back(m, plan_switch, &own, *ret_done, err);
    own_model_free(&own);
    if (rc == 0)
        rc = samples_resume(m->samples, &rest, err);
    if (rc == 0)
        plan_switch_resume(plan_switch, rest.step);
    return rc;
}
