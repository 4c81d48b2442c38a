/* SPDX-License-Identifier: Apache-2.0 */
/* replan.c - from which step a new plan holds
 *
 * The tail of each step's last bucket carries the newest plan on a worker's board and the highest
 * step its sampler may have been asked for; all workers see the smallest and the largest.  When
 * the smallest version is new, it holds from the largest step + 1.  Between filling in the tail
 * and the result, steps beyond what was reported must not be asked for: they wait.
 */
#include "replan.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Reported beyond the present step though nobody asked yet, so that a reader one or two steps
 * ahead does not have to wait when a plan changes.
 */
enum { REPLAN_AHEAD = 2 };

enum { REPLAN_TRIES = 1000 }; /* a millisecond each, while the agent writes a plan */

void replan_init(struct replan *r)
{
    pthread_mutex_init(&r->lock, NULL);
}

void replan_fini(struct replan *r)
{
    free(r->event);
    free(r->plan);
    free(r->batch);
    pthread_mutex_destroy(&r->lock);
}

/* ---- the hooks ---- */

static struct board_plan *replan_copy(struct replan *r, int64_t version)
{
    return &r->plan[version % BOARD_PLANS];
}

/* Copy what is new on the board.  A plan that the agent is just writing is left for the next step.
 */
static int replan_fetch(struct replan *r)
{
    int rc = 0;

    while (rc == 0 && r->read < board_newest(r->board)) {
        rc = board_plan_get(r->board, r->read + 1, replan_copy(r, r->read + 1), NULL);
        if (rc == 0)
            r->read++;
    }
    return rc == -EAGAIN ? 0 : rc;
}

void replan_report(struct replan *r, struct sync_tail *tail)
{
    pthread_mutex_lock(&r->lock);
    if (r->board && replan_fetch(r) < 0)
        tail->flags |= SYNC_NO_PLAN;
    tail->version = r->read;
    tail->asked = samples_hold(r->samples, REPLAN_AHEAD, r->read > r->version);
    tail->blocked = phase_blocked_ns(r->phase);
    samples_report(r->samples, tail);
    pthread_mutex_unlock(&r->lock);
}

static int replan_add_event(struct replan *r, int64_t step, unsigned flags)
{
    struct replan_event *bigger;

    if (!flags)
        return 0;
    bigger = realloc(r->event, (size_t)(r->n_events + 1) * sizeof *bigger);
    if (!bigger)
        return -ENOMEM;
    r->event = bigger;
    r->event[r->n_events++] = (struct replan_event){ .step = step, .flags = flags };
    return 0;
}

/* Of a plan whose copy is there. */
static void replan_note_passing(struct replan *r, int64_t version)
{
    if (replan_copy(r, version)->flags & BOARD_FLAG_PASSING)
        r->passing = version;
}

static void replan_show(struct replan *r, int64_t since)
{
    struct board *b = phase_lock_board(r->phase);
    struct board_page *p;

    if (!b)
        return;
    p = board_begin(b);
    p->plan_version = r->version;
    p->plan_since = since;
    board_end(b);
    phase_unlock_board(r->phase);
}

/* Plans between the old and the new one were skipped; what they asked for is not. */
static int replan_adopt(struct replan *r, int64_t version, int64_t from, struct eddis_error *err)
{
    unsigned flags = 0;
    int rc;

    for (int64_t v = r->version + 1; v <= version; v++) {
        int64_t asked = replan_copy(r, v)->flags;

        if (asked & BOARD_FLAG_CHECKPOINT) {
            flags |= EDDIS_STEP_CHECKPOINT;
            r->checkpoints++;
        }
        if (asked & BOARD_FLAG_STOP)
            flags |= EDDIS_STEP_STOP;
    }
    rc = samples_add_plan(r->samples, version, from, replan_copy(r, version)->batch, err);
    if (rc == 0 && replan_add_event(r, from, flags) < 0)
        rc = eddis_fail(err, -ENOMEM, "no memory for a plan");
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "cannot take plan %lld", (long long)version);
    r->version = version;
    replan_note_passing(r, version);
    replan_show(r, from);
    return 0;
}

void replan_agree(struct replan *r, const struct sync_tail *tail)
{
    int rc = 0;

    phase_set_exposed(r->phase, tail->blocked);
    pthread_mutex_lock(&r->lock);
    if (tail->flags & SYNC_NO_PLAN)
        rc = eddis_fail(&r->failure, -EIO, "a worker cannot read the job's new plan");
    else if (tail->version > r->version)
        rc = replan_adopt(r, tail->version, tail->asked + 1, &r->failure);
    if (!r->failure.code && rc == 0)
        rc = samples_learn(r->samples, tail, &r->failure);
    if (rc < 0)
        r->failure.code = rc;
    samples_release(r->samples);
    pthread_mutex_unlock(&r->lock);
}

/* ---- what was agreed ---- */

int replan_failure(struct replan *r, struct eddis_error *err)
{
    int rc;

    pthread_mutex_lock(&r->lock);
    rc = r->failure.code;
    if (rc < 0 && err)
        *err = r->failure;
    pthread_mutex_unlock(&r->lock);
    return rc;
}

unsigned replan_flags(struct replan *r, int64_t step)
{
    unsigned flags = 0;
    int n = 0;

    pthread_mutex_lock(&r->lock);
    while (n < r->n_events && r->event[n].step <= step)
        flags |= r->event[n++].flags;
    if (n) {
        memmove(r->event, r->event + n, (size_t)(r->n_events - n) * sizeof *r->event);
        r->n_events -= n;
    }
    pthread_mutex_unlock(&r->lock);
    return flags;
}

void replan_resume(struct replan *r, int64_t step)
{
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->n_events; i++)
        r->event[i].step = step;
    pthread_mutex_unlock(&r->lock);
}

int64_t replan_version(struct replan *r)
{
    int64_t version;

    pthread_mutex_lock(&r->lock);
    version = r->version;
    pthread_mutex_unlock(&r->lock);
    return version;
}

bool replan_is_passing(struct replan *r, int64_t version)
{
    bool passing;

    pthread_mutex_lock(&r->lock);
    passing = version == r->passing;
    pthread_mutex_unlock(&r->lock);
    return passing;
}

int64_t replan_checkpoints(struct replan *r)
{
    int64_t n;

    pthread_mutex_lock(&r->lock);
    n = r->checkpoints;
    pthread_mutex_unlock(&r->lock);
    return n;
}

/* ---- the first plan ---- */

/* Without eddis-run: the same for all, the first ones take what is left over. */
static void replan_equal(int64_t all, int64_t n, int64_t *batch)
{
    for (int64_t i = 0; i < n; i++)
        batch[i] = all / n + (i < all % n);
}

/* The newest plan that every worker has. */
static int replan_first(struct replan *r, int n_ranks, int64_t *batch, struct eddis_error *err)
{
    struct board_plan *plan;
    int rc = -EAGAIN;

    r->plan = calloc(BOARD_PLANS, sizeof *r->plan);
    r->batch = calloc((size_t)BOARD_PLANS * (size_t)n_ranks, sizeof *r->batch);
    if (!r->plan || !r->batch)
        return eddis_fail(err, -ENOMEM, "no memory for plans");
    for (int i = 0; i < BOARD_PLANS; i++)
        r->plan[i].batch = r->batch + (size_t)i * (size_t)n_ranks;
    plan = replan_copy(r, r->version);
    for (int i = 0; i < REPLAN_TRIES && rc == -EAGAIN; i++) {
        rc = board_plan_get(r->board, r->version, plan, err);
        if (rc == -EAGAIN)
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "cannot read the job's plan");
    replan_note_passing(r, r->version);
    memcpy(batch, plan->batch, (size_t)n_ranks * sizeof *batch);
    return 0;
}

/* All that may fail on one worker alone comes after the collective. */
int replan_open(struct replan *r, struct collectives *all, int64_t batch, struct eddis_error *err)
{
    int n_ranks = all->place.n_ranks, rc;
    cleanup_free int64_t *share = NULL;

    r->version = r->board ? board_newest(r->board) : 1;
    rc = collectives_least(all, &r->version, 1, err);
    if (rc < 0)
        return rc;
    r->read = r->version;
    share = calloc((size_t)n_ranks, sizeof *share);
    if (!share)
        return eddis_fail(err, -ENOMEM, "no memory for %d ranks", n_ranks);
    if (r->board)
        rc = replan_first(r, n_ranks, share, err);
    else
        replan_equal(batch ? batch : 64 * (int64_t)n_ranks, n_ranks, share);
    for (int i = 0; i < n_ranks; i++)
        r->samples->global_batch += share[i];
    return rc < 0 ? rc : samples_add_plan(r->samples, r->version, 0, share, err);
}
