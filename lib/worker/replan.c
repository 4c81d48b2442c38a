/* SPDX-License-Identifier: Apache-2.0 */
/* replan.c - from which step a new plan holds
 *
 * The tail of each step's last bucket carries the newest plan on a worker's board and the highest
 * step its sampler may have been asked for; all workers see the smallest and the largest.  When
 * the smallest version is new, it holds from the largest step + 1.  Between filling in the tail
 * and the result, steps beyond what was reported must not be asked for: they wait.
 */
#include "worker.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <string.h>

/* Reported beyond the present step though nobody asked yet, so that a reader one or two steps
 * ahead does not have to wait when a plan changes.
 */
enum { REPLAN_AHEAD = 2 };

enum { REPLAN_TRIES = 1000 }; /* a millisecond each, while the agent writes a plan */

/* Copy what is new on the board.  A plan that the agent is just writing is left for the next step.
 */
static int replan_fetch(struct eddis *e)
{
    int rc = 0;

    while (rc == 0 && e->plan_read < board_newest(e->board)) {
        rc = board_plan_get(e->board, e->plan_read + 1, &e->plan[(e->plan_read + 1) % BOARD_PLANS],
                            NULL);
        if (rc == 0)
            e->plan_read++;
    }
    return rc == -EAGAIN ? 0 : rc;
}

void replan_report(void *arg, struct sync_tail *tail)
{
    struct eddis *e = arg;

    pthread_mutex_lock(&e->plan_lock);
    e->horizon = sampler_asked(e->sampler);
    if (e->horizon < e->step + REPLAN_AHEAD)
        e->horizon = e->step + REPLAN_AHEAD;
    if (e->board && replan_fetch(e) < 0)
        tail->flags |= SYNC_NO_PLAN;
    tail->version = e->plan_read;
    tail->asked = e->horizon;
    tail->blocked = phase_blocked_ns(&e->phase);
    samples_report(e, tail);
    e->frozen = tail->version > e->plan_version;
    pthread_mutex_unlock(&e->plan_lock);
}

static int replan_add_event(struct eddis *e, int64_t step, unsigned flags)
{
    struct replan_event *bigger;

    if (!flags)
        return 0;
    bigger = realloc(e->event, (size_t)(e->n_events + 1) * sizeof *bigger);
    if (!bigger)
        return -ENOMEM;
    e->event = bigger;
    e->event[e->n_events++] = (struct replan_event){ .step = step, .flags = flags };
    return 0;
}

/* Of a plan whose copy is there. */
static void replan_note_passing(struct eddis *e, int64_t version)
{
    if (e->plan[version % BOARD_PLANS].flags & BOARD_FLAG_PASSING)
        e->plan_passing = version;
}

static void replan_show(struct eddis *e, int64_t since)
{
    struct board *b = phase_lock_board(&e->phase);
    struct board_page *p;

    if (!b)
        return;
    p = board_begin(b);
    p->plan_version = e->plan_version;
    p->plan_since = since;
    board_end(b);
    phase_unlock_board(&e->phase);
}

/* Plans between the old and the new one were skipped; what they asked for is not. */
static int replan_adopt(struct eddis *e, int64_t version, int64_t from, struct eddis_error *err)
{
    unsigned flags = 0;
    int rc;

    for (int64_t v = e->plan_version + 1; v <= version; v++) {
        int64_t asked = e->plan[v % BOARD_PLANS].flags;

        if (asked & BOARD_FLAG_CHECKPOINT) {
            flags |= EDDIS_STEP_CHECKPOINT;
            e->centre.planned++;
        }
        if (asked & BOARD_FLAG_STOP)
            flags |= EDDIS_STEP_STOP;
    }
    rc = sampler_add_plan(e->sampler, version, from, e->plan[version % BOARD_PLANS].batch, err);
    if (rc == 0 && replan_add_event(e, from, flags) < 0)
        rc = eddis_fail(err, -ENOMEM, "no memory for a plan");
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "cannot take plan %lld", (long long)version);
    e->plan_version = version;
    replan_note_passing(e, version);
    replan_show(e, from);
    return 0;
}

void replan_agree(void *arg, int64_t round, const struct sync_tail *tail)
{
    struct eddis *e = arg;

    (void)round;
    pthread_mutex_lock(&e->plan_lock);
    phase_set_exposed(&e->phase, tail->blocked);
    if (tail->flags & SYNC_NO_PLAN) {
        eddis_fail(&e->plan_failure, -EIO, "a worker cannot read the job's new plan");
    } else if (tail->version > e->plan_version) {
        int rc = replan_adopt(e, tail->version, tail->asked + 1, &e->plan_failure);

        if (rc < 0)
            e->plan_failure.code = rc;
    }
    if (!e->plan_failure.code) {
        int rc = samples_learn(e, tail, &e->plan_failure);

        if (rc < 0)
            e->plan_failure.code = rc;
    }
    e->frozen = false;
    pthread_cond_broadcast(&e->plan_agreed);
    pthread_mutex_unlock(&e->plan_lock);
}

unsigned replan_flags(struct eddis *e, int64_t step)
{
    unsigned flags = 0;
    int n = 0;

    while (n < e->n_events && e->event[n].step <= step)
        flags |= e->event[n++].flags;
    if (n) {
        memmove(e->event, e->event + n, (size_t)(e->n_events - n) * sizeof *e->event);
        e->n_events -= n;
    }
    return flags;
}

/* Without eddis-run: the same for all, the first ones take what is left over. */
static void replan_equal(const struct eddis *e, int64_t *batch)
{
    int64_t n = e->all.place.n_ranks, all = e->options.batch ? e->options.batch : 64 * n;

    for (int64_t i = 0; i < n; i++)
        batch[i] = all / n + (i < all % n);
}

/* The newest plan that every worker has. */
static int replan_first(struct eddis *e, int64_t *batch, struct eddis_error *err)
{
    struct board_plan *plan;
    int rc = -EAGAIN;

    e->plan = calloc(BOARD_PLANS, sizeof *e->plan);
    if (!e->plan)
        return eddis_fail(err, -ENOMEM, "no memory for plans");
    plan = &e->plan[e->plan_version % BOARD_PLANS];
    for (int i = 0; i < REPLAN_TRIES && rc == -EAGAIN; i++) {
        rc = board_plan_get(e->board, e->plan_version, plan, err);
        if (rc == -EAGAIN)
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "cannot read the job's plan");
    replan_note_passing(e, e->plan_version);
    memcpy(batch, plan->batch, (size_t)e->all.place.n_ranks * sizeof *batch);
    return 0;
}

static void replan_show_first(struct eddis *e)
{
    struct board *b = phase_lock_board(&e->phase);
    struct board_page *p;

    if (!b)
        return;
    p = board_begin(b);
    p->plan_version = e->plan_version;
    p->plan_since = 0;
    p->steps_total = sampler_steps(e->sampler);
    p->steps_in_epoch = sampler_steps_in_epoch(e->sampler);
    p->epochs = e->options.epochs;
    p->phase_ns = clock_now_ns();
    board_end(b);
    phase_unlock_board(&e->phase);
}

/* All that may fail on one worker alone comes after the collective. */
int replan_open(struct eddis *e, struct eddis_error *err)
{
    struct sampler_options o = { .samples = e->options.samples,
                                 .epochs = e->options.epochs,
                                 .seed = e->seed,
                                 .rank = e->all.place.rank,
                                 .n_ranks = e->all.place.n_ranks };
    cleanup_free int64_t *batch = NULL;
    int rc;

    e->plan_version = e->board ? board_newest(e->board) : 1;
    rc = collectives_least(&e->all, &e->plan_version, 1, err);
    if (rc < 0)
        return rc;
    rc = sampler_open(&o, &e->sampler, err);
    if (rc < 0)
        return rc;
    e->plan_read = e->plan_version;
    batch = calloc((size_t)e->all.place.n_ranks, sizeof *batch);
    if (!batch)
        return eddis_fail(err, -ENOMEM, "no memory for %d ranks", e->all.place.n_ranks);
    if (e->board)
        rc = replan_first(e, batch, err);
    else
        replan_equal(e, batch);
    for (int i = 0; i < e->all.place.n_ranks; i++)
        e->global_batch += batch[i];
    if (rc == 0)
        rc = sampler_add_plan(e->sampler, e->plan_version, 0, batch, err);
    if (rc == 0)
        replan_show_first(e);
    return rc;
}
