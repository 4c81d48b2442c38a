/* SPDX-License-Identifier: Apache-2.0 */
/* samples.c - samples from a counter that all workers share, in async and hybrid mode
 *
 * A group's root adds to the counter while a step computes, so that nobody waits for the answer.  A
 * member learns of a range with the tail of a step, and should know the next step, and whether that
 * ends its epoch, before it ends its own: the samples of steps t, t + 1 and t + 2 at step t.  So
 * the root has SAMPLES_AHEAD of them when it asks for another:
 *
 *     root     step t: asks for t + 4 | step t + 1: tells t + 4 with the tail |
 *     member                          |                                       | step t + 2
 */
#include "worker.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TAKE_SLICE_NS (CLOCK_S / 10)

static bool is_root(const struct eddis *e)
{
    return e->group.place.rank == 0;
}

static struct sampler_group samples_group(const struct eddis *e)
{
    return (struct sampler_group){ e->group.member, e->group.place.n_ranks };
}

/* The same on all workers.  One that has no members to tell needs one range less. */
static int ahead(const struct eddis *e)
{
    return e->group.n_groups < e->all.place.n_ranks ? SAMPLES_AHEAD : SAMPLES_AHEAD - 1;
}

/* ---- asking the counter; with plan_lock held, which is free while it waits ---- */

static void ask_prepare(struct eddis *e)
{
    const struct sampler_group g = samples_group(e);
    struct samples *t = &e->samples;

    t->asking = true;
    t->ask = (struct mail_box){ .mail.kind = MAIL_BOX,
                                .r = { .kind = SMB_FETCH_ADD,
                                       .key = t->counter,
                                       .add = sampler_group_batch(e->sampler, &g),
                                       .deadline_ns = clock_after_ns(clock_now_ns(),
                                                                     COLLECTIVES_TIMEOUT_NS) } };
}

/* The counter has answered. */
static int ask_answered(struct eddis *e, struct eddis_error *err)
{
    struct samples *t = &e->samples;
    struct range x = { t->ask.r.value, t->ask.r.add };
    int rc = t->ask.r.rc < 0 ? eddis_fail(err, t->ask.r.rc, "the shared counter of samples: %s",
                                          t->ask.r.error.text)
                             : ranges_add(t->ranges, x.first, x.count, err);

    t->asking = false;
    if (rc == 0 && e->group.place.n_ranks > 1)
        t->told[t->n_told++] = ranges_exhausted(t->ranges) ? (struct range){ 0, -1 } : x;
    return rc;
}

/* Every worker does the same, in the same order. */
static int samples_alike(struct eddis *e, struct eddis_error *err)
{
    int rc = ranges_add(e->samples.ranges, e->samples.counted, e->global_batch, err);

    e->samples.counted += e->global_batch;
    return rc;
}

/* Have the next range, asked for now or before. */
static int samples_draw(struct eddis *e, struct eddis_error *err)
{
    struct samples *t = &e->samples;
    struct comm_wait w = { .kind = WAIT_BOX, .box = &t->ask };
    bool send = !t->asking;
    int rc;

    /* Before any are taken: what the group never heard of nobody would do. */
    if (send && t->n_told == SAMPLES_TOLD)
        return eddis_fail(err, -EAGAIN,
                          "the samples of %d steps were asked for ahead, the group "
                          "knows of none of them yet",
                          SAMPLES_TOLD);
    t->busy = true;
    if (send)
        ask_prepare(e);
    pthread_mutex_unlock(&e->plan_lock);
    if (send)
        comm_thread_send(e->comm_thread, &t->ask.mail);
    rc = comm_thread_wait(e->comm_thread, &w, CLOCK_NEVER, err); /* has its own deadline */
    pthread_mutex_lock(&e->plan_lock);
    if (rc == 0)
        rc = ask_answered(e, err);
    t->busy = false;
    pthread_cond_broadcast(&e->plan_agreed);
    return rc;
}

/* For another thread, or the group's root. */
static int samples_wait(struct eddis *e, struct eddis_error *err)
{
    int64_t slice = clock_after_ns(clock_now_ns(), TAKE_SLICE_NS);
    struct timespec ts = { .tv_sec = slice / CLOCK_S, .tv_nsec = slice % CLOCK_S };
    int rc;

    pthread_cond_timedwait(&e->plan_agreed, &e->plan_lock, &ts);
    pthread_mutex_unlock(&e->plan_lock);
    rc = comm_thread_failure(e->comm_thread, err);
    pthread_mutex_lock(&e->plan_lock);
    return rc;
}

/* Whether the group is agreeing on a plan by which this step may be shared otherwise. */
static bool samples_unsettled(const struct eddis *e, int64_t step)
{
    return e->frozen && step > e->horizon;
}

static int samples_late(const struct eddis *e, int64_t step, struct eddis_error *err)
{
    if (samples_unsettled(e, step))
        return eddis_fail(err, -ETIMEDOUT,
                          "step %lld is not planned yet: the group has not agreed from which step "
                          "a new plan holds",
                          (long long)step);
    return eddis_fail(err, -ETIMEDOUT,
                      "the group's rank %d has not told which samples step %lld takes",
                      e->group.member[0], (long long)step);
}

/* Grows as long as the group gets on.  Steps may be long and a reader far ahead of them. */
static int64_t samples_progress(const struct eddis *e)
{
    return e->step + ranges_end(e->samples.ranges);
}

/* Have the step's samples and the plan that shares them, waiting for either.  Returns as
 * ranges_look, but never -EAGAIN; -ETIMEDOUT: the group did not get on for COLLECTIVES_TIMEOUT_NS.
 */
static int samples_look(struct eddis *e, int64_t step, struct ranges_step *ret,
                        struct eddis_error *err)
{
    int64_t deadline = 0, progress = -1;
    struct samples *t = &e->samples;
    int rc;

    for (;;) {
        bool wait = samples_unsettled(e, step);

        rc = wait ? -EAGAIN : ranges_look(t->ranges, step, ret, err);
        if (rc != -EAGAIN)
            return rc;
        if (samples_progress(e) != progress)
            deadline = clock_after_ns(clock_now_ns(), COLLECTIVES_TIMEOUT_NS);
        progress = samples_progress(e);
        if (clock_now_ns() >= deadline)
            return samples_late(e, step, err);
        wait |= centre_several(e) && (!is_root(e) || t->busy || t->frozen);
        rc = wait                ? samples_wait(e, err)
             : centre_several(e) ? samples_draw(e, err)
                                 : samples_alike(e, err);
        if (rc < 0)
            return rc;
    }
}

int samples_step(struct eddis *e, int64_t step, struct sampler_step *ret, struct eddis_error *err)
{
    const struct sampler_group g = samples_group(e);
    struct ranges_step r;
    int rc = samples_look(e, step, &r, err);

    if (rc <= 0)
        return rc;
    rc = sampler_share(e->sampler, &g, step, r.count, ret, err);
    if (rc < 0)
        return rc;
    ret->epoch = r.epoch;
    ret->first += r.first;
    ret->step_in_epoch = r.step_in_epoch;
    ret->last_of_epoch = r.last_of_epoch;
    ret->passed = r.passed;
    return 1;
}

int samples_ahead(struct eddis *e, struct eddis_error *err)
{
    struct samples *t = &e->samples;
    bool ask = false;
    int rc = 0;

    if (!is_root(e))
        return 0;
    pthread_mutex_lock(&e->plan_lock);
    if (t->asking && !t->busy)
        rc = samples_draw(e, err);
    if (rc == 0 && !t->busy && !ranges_exhausted(t->ranges) &&
        ranges_end(t->ranges) <= e->step + ahead(e)) {
        ask = true;
        ask_prepare(e);
    }
    pthread_mutex_unlock(&e->plan_lock);
    if (ask)
        comm_thread_send(e->comm_thread, &t->ask.mail);
    return rc;
}

/* ---- telling the group; hooks, with plan_lock held ---- */

void samples_report(struct eddis *e, struct sync_tail *tail)
{
    struct samples *t = &e->samples;

    if (!t->n_told)
        return;
    tail->range_first = t->told[0].first;
    tail->range_count = t->told[0].count;
    memmove(t->told, t->told + 1, (size_t)--t->n_told * sizeof *t->told);
}

int samples_learn(struct eddis *e, const struct sync_tail *tail, struct eddis_error *err)
{
    if (is_root(e) || !tail->range_count)
        return 0;
    return ranges_add(e->samples.ranges, tail->range_first,
                      tail->range_count < 0 ? 0 : tail->range_count, err);
}

/* ---- beginning ---- */

void samples_end(struct eddis *e)
{
    ranges_close(e->samples.ranges);
    e->samples.ranges = NULL;
}

/* The root's first ranges. */
static int draw_first(struct eddis *e, struct range *ret, struct eddis_error *err)
{
    struct samples *t = &e->samples;
    int rc = 0;

    pthread_mutex_lock(&e->plan_lock);
    for (int i = 0; rc == 0 && is_root(e) && i < ahead(e); i++) {
        rc = samples_draw(e, err);
        ret[i] = (struct range){ t->ask.r.value, t->ask.r.add };
    }
    t->n_told = 0; /* the members learn these at once */
    pthread_mutex_unlock(&e->plan_lock);
    return rc;
}

static int learn_first(struct eddis *e, const struct range *all, struct eddis_error *err)
{
    const struct range *root = all + (size_t)e->group.member[0] * SAMPLES_AHEAD;
    int rc = 0;

    for (int i = 0; rc == 0 && !is_root(e) && i < ahead(e); i++)
        rc = ranges_add(e->samples.ranges, root[i].first, root[i].count, err);
    return rc;
}

int samples_begin_alike(struct eddis *e, const struct range *left, size_t n_left, int64_t done,
                        struct eddis_error *err)
{
    struct ranges_options o = { .samples = e->options.samples,
                                .epochs = e->options.epochs,
                                .left = left,
                                .n_left = n_left,
                                .first_step = e->step,
                                .done_before = done };

    samples_end(e);
    e->samples.counted = 0;
    return ranges_open(&o, &e->samples.ranges, err);
}

int samples_begin(struct eddis *e, const struct range *left, size_t n_left, int64_t done,
                  struct eddis_error *err)
{
    struct range own[SAMPLES_AHEAD] = { 0 };
    cleanup_free struct range *all = malloc((size_t)e->all.place.n_ranks * sizeof own);
    int64_t zero = 0;
    int rc = 0;

    rc = all ? samples_begin_alike(e, left, n_left, done, err)
             : eddis_fail(err, -ENOMEM, "no memory for ranges of samples");
    if (rc == 0 && e->all.place.rank == 0) {
        struct smb_request q = {
            .kind = SMB_WRITE, .key = e->samples.counter, .data = &zero, .count = 1
        };

        rc = centre_ask(e, &q, err);
    }
    rc = collectives_agree(&e->all, rc, err);
    if (rc == 0)
        rc = collectives_agree(&e->all, draw_first(e, own, err), err);
    if (rc == 0)
        rc = collectives_allgather(&e->all, own, all, sizeof own, err);
    return rc < 0 ? rc : learn_first(e, all, err);
}

/* ---- checkpoints ---- */

int64_t samples_due(const struct eddis *e, int64_t samples)
{
    int64_t every = e->area ? e->area->checkpoint_every : 0;

    return every > 0 && samples != INT64_MAX ? samples / e->global_batch / every : 0;
}

int samples_freeze(struct eddis *e, struct eddis_error *err)
{
    struct samples *t = &e->samples;
    int rc = 0;

    pthread_mutex_lock(&e->plan_lock);
    t->frozen = true;
    while (rc == 0 && t->busy)
        rc = samples_wait(e, err);
    if (rc == 0 && t->asking)
        rc = samples_draw(e, err);
    pthread_mutex_unlock(&e->plan_lock);
    return rc;
}

void samples_thaw(struct eddis *e)
{
    pthread_mutex_lock(&e->plan_lock);
    e->samples.frozen = false;
    pthread_cond_broadcast(&e->plan_agreed);
    pthread_mutex_unlock(&e->plan_lock);
}

/* Rank 0: what nobody has taken, behind the n ranges that are in all, which has room for it. */
static int left_rest(struct eddis *e, struct range *all, size_t *n, struct eddis_error *err)
{
    struct smb_request q = { .kind = SMB_FETCH_ADD,
                             .key = e->samples.counter,
                             .value = e->samples.counted };
    int rc = centre_several(e) ? centre_ask(e, &q, err) : 0;

    if (rc == 0)
        *n += ranges_rest(e->samples.ranges, q.value, all + *n);
    return rc;
}

int samples_left(struct eddis *e, struct range **ret, size_t *ret_n, struct eddis_error *err)
{
    struct samples *t = &e->samples;
    size_t ranks = (size_t)e->all.place.n_ranks, longest = 0, n = 0;
    cleanup_free int64_t *length = calloc(ranks, sizeof *length);
    cleanup_free struct range *own = NULL, *all = NULL, *left = NULL;
    int64_t mine = is_root(e) ? (int64_t)ranges_n_unfinished(t->ranges) : 0;
    int rc = collectives_agree(&e->all,
                               length ? 0 : eddis_fail(err, -ENOMEM, "no memory for ranges"), err);

    if (rc == 0)
        rc = collectives_allgather(&e->all, &mine, length, sizeof mine, err);
    for (size_t i = 0; rc == 0 && i < ranks; i++)
        longest = (size_t)length[i] > longest ? (size_t)length[i] : longest;
    if (rc < 0)
        return rc;
    own = calloc(longest + 1, sizeof *own);
    all = calloc(ranks * longest + 1, sizeof *all);
    left = calloc(ranks * longest + ranges_n_rest(t->ranges), sizeof *left);
    rc = own && all && left ? 0 : eddis_fail(err, -ENOMEM, "no memory for ranges");
    rc = collectives_agree(&e->all, rc, err);
    if (rc < 0)
        return rc;
    if (mine)
        ranges_unfinished(t->ranges, own);
    rc = collectives_allgather(&e->all, own, all, longest * sizeof *own, err);
    if (rc < 0 || e->all.place.rank != 0)
        return rc;
    for (size_t i = 0; i < ranks; i++)
        for (int64_t k = 0; k < length[i]; k++)
            left[n++] = all[i * longest + (size_t)k];
    rc = left_rest(e, left, &n, err);
    if (rc < 0)
        return rc;
    *ret_n = ranges_join(left, n);
    *ret = cleanup_keep(left);
    return 0;
}
