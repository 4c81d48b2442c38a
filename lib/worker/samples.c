/* SPDX-License-Identifier: Apache-2.0 */
/* samples.c - the feeds behind one lock: waiting, changes of plan, checkpoints; and the feed by
 * plan
 */
#include "samples.h"

#include "samples_feed.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <string.h>

/* Store in *ret the step's part of the epoch's permutation, which is always known.  The `look` of
 * the feed by plan; returns as sampler_ask.
 */
static int plan_look(struct samples *s, int64_t step, struct sampler_step *ret,
                     struct eddis_error *err)
{
    return sampler_ask(s->sampler, step, ret, err);
}

static const struct samples_feed samples_by_plan = {
    .who = "the workers have",
    .look = plan_look,
};

void samples_init(struct samples *s)
{
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->last = INT64_MAX;
}

int samples_open(struct samples *s, const struct sampler_options *order, struct eddis_error *err)
{
    s->order = *order;
    s->given = order->samples > 0;
    return sampler_open(order, &s->sampler, err);
}

int samples_give(struct samples *s, int64_t samples, int64_t epochs, struct eddis_error *err)
{
    int rc;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    rc = sampler_set_data(s->sampler, samples, epochs, err);
    if (rc == 0) {
        s->order.samples = samples;
        s->order.epochs = epochs;
        s->given = true;
    }
    return rc;
}

bool samples_given(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    return s->given;
}

void samples_settle(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (s->group->several)
        s->feed = NULL; /* samples_start sets it */
    else if (!s->feed)  /* else samples_resume has set it */
        s->feed = &samples_by_plan;
    s->settled = true;
}

void samples_close(struct samples *s)
{
    ranges_close(s->ranges);
    samples_rounds_free(&s->rounds);
    sampler_close(s->sampler);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

bool samples_settled(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    return s->settled;
}

void samples_fail(void *arg, const struct eddis_error *why)
{
    struct samples *s = arg;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    s->failure = *why;
    pthread_cond_broadcast(&s->changed);
}

/* ---- steps; with the lock held unless documented otherwise ---- */

/* Wait, with the lock released, until another thread changes something or the deadline passes.
 * Return 0, or s->failure if the communication has failed.  The changes come from the group's root,
 * an agreement on a plan, or the end.
 */
static int samples_wait(struct samples *s, int64_t deadline_ns, struct eddis_error *err)
{
    if (!s->failure.code)
        clock_cond_wait(&s->changed, &s->lock, deadline_ns);
    if (s->failure.code && err)
        *err = s->failure;
    return s->failure.code;
}

/* Check whether agreement on a plan is under way that may divide this step differently. */
static bool samples_unsettled(const struct samples *s, int64_t step)
{
    return s->held && step > s->horizon;
}

/* Set err for a step whose samples are not known at the deadline.  Return -ETIMEDOUT. */
static int samples_late(const struct samples *s, int64_t step, struct eddis_error *err)
{
    if (samples_unsettled(s, step))
        return eddis_fail(
            err, -ETIMEDOUT,
            "step %lld is not planned yet: %s not agreed from which step a new plan applies",
            (long long)step, s->feed->who);
    if (group_is_root(s->group))
        return eddis_fail(err, -ETIMEDOUT,
                          "the shared counter has not reported which samples step %lld takes",
                          (long long)step);
    return eddis_fail(err, -ETIMEDOUT,
                      "the group's rank %d has not reported which samples step %lld takes",
                      s->group->member[0], (long long)step);
}

/* Store the step's samples in *ret.  Wait until the deadline, if necessary, for the plan that
 * applies to the step and for its range.  Return 1, 0 after the last step, or a failure
 * (-ETIMEDOUT: not known by then).  May release the lock meanwhile.
 */
static int samples_look(struct samples *s, int64_t step, int64_t deadline_ns,
                        struct sampler_step *ret, struct eddis_error *err)
{
    int rc;

    for (;;) {
        bool unsettled = samples_unsettled(s, step);

        if (step > s->last)
            return 0;

        rc = unsettled ? -EAGAIN : s->feed->look(s, step, ret, err);
        if (rc != -EAGAIN)
            return rc;
        rc = unsettled ? 0 : s->feed->more(s, deadline_ns, err);
        if (rc == -EAGAIN || (rc == 0 && clock_now_ns() >= deadline_ns))
            return samples_late(s, step, err);
        if (rc == 0)
            rc = samples_wait(s, deadline_ns, err);
        if (rc < 0)
            return rc;
    }
}

int samples_take(struct samples *s, struct sampler_step *ret, struct eddis_error *err)
{
    int rc;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    rc = samples_look(s, s->step, clock_after_ns(clock_now_ns(), COLLECTIVES_TIMEOUT_NS), ret, err);
    if (rc > 0)
        sampler_forget(s->sampler, s->step);
    return rc;
}

/* Check that steps can be answered at all.  Return 0; -EAGAIN: the plan is open; -EINVAL: no data
 * set, or before eddis_commit.
 */
static int samples_check(const struct samples *s, struct eddis_error *err)
{
    if (s->open && (!s->settled || !s->feed))
        return eddis_fail(err, -EAGAIN,
                          "the job's plan, which decides which worker takes which samples, is not "
                          "known before eddis_commit");
    if (!s->given)
        return eddis_fail(err, -EINVAL,
                          "the samples are not known: call eddis_set_data and eddis_commit before "
                          "asking for them");
    if (!s->feed)
        return eddis_fail(err, -EINVAL, "call eddis_commit before asking for samples");
    return 0;
}

/* Check that this step is within read_ahead: every worker is sure to know so many steps during the
 * present one.  Return 0, or -ENOBUFS if not.
 */
static int samples_too_far(const struct samples *s, int64_t step, struct eddis_error *err)
{
    if (step <= s->step + s->read_ahead || s->over)
        return 0;
    return eddis_fail(err, -ENOBUFS,
                      "step %lld was requested during step %lld: eddis_options.read_ahead allows "
                      "requests only %d steps ahead",
                      (long long)step, (long long)s->step, s->read_ahead);
}

int samples_peek(struct samples *s, int64_t step, int64_t timeout_ns, struct sampler_step *ret,
                 struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    int rc;

    pthread_mutex_lock(&s->lock);
    rc = samples_check(s, err);
    if (rc == 0)
        rc = samples_too_far(s, step, err);
    if (rc == 0)
        rc = samples_look(s, step, deadline, ret, err);
    pthread_mutex_unlock(&s->lock);
    if (rc == -ETIMEDOUT && timeout_ns == 0)
        rc = -EAGAIN;
    if (rc == -EAGAIN && err)
        err->code = rc;
    return rc;
}

int samples_has(struct samples *s, int64_t step, int64_t timeout_ns, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), timeout_ns);
    struct sampler_step r;
    int rc;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    rc = samples_check(s, err);
    if (rc == 0)
        rc = samples_look(s, step, deadline, &r, err);
    return rc;
}

int samples_counts(struct samples *s, int64_t step, int64_t *ret, struct eddis_error *err)
{
    struct sampler_group g;
    struct sampler_step r;
    int rc = samples_peek(s, step, 0, &r, err);

    if (rc <= 0)
        return rc;
    /* The group does not change any more. */
    g = (struct sampler_group){ s->group->member, s->group->place.n_ranks };
    pthread_mutex_lock(&s->lock);
    rc = sampler_counts(s->sampler, &g, step, r.batch, ret, err);
    pthread_mutex_unlock(&s->lock);
    return rc < 0 ? rc : g.n_members;
}

int samples_use(struct samples *s, enum samples_use use, struct eddis_error *err)
{
    enum samples_use was;

    pthread_mutex_lock(&s->lock);
    was = s->use ? s->use : use;
    s->use = was;
    pthread_mutex_unlock(&s->lock);
    if (was == use)
        return 0;
    return eddis_fail(err, -EINVAL,
                      "a program may ask for the numbers of its samples (eddis_sample_indices) or "
                      "count its own (eddis_set_count), not both");
}

int samples_ahead(struct samples *s, struct eddis_error *err)
{
    int rc;

    if (!group_is_root(s->group) || s->group->rounds)
        return 0;
    pthread_mutex_lock(&s->lock);
    rc = samples_counter_ahead(s, err);
    pthread_mutex_unlock(&s->lock);
    if (rc > 0)
        comm_thread_send(s->all->waiter.thread, &s->counter.ask.command);
    return rc < 0 ? rc : 0;
}

/* Check whether a step follows the present one.  This is always known: no step is answered before
 * it is known whether another follows.
 */
bool samples_follow(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    return s->ranges && ranges_end(s->ranges) > s->step + 1;
}

void samples_finish(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (s->ranges)
        ranges_finish(s->ranges, s->step);
    s->step++;
}

void samples_pass(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (s->ranges)
        ranges_delay(s->ranges, s->step);
    s->step++;
}

void samples_stop(struct samples *s, int64_t step)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    s->last = step < s->last ? step : s->last;
    pthread_cond_broadcast(&s->changed);
}

void samples_spread_stop(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    s->spread = true;
}

void samples_end(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    s->over = true;
    s->last = s->step - 1;
    pthread_cond_broadcast(&s->changed);
}

/* Wait until no request to the shared counter is under way, handling its answer if no other thread
 * waits for that.  Return 0 or a negative errno; -EAGAIN, without a message: one is still under way
 * at the deadline.
 */
static int samples_calm(struct samples *s, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = 0;

    while (rc == 0 && s->counter.busy)
        rc = clock_now_ns() < deadline_ns ? samples_wait(s, deadline_ns, err) : -EAGAIN;
    return rc == 0 && s->counter.asking ? samples_counter_draw(s, deadline_ns, err) : rc;
}

int samples_send_stop(struct samples *s, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    if (s->spread && group_is_root(s->group) && !s->group->rounds) {
        rc = samples_calm(s, deadline_ns, err);
        if (rc == 0)
            rc = samples_counter_stop(s, deadline_ns, err);
    }
    pthread_mutex_unlock(&s->lock);
    if (rc == -EAGAIN)
        return eddis_fail(err, -ETIMEDOUT,
                          "the shared counter of samples, which informs the other groups of the "
                          "stop, has not answered");
    return rc;
}

int64_t samples_asked(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    return sampler_asked(s->sampler);
}

/* ---- plans ---- */

int64_t samples_hold(struct samples *s, int64_t ahead, bool hold)
{
    int64_t horizon;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (s->group->rounds) {
        samples_rounds_ahead(s, ahead);
        s->horizon = ranges_end(s->ranges) - 1;
        s->held = hold;
        return s->rounds.opened;
    }
    horizon = sampler_asked(s->sampler);
    if (horizon < s->step + ahead)
        horizon = s->step + ahead;
    s->horizon = horizon;
    s->held = hold;
    return horizon;
}

void samples_release(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    s->held = false;
    pthread_cond_broadcast(&s->changed);
}

/* With several models, check that a plan with these batches, batch [n_ranks], gives this group at
 * least one sample per step.  Return 0 or -EINVAL.  A group that takes no samples would never
 * learn that none are left.
 */
static int samples_fed(const struct samples *s, int64_t version, const int64_t *batch,
                       struct eddis_error *err)
{
    int64_t sum = 0;

    if (!s->group->several)
        return 0;
    for (int i = 0; i < s->group->place.n_ranks; i++)
        sum += batch[s->group->member[i]];
    if (sum)
        return 0;
    return eddis_fail(
        err, -EINVAL,
        "plan %lld gives no samples to group %d, of rank %d: each group that trains a "
        "model of its own needs some",
        (long long)version, s->group->number, s->group->member[0]);
}

int samples_add_plan(struct samples *s, struct samples_plan *p, struct eddis_error *err)
{
    int rc = samples_fed(s, p->version, p->batch, err);
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (rc == 0 && s->group->rounds && s->ranges) {
        rc = samples_rounds_level(s, p->from_step, err);
        p->from_step = ranges_end(s->ranges);
    }
    if (rc == 0)
        rc = sampler_add_plan(s->sampler, p->version, p->from_step, p->batch, err);
    if (rc == 0)
        rc = samples_rounds_plan(s, p->batch, p->period, err);
    if (rc == 0)
        sampler_set_piece(s->sampler, p->piece);
    return rc;
}

void samples_report(struct samples *s, struct sync_trailer *tail)
{
    struct samples_counter *c = &s->counter;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (c->stop_sent)
        tail->flags |= SYNC_STOP;
    if (c->n_unsent) {
        tail->range_first = c->unsent[0].first;
        tail->range_count = c->unsent[0].count;
        memmove(c->unsent, c->unsent + 1, (size_t)--c->n_unsent * sizeof *c->unsent);
    }
}

int samples_learn(struct samples *s, const struct sync_trailer *tail, struct eddis_error *err)
{
    int rc = 0;

    if (group_is_root(s->group) || !tail->range_count)
        return 0;
    pthread_mutex_lock(&s->lock);
    if (tail->range_count < 0)
        ranges_exhaust(s->ranges);
    else
        rc = ranges_add(s->ranges, tail->range_first, tail->range_count, err);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* ---- checkpoints ---- */

bool samples_listed(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    return s->ranges != NULL;
}

int samples_freeze(struct samples *s, struct eddis_error *err)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    s->frozen = true;
    return samples_calm(s, CLOCK_NEVER, err);
}

void samples_thaw(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    s->frozen = false;
    pthread_cond_broadcast(&s->changed);
}

int64_t samples_total(const struct samples *s)
{
    int64_t all;

    if (s->order.epochs == 0 ||
        __builtin_mul_overflow(sampler_used(s->sampler), s->order.epochs, &all))
        return INT64_MAX;
    return all;
}

/* ---- beginning, and going on elsewhere ---- */

/* Continue with this feed and these ranges (taken; NULL: none) from this step on, as if no stop had
 * been requested, and wake waiting threads.
 */
static void samples_turn(struct samples *s, const struct samples_feed *feed, struct ranges *ranges,
                         int64_t step)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    ranges_close(s->ranges);
    s->ranges = ranges;
    s->feed = feed;
    s->counter.counted = 0;
    s->counter.n_unsent = 0;
    samples_rounds_begin(s);
    s->counter.stop_sent = false; /* a stop is reported again */
    s->last = INT64_MAX;
    s->over = false;
    s->step = step;
    sampler_resume(s->sampler, step);
    pthread_cond_broadcast(&s->changed);
}

/* Continue with the shared counter, reset to 0, from the samples in *rest.  Collective.  Return 0
 * or a negative errno.
 */
static int resume_by_counter(struct samples *s, const struct samples_rest *rest,
                             struct eddis_error *err)
{
    struct ranges *ranges = NULL;
    int rc = samples_freeze(s, err);

    if (rc == 0)
        rc = samples_counter_ranges(s, rest, &ranges, err);
    rc = collectives_agree(s->all, rc, err);
    if (rc == 0) {
        samples_turn(s, &samples_by_counter, ranges, rest->step);
        rc = samples_counter_begin(s, err);
    } else {
        ranges_close(ranges);
    }
    samples_thaw(s);
    return rc;
}

/* Continue in rounds, from the samples in *rest.  Return 0 or a negative errno. */
static int resume_by_round(struct samples *s, const struct samples_rest *rest,
                           struct eddis_error *err)
{
    struct ranges *ranges = NULL;
    int rc = samples_counter_ranges(s, rest, &ranges, err);

    rc = collectives_agree(s->all, rc, err);
    if (rc < 0) {
        ranges_close(ranges);
        return rc;
    }
    samples_turn(s, &samples_by_round, ranges, rest->step);
    return 0;
}

int samples_resume(struct samples *s, const struct samples_rest *rest, struct eddis_error *err)
{
    struct ranges *ranges = NULL;
    int rc = 0;

    if (s->group->rounds)
        return resume_by_round(s, rest, err);
    if (s->group->several)
        return resume_by_counter(s, rest, err);
    if (rest->left)
        rc = samples_counter_ranges(s, rest, &ranges, err);
    if (rc == 0)
        samples_turn(s, rest->left ? &samples_alike : &samples_by_plan, ranges, rest->step);
    return rc;
}

int samples_start(struct samples *s, smb_key key, struct eddis_error *err)
{
    s->counter.key = key;
    return samples_resume(s, &(struct samples_rest){ .step = s->step }, err);
}
