/* SPDX-License-Identifier: Apache-2.0 */
/* samples_rounds.c - samples in rounds, for local training: each worker counts for itself
 *
 * Every worker knows the batches of all groups, so it computes each round's division without a
 * message.  A round is opened once a reader wants one of its steps; so the workers may have opened
 * different numbers of rounds.  At the end of a round they agree on the largest number, and a new
 * plan divides only later ones.
 */
#include "samples_feed.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/data/sample_rounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int samples_rounds_plan(struct samples *s, const int64_t *batch, int64_t period,
                        struct eddis_error *err)
{
    const struct group *g = s->group;
    struct samples_rounds *r = &s->rounds;

    if (!g->rounds)
        return 0;
    if (!r->batch)
        r->batch = calloc((size_t)g->n_groups, sizeof *r->batch);
    if (!r->batch)
        return eddis_fail(err, -ENOMEM, "no memory for the batches of %d groups", g->n_groups);
    memset(r->batch, 0, (size_t)g->n_groups * sizeof *r->batch);
    for (int i = 0; i < s->order.n_ranks; i++)
        r->batch[g->of[i]] += batch[i];
    r->period = period;
    return 0;
}

/* Queue this group's steps of the round that begins at r->counter.  Return 0 or -ENOMEM. */
static int queue_steps(struct samples *s, const struct rounds_part *p, struct eddis_error *err)
{
    struct samples_rounds *r = &s->rounds;
    int rc = 0;

    for (int64_t i = 0; rc == 0 && i < p->steps; i++) {
        int64_t first = rounds_step(p, i);

        rc = ranges_add(s->ranges, r->counter + p->first + first, rounds_step(p, i + 1) - first,
                        err);
    }
    return rc;
}

/* Open the next round, or note that no samples are left.  Return 0 or -ENOMEM. */
static int round_open(struct samples *s, struct eddis_error *err)
{
    struct samples_rounds *r = &s->rounds;
    const struct rounds_plan plan = { r->batch, s->group->n_groups, r->period, s->order.min_count };
    int64_t left = ranges_epoch_left(s->ranges, r->counter), end = ranges_end(s->ranges), size;
    struct rounds_part part;
    int rc;

    if (!left) {
        ranges_exhaust(s->ranges);
        return 0;
    }
    if (!array_grow(&r->queue, &r->room, r->n, sizeof *r->queue))
        return eddis_fail(err, -ENOMEM, "no memory for a round");
    size = rounds_size(&plan, left);
    part = rounds_part(&plan, size, s->group->number);
    rc = queue_steps(s, &part, err);
    if (rc < 0)
        return rc;
    if (ranges_end(s->ranges) > end)
        ranges_seal(s->ranges, size == left);
    r->counter += size;
    r->opened++;
    r->queue[r->n++] = (struct samples_round){ .end = ranges_end(s->ranges),
                                               .passed = ranges_passed(s->ranges, r->counter),
                                               .fed = rounds_feed_all(&plan, size) };
    return 0;
}

/* Open the next round.  The `more` of samples_by_round: return 1, 0 if none may be opened now, or a
 * failure.
 */
static int round_more(struct samples *s, int64_t deadline_ns, struct eddis_error *err)
{
    int rc = s->frozen ? 0 : round_open(s, err);

    return rc < 0 ? rc : !s->frozen;
}

const struct samples_feed samples_by_round = {
    .who = "the groups have",
    .look = samples_ranges_look,
    .more = round_more,
};

int samples_rounds_level(struct samples *s, int64_t opened, struct eddis_error *err)
{
    int rc = 0;

    while (rc == 0 && s->rounds.opened < opened && !ranges_exhausted(s->ranges))
        rc = round_open(s, err);
    return rc;
}

int samples_rounds_level_all(struct samples *s, struct eddis_error *err)
{
    int64_t least;
    int rc;

    pthread_mutex_lock(&s->lock);
    least = -s->rounds.opened;
    pthread_mutex_unlock(&s->lock);
    rc = collectives_least(s->all, &least, 1, err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&s->lock);
    rc = samples_rounds_level(s, -least, err);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

void samples_rounds_ahead(struct samples *s, int64_t ahead)
{
    while (ranges_end(s->ranges) <= s->step + ahead && !ranges_exhausted(s->ranges) &&
           round_open(s, NULL) == 0)
        ;
}

void samples_rounds_begin(struct samples *s)
{
    struct samples_rounds *r = &s->rounds;

    r->counter = r->opened = 0;
    r->n = 0;
}

void samples_rounds_free(struct samples_rounds *r)
{
    free(r->batch);
    free(r->queue);
}

/* ---- what the steps ask ---- */

bool samples_round_is_over(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    return s->rounds.n && s->rounds.queue[0].end <= s->step;
}

bool samples_are_stopped(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    return s->step > s->last;
}

bool samples_round_ends(struct samples *s, int64_t *ret_passed)
{
    const struct samples_rounds *r = &s->rounds;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (!r->n || (r->queue[0].end > s->step + 1 && s->step < s->last))
        return false;
    *ret_passed = r->queue[0].fed ? r->queue[0].passed : -1;
    return true;
}

double samples_round_whole(struct samples *s)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    return (double)s->rounds.period * (double)s->global_batch;
}

void samples_round_finish(struct samples *s)
{
    struct samples_rounds *r = &s->rounds;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (r->n)
        memmove(r->queue, r->queue + 1, --r->n * sizeof *r->queue);
}

int samples_round_follows(struct samples *s, struct eddis_error *err)
{
    int rc = 0;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&s->lock);

    if (s->step > s->last || s->over)
        return 0;
    if (s->rounds.n < 2)
        rc = round_open(s, err);
    return rc < 0 ? rc : s->rounds.n > 1;
}
