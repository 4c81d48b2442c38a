/* SPDX-License-Identifier: Apache-2.0 */
/* samples_counter.c - samples from a counter: one that all groups share in async and hybrid mode,
 * or each worker's own
 *
 * A group's root adds to the counter while a step computes, so that nobody waits for the answer.  A
 * member receives a range in the trailer of a step.  At step t it should know the samples of steps
 * t to t + r + 1 before that trailer comes: r = read_ahead steps after the present one, and whether
 * the last of them ends its epoch.  So the root has r + 3 ranges when it asks for another:
 *
 *     root     step t: asks for t + r + 3 | step t + 1: tells t + r + 3 with the tail |
 *     member                              |                                           | step t + 2
 *
 * So no wait for samples within read_ahead needs a step that is not done.
 */
#include "samples_feed.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The counter's low bits are its position.  Each group that reports a stop adds this, so the high
 * bits count stops.
 */
#define COUNTER_STOP (INT64_C(1) << 48)

int64_t samples_counter_at(int64_t value)
{
    return value % COUNTER_STOP;
}

/* Return the members of this worker's group. */
static struct sampler_group members(const struct samples *s)
{
    return (struct sampler_group){ s->group->member, s->group->place.n_ranks };
}

/* Return how many ranges a group's root takes in advance, the same on all workers.  If all groups
 * have one member, one range less is enough.
 */
static int ahead(const struct samples *s)
{
    return s->read_ahead + (s->group->n_groups < s->all->place.n_ranks ? 3 : 2);
}

/* ---- asking the shared counter ---- */

/* Return the group's samples of a step under the newest plan. */
static int64_t group_batch(const struct samples *s)
{
    const struct sampler_group g = members(s);

    return sampler_group_batch(s->sampler, &g);
}

/* Prepare the request s->counter.ask, which adds `add` to the counter; the caller sends it. */
static void ask_prepare(struct samples *s, int64_t add)
{
    struct samples_counter *c = &s->counter;
    int64_t deadline = clock_after_ns(clock_now_ns(), COLLECTIVES_TIMEOUT_NS);

    c->asking = true;
    c->ask = (struct command_queue){
        .command.kind = MAIL_BOX,
        .r = { .kind = SMB_FETCH_ADD, .key = c->key, .add = add, .deadline_ns = deadline }
    };
}

/* Return the range that the answer in c->ask gives; its count is 0 if the request marked a stop. */
static struct range ask_range(const struct samples_counter *c)
{
    return (struct range){ samples_counter_at(c->ask.r.value),
                           c->ask.r.add == COUNTER_STOP ? 0 : c->ask.r.add };
}

/* Handle the answer in s->counter.ask: add its range to s->ranges, note a stop, and keep the range
 * for the members.  Return 0; 1 if all steps of the range are too short, so that none was added and
 * the caller asks again; or a failure.
 */
static int ask_answered(struct samples *s, struct eddis_error *err)
{
    struct samples_counter *c = &s->counter;
    struct range x = ask_range(c);
    int64_t end = ranges_end(s->ranges);
    int rc = c->ask.r.rc < 0 ? eddis_fail(err, c->ask.r.rc, "the shared counter of samples: %s",
                                          c->ask.r.error.text)
                             : ranges_add(s->ranges, x.first, x.count, err);

    c->asking = false;
    c->stop_sent |= rc == 0 && (x.count == 0 || c->ask.r.value >= COUNTER_STOP);
    if (x.count == 0)
        return rc;
    if (rc < 0 || (ranges_end(s->ranges) == end && !ranges_exhausted(s->ranges)))
        return rc < 0 ? rc : 1;
    if (s->group->place.n_ranks > 1)
        c->unsent[c->n_unsent++] = ranges_exhausted(s->ranges) ? (struct range){ 0, -1 } : x;
    return 0;
}

/* Wait for an answer of the counter and handle it: to a request under way, or else to a new one
 * that adds `add`.  Repeat while the range makes no step.  Releases the lock meanwhile.  Return 0
 * or a negative errno; -EAGAIN at the deadline: the request stays under way.
 */
static int counter_ask(struct samples *s, int64_t add, int64_t deadline_ns, struct eddis_error *err)
{
    struct samples_counter *c = &s->counter;
    int rc;

    c->busy = true;
    do {
        struct comm_wait w = { .kind = WAIT_BOX, .box = &c->ask };
        bool send = !c->asking;

        if (send)
            ask_prepare(s, add);
        pthread_mutex_unlock(&s->lock);
        if (send)
            comm_thread_send(s->all->waiter.thread, &c->ask.command);
        /* the request has its own deadline, too */
        rc = comm_thread_wait(s->all->waiter.thread, &w, deadline_ns, err);
        pthread_mutex_lock(&s->lock);
        rc = rc == 0 ? ask_answered(s, err) : rc == -ETIMEDOUT ? -EAGAIN : rc;
    } while (rc > 0);
    c->busy = false;
    pthread_cond_broadcast(&s->changed);
    return rc;
}

int samples_counter_draw(struct samples *s, int64_t deadline_ns, struct eddis_error *err)
{
    return counter_ask(s, group_batch(s), deadline_ns, err);
}

int samples_counter_stop(struct samples *s, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = 0;

    /* The first answer may belong to an earlier request for a range. */
    while (rc == 0 && !s->counter.stop_sent && !ranges_exhausted(s->ranges))
        rc = counter_ask(s, COUNTER_STOP, deadline_ns, err);
    return rc;
}

int samples_counter_ahead(struct samples *s, struct eddis_error *err)
{
    struct samples_counter *c = &s->counter;
    int rc = c->asking && !c->busy ? samples_counter_draw(s, CLOCK_NEVER, err) : 0;

    if (rc < 0 || c->busy || ranges_exhausted(s->ranges) || (s->spread && c->stop_sent))
        return rc;
    /* Enough is taken; or members could not be told of more, which then would never be done. */
    if (!s->spread && (c->n_unsent == SAMPLES_UNSENT || ranges_end(s->ranges) > s->step + ahead(s)))
        return 0;
    ask_prepare(s, s->spread ? COUNTER_STOP : group_batch(s));
    return 1;
}

/* ---- the feeds ---- */

int samples_ranges_look(struct samples *s, int64_t step, struct sampler_step *ret,
                        struct eddis_error *err)
{
    const struct sampler_group g = members(s);
    struct ranges_step r;
    int rc = ranges_look(s->ranges, step, &r, err);

    if (rc <= 0)
        return rc;
    rc = sampler_share(s->sampler, &g, step, r.count, ret, err);
    if (rc < 0)
        return rc;
    ret->epoch = r.epoch;
    ret->first += r.first;
    ret->step_in_epoch = r.step_in_epoch;
    ret->last_of_epoch = r.last_of_epoch;
    ret->passed = r.passed;
    return 1;
}

/* On a group's root, take another range from the shared counter.  The `more` of samples_by_counter:
 * return 1; 0 if another thread does it, or nobody can now; or a negative errno, -EAGAIN at the
 * deadline.
 */
static int counter_more(struct samples *s, int64_t deadline_ns, struct eddis_error *err)
{
    const struct samples_counter *c = &s->counter;
    int rc;

    if (!group_is_root(s->group) || c->busy || s->frozen || c->n_unsent == SAMPLES_UNSENT)
        return 0;
    rc = samples_counter_draw(s, deadline_ns, err);
    return rc < 0 ? rc : 1;
}

/* Take another range from this worker's own counter; every worker does the same in the same order.
 * The `more` of samples_alike.  Return 1 or a failure.
 */
static int alike_more(struct samples *s, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = ranges_add(s->ranges, s->counter.counted, s->global_batch, err);

    s->counter.counted += s->global_batch;
    return rc < 0 ? rc : 1;
}

const struct samples_feed samples_by_counter = {
    .who = "the group has",
    .look = samples_ranges_look,
    .more = counter_more,
};

const struct samples_feed samples_alike = {
    .who = "the group has",
    .look = samples_ranges_look,
    .more = alike_more,
};

/* ---- beginning ---- */

int samples_counter_ranges(const struct samples *s, const struct samples_rest *rest,
                           struct ranges **ret, struct eddis_error *err)
{
    /* ranges_open takes an empty list as all samples; one empty range means none. */
    const struct range none = { 0, 0 };
    struct ranges_options o = { .samples = sampler_used(s->sampler),
                                .min_count = s->order.min_count,
                                .epochs = s->order.epochs,
                                .left = rest->left,
                                .n_left = rest->n_left,
                                .first_step = rest->step };

    if (rest->left) {
        o.done_before = samples_total(s);
        for (size_t i = 0; i < rest->n_left; i++)
            o.done_before -= rest->left[i].count;
    }
    if (rest->left && rest->n_left == 0) {
        o.left = &none;
        o.n_left = 1;
    }
    return ranges_open(&o, ret, err);
}

/* On a group's root, take its first ranges from the shared counter, add them, and store them in ret
 * [ahead]; on other ranks do nothing.  Return 0 or a negative errno.
 */
static int draw_first(struct samples *s, struct range *ret, struct eddis_error *err)
{
    int rc = 0;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    for (int i = 0; rc == 0 && group_is_root(s->group) && i < ahead(s); i++) {
        rc = samples_counter_draw(s, CLOCK_NEVER, err);
        s->counter.n_unsent = 0; /* the members get these from the allgather */
        ret[i] = ask_range(&s->counter);
    }
    return rc;
}

/* On a member that is not the root, add the root's first ranges.  all [n_ranks, ahead]: what
 * draw_first stored on every rank.  Return 0 or -ENOMEM.
 */
static int learn_first(struct samples *s, const struct range *all, struct eddis_error *err)
{
    const struct range *root = all + s->group->member[0] * ahead(s);
    int rc = 0;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    for (int i = 0; rc == 0 && !group_is_root(s->group) && i < ahead(s); i++)
        rc = ranges_add(s->ranges, root[i].first, root[i].count, err);
    return rc;
}

int samples_counter_begin(struct samples *s, struct eddis_error *err)
{
    size_t n = (size_t)ahead(s), ranks = (size_t)s->all->place.n_ranks;
    cleanup_free struct range *own = calloc(n, sizeof *own);
    cleanup_free struct range *all = calloc(ranks * n, sizeof *all);
    int64_t zero = 0;
    int rc = own && all ? 0 : eddis_fail(err, -ENOMEM, "no memory for ranges of samples");

    if (rc == 0 && s->all->place.rank == 0) {
        struct smb_request q = {
            .kind = SMB_WRITE, .key = s->counter.key, .data = &zero, .count = 1
        };

        rc = shared_buffers_ask_own(s->box, &q, err);
    }
    rc = collectives_agree(s->all, rc, err);
    if (rc == 0)
        rc = collectives_agree(s->all, draw_first(s, own, err), err);
    if (rc == 0)
        rc = collectives_allgather(s->all, own, all, n * sizeof *own, err);
    return rc < 0 ? rc : learn_first(s, all, err);
}
