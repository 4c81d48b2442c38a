/* SPDX-License-Identifier: Apache-2.0 */
/* plan_switch.c - agree from which step a new plan applies
 *
 * The trailer of each step's last bucket carries two numbers: the newest plan version on a worker's
 * board, and the highest step that its sampler may have been asked for.  All workers get the
 * minimum of the first and the maximum of the second.  If the minimum version is new, it applies
 * from that maximum + 1 on.  Between filling in the trailer and the result, requests for steps
 * beyond the reported one must wait.
 */
#include "plan_switch.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Steps after the present one that are reported as asked for, so that a reader one or two steps
 * ahead need not wait when a plan changes.
 */
enum { REPLAN_AHEAD = 2 }; /* plan_switch_period needs at least 1 */

enum { REPLAN_TRIES = 1000 }; /* tries, one a millisecond, while the agent writes a plan */

void plan_switch_init(struct plan_switch *r)
{
    r->fd = -1;
    r->stop_at = INT64_MAX;
    pthread_mutex_init(&r->lock, NULL);
}

void plan_switch_fini(struct plan_switch *r)
{
    free(r->event);
    free(r->plan);
    free(r->batch);
    if (r->fd >= 0)
        close(r->fd);
    pthread_mutex_destroy(&r->lock);
}

/* ---- the engine's hooks ---- */

/* Borrow the slot of r->plan for the copy of this version. */
static struct board_plan *plan_switch_copy(struct plan_switch *r, int64_t version)
{
    return &r->plan[version % BOARD_PLANS];
}

/* Copy new plans from the board to r->plan and advance r->read.  Return 0 also if the agent is just
 * writing a plan: the next step's call copies that one.
 */
static int plan_switch_fetch(struct plan_switch *r)
{
    int rc = 0;

    while (rc == 0 && r->read < board_newest(r->board)) {
        rc = board_plan_get(r->board, r->read + 1, plan_switch_copy(r, r->read + 1), NULL);
        if (rc == 0)
            r->read++;
    }
    return rc == -EAGAIN ? 0 : rc;
}

void plan_switch_report(struct plan_switch *r, struct sync_trailer *tail)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    if (r->board && plan_switch_fetch(r) < 0)
        tail->flags |= SYNC_NO_PLAN;
    if (r->stop)
        tail->flags |= SYNC_STOP;
    tail->version = r->read;
    tail->asked = samples_hold(r->samples, REPLAN_AHEAD, r->read > r->version);
    tail->blocked = phase_blocked_ns(r->phase);
    samples_report(r->samples, tail);
    models_report(&r->models, &tail->models);
}

/* Append a copy of event e to r->event.  Return 0 or -ENOMEM. */
static int plan_switch_add_event(struct plan_switch *r, const struct plan_switch_event *e)
{
    struct plan_switch_event *bigger;

    bigger = realloc(r->event, (size_t)(r->n_events + 1) * sizeof *bigger);
    if (!bigger)
        return -ENOMEM;
    r->event = bigger;
    r->event[r->n_events++] = *e;
    return 0;
}

/* Set r->passing to this version if the plan has BOARD_FLAG_PASSING.  The plan must have been
 * copied.
 */
static void plan_switch_note_passing(struct plan_switch *r, int64_t version)
{
    if (plan_switch_copy(r, version)->flags & BOARD_FLAG_PASSING)
        r->passing = version;
}

/* Show on the board that r->version applies from step `since` on. */
static void plan_switch_show(struct plan_switch *r, int64_t since)
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

/* Show the result of comparing models on the board. */
static void plan_switch_show_models(struct plan_switch *r)
{
    struct board *b = phase_lock_board(r->phase);

    if (!b)
        return;
    board_begin(b)->models = r->models.shown;
    board_end(b);
    phase_unlock_board(r->phase);
}

/* Judge the models as they were after the previous step, from the sums of all workers in this
 * step's agreement, and show a new result on the board.  Return as models_agree.
 */
static int plan_switch_compare(struct plan_switch *r, const struct model_sums *all,
                               struct eddis_error *err)
{
    int64_t compared = r->models.shown.compared;
    int rc = models_agree(&r->models, all, r->samples->step, err);

    if (r->models.shown.compared > compared)
        plan_switch_show_models(r);
    return rc;
}

/* If there are several models, check that the plan has a period.  Return 0, or -EPROTO if not. */
static int plan_switch_check(const struct plan_switch *r, int64_t version, struct eddis_error *err)
{
    return r->samples->group->several && r->plan[version % BOARD_PLANS].period < 1
               ? eddis_fail(err, -EPROTO, "it has no period between averages of models")
               : 0;
}

/* Make this step the last one, for the samples too, unless an earlier step is. */
static void plan_switch_stop_at(struct plan_switch *r, int64_t step)
{
    r->stop_at = step < r->stop_at ? step : r->stop_at;
    samples_stop(r->samples, r->stop_at);
}

/* Give the samples a plan: its batches, and this worker's micro-batch size, from step *from on; in
 * rounds after so many, and then set *from to the first step.  Return 0 or the failure of
 * samples_add_plan.
 */
static int plan_switch_take(struct plan_switch *r, const struct board_plan *p, int64_t *from,
                            struct eddis_error *err)
{
    struct samples_plan plan = { p->version, *from, p->batch, p->piece[r->samples->order.rank],
                                 p->period };
    int rc = samples_add_plan(r->samples, &plan, err);

    *from = plan.from_step;
    return rc;
}

/* Take the plan `version` from step `from` on, and let readers of r->fd know; in rounds, between
 * two rounds, after `from` rounds.  Plans between r->version and this one are skipped, but their
 * requests for checkpoints and stops count, in rounds at once.  On failure r->version stays.
 */
static int plan_switch_adopt(struct plan_switch *r, int64_t version, int64_t from,
                             struct eddis_error *err)
{
    int64_t at = r->samples->group->rounds ? r->samples->step : from;
    struct plan_switch_event e = { .step = at, .period = plan_switch_copy(r, version)->period };
    int rc = plan_switch_check(r, version, err);

    for (int64_t v = r->version + 1; v <= version; v++) {
        int64_t asked = plan_switch_copy(r, v)->flags;

        if (asked & BOARD_FLAG_CHECKPOINT) {
            e.flags |= EDDIS_STEP_CHECKPOINT;
            e.checkpoints++;
        }
        if (asked & BOARD_FLAG_STOP)
            plan_switch_stop_at(r, at);
    }
    if (rc == 0)
        rc = plan_switch_take(r, plan_switch_copy(r, version), &from, err);
    if (rc == 0 && plan_switch_add_event(r, &e) < 0)
        rc = eddis_fail(err, -ENOMEM, "no memory for a plan");
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "cannot take plan %lld", (long long)version);
    r->version = version;
    plan_switch_note_passing(r, version);
    plan_switch_show(r, from);
    if (r->fd >= 0)
        (void)eventfd_write(r->fd, 1); /* fails only if it is already readable */
    return 0;
}

void plan_switch_agree(struct plan_switch *r, const struct sync_trailer *tail)
{
    int rc = 0;

    phase_set_exposed(r->phase, tail->blocked);
    pthread_mutex_lock(&r->lock);
    if (tail->flags & SYNC_NO_PLAN)
        rc = eddis_fail(&r->failure, -EIO, "a worker cannot read the job's new plan");
    else if (tail->version > r->version)
        rc = plan_switch_adopt(r, tail->version, tail->asked + !r->samples->group->rounds,
                               &r->failure);
    if (tail->flags & SYNC_STOP) {
        /* The present step is under way until all workers have called this function; in rounds the
         * step is the next one.
         */
        plan_switch_stop_at(r, r->samples->step + !r->samples->group->rounds);
        samples_spread_stop(r->samples);
    }
    if (!r->failure.code && rc == 0)
        rc = samples_learn(r->samples, tail, &r->failure);
    if (!r->failure.code && rc == 0)
        rc = plan_switch_compare(r, &tail->models, &r->failure);
    if (rc < 0)
        r->failure.code = rc;
    samples_release(r->samples);
    pthread_mutex_unlock(&r->lock);
}

/* ---- what this worker wants ---- */

/* Set the int64_t at this offset of this worker's progress page; do nothing without a board. */
static void plan_switch_mark(struct plan_switch *r, size_t offset, int64_t value)
{
    struct board *b = phase_lock_board(r->phase);

    if (!b)
        return;
    *(int64_t *)((char *)board_begin(b) + offset) = value;
    board_end(b);
    phase_unlock_board(r->phase);
}

void plan_switch_show_trained(struct plan_switch *r)
{
    plan_switch_mark(r, offsetof(struct board_page, trained), 1);
}

void plan_switch_show_ended(struct plan_switch *r, bool waits)
{
    plan_switch_mark(r, offsetof(struct board_page, ended), waits);
}

void plan_switch_stop(struct plan_switch *r)
{
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_mutex_unlock(&r->lock);
    plan_switch_mark(r, offsetof(struct board_page, stops), 1);
}

bool plan_switch_wants_stop(struct plan_switch *r)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    return r->stop;
}

bool plan_switch_stops(struct plan_switch *r)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    return r->stop || r->stop_at < INT64_MAX;
}

/* ---- models ---- */

bool plan_switch_sums_due(struct plan_switch *r, int64_t step, bool last)
{
    return models_due(&r->models, step, last);
}

void plan_switch_tell_sums(struct plan_switch *r, const double sum[MODEL_SUMS])
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    models_keep(&r->models, sum);
}

int plan_switch_compare_last(struct plan_switch *r, struct collectives *all,
                             struct eddis_error *err)
{
    int n = all->place.n_ranks, rc = 0;
    struct model_sums mine, sum = { .n_finite = 0 };
    cleanup_free struct model_sums *each = NULL;

    if (r->models.every <= 0)
        return 0;
    each = calloc((size_t)n, sizeof *each);
    if (!each)
        return eddis_fail(err, -ENOMEM, "no memory for the sums of %d models", n);
    pthread_mutex_lock(&r->lock);
    models_report(&r->models, &mine);
    pthread_mutex_unlock(&r->lock);
    each[0] = mine;
    if (n > 1)
        rc = collectives_allgather(all, &mine, each, sizeof mine, err);
    for (int i = 0; rc == 0 && i < n; i++)
        model_sums_combine(&sum, &each[i]);
    pthread_mutex_lock(&r->lock);
    if (rc == 0)
        rc = plan_switch_compare(r, &sum, err);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

/* ---- what was agreed ---- */

int plan_switch_failure(struct plan_switch *r, struct eddis_error *err)
{
    int rc;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    rc = r->failure.code;
    if (rc < 0 && err)
        *err = r->failure;
    return rc;
}

unsigned plan_switch_flags(struct plan_switch *r, int64_t step)
{
    unsigned flags;
    int n = 0;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    flags = step >= r->stop_at ? EDDIS_STEP_STOP : 0;
    for (; n < r->n_events && r->event[n].step <= step; n++) {
        flags |= r->event[n].flags;
        r->period = r->event[n].period;
        r->checkpoints += r->event[n].checkpoints;
    }
    if (n) {
        memmove(r->event, r->event + n, (size_t)(r->n_events - n) * sizeof *r->event);
        r->n_events -= n;
    }
    return flags;
}

void plan_switch_resume(struct plan_switch *r, int64_t step)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    r->models.pending = false;
    for (int i = 0; i < r->n_events; i++)
        r->event[i].step = step;
    if (r->stop_at < INT64_MAX) {
        r->stop_at = step;
        samples_stop(r->samples, step);
    }
}

int plan_switch_fd(struct plan_switch *r, struct eddis_error *err)
{
    int fd;

    pthread_mutex_lock(&r->lock);
    if (r->fd < 0)
        r->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    fd = r->fd >= 0 ? r->fd : -errno;
    pthread_mutex_unlock(&r->lock);
    return fd >= 0 ? fd : eddis_fail(err, fd, "no descriptor for plans: %s", strerror(-fd));
}

int64_t plan_switch_version(struct plan_switch *r)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    return r->version;
}

bool plan_switch_is_passing(struct plan_switch *r, int64_t version)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    return version == r->passing;
}

int64_t plan_switch_period(struct plan_switch *r, int64_t step)
{
    int64_t period;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    period = r->period;
    for (int i = 0; i < r->n_events && r->event[i].step <= step; i++)
        period = r->event[i].period;
    return period;
}

int64_t plan_switch_checkpoints(struct plan_switch *r)
{
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    return r->checkpoints;
}

/* ---- the first plan ---- */

/* Add the first plan without eddis-run, and set the global batch: `all` samples a step divided
 * equally among n ranks; the first ranks take the remainder.  Return 0 or a negative errno.
 */
static int plan_switch_equal(struct plan_switch *r, int64_t all, int64_t n, struct eddis_error *err)
{
    cleanup_free int64_t *batch = calloc((size_t)n, sizeof *batch);

    if (!batch)
        return eddis_fail(err, -ENOMEM, "no memory for %lld ranks", (long long)n);
    for (int64_t i = 0; i < n; i++)
        batch[i] = all / n + (i < all % n);
    r->samples->global_batch = all;
    return samples_add_plan(r->samples, &(struct samples_plan){ r->version, 0, batch, 0 }, err);
}

/* Allocate the copies of plans for n ranks, r->plan and r->batch.  Return 0 or -ENOMEM. */
static int plan_switch_make_room(struct plan_switch *r, size_t n, struct eddis_error *err)
{
    r->plan = calloc(BOARD_PLANS, sizeof *r->plan);
    r->batch = calloc(BOARD_PLANS * 2 * n, sizeof *r->batch);
    if (!r->plan || !r->batch)
        return eddis_fail(err, -ENOMEM, "no memory for plans");
    for (size_t i = 0; i < BOARD_PLANS; i++) {
        r->plan[i].batch = r->batch + 2 * i * n;
        r->plan[i].piece = r->plan[i].batch + n;
    }
    return 0;
}

/* Read the first plan, r->version, from the board and apply it from step 0 on.  Try again while the
 * agent writes.  Return 0 or a negative errno; -EPROTO: the plan does not suit its mode.
 */
static int plan_switch_first(struct plan_switch *r, int n_ranks, struct eddis_error *err)
{
    struct board_plan *plan;
    int64_t from = 0;
    int rc;

    rc = plan_switch_make_room(r, (size_t)n_ranks, err);
    if (rc < 0)
        return rc;
    plan = plan_switch_copy(r, r->version);
    rc = -EAGAIN;
    for (int i = 0; i < REPLAN_TRIES && rc == -EAGAIN; i++) {
        rc = board_plan_get(r->board, r->version, plan, err);
        if (rc == -EAGAIN)
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
    if (rc == 0)
        rc = plan_switch_check(r, r->version, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "cannot read the job's plan");
    r->period = plan->period;
    plan_switch_note_passing(r, r->version);
    for (int i = 0; i < n_ranks; i++)
        r->samples->global_batch += plan->batch[i];
    return plan_switch_take(r, plan, &from, err);
}

int plan_switch_begin(struct plan_switch *r, struct collectives *all, struct eddis_error *err)
{
    r->version = r->board ? board_newest(r->board) : 1;
    return collectives_least(all, &r->version, 1, err);
}

int plan_switch_open(struct plan_switch *r, int n_ranks, int64_t batch, struct eddis_error *err)
{
    r->read = r->version;
    if (r->board)
        return plan_switch_first(r, n_ranks, err);
    return plan_switch_equal(r, batch ? batch : 64 * (int64_t)n_ranks, n_ranks, err);
}

int plan_switch_settle(struct plan_switch *r, int64_t version, struct eddis_error *err)
{
    int rc = 0;
    cleanup_unlock pthread_mutex_t *lock = mutex_hold(&r->lock);

    for (int i = 0; i < REPLAN_TRIES && rc == 0 && r->read < version; i++) {
        rc = plan_switch_fetch(r);
        if (rc == 0 && r->read < version)
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
    if (rc < 0 || r->read < version)
        rc = eddis_fail(err, rc < 0 ? rc : -EAGAIN, "cannot read the job's plan");
    else if (r->version < version) /* else an earlier call took it, and another worker failed */
        rc = plan_switch_adopt(r, version, r->samples->step, err);
    if (rc == 0)
        r->period = plan_switch_copy(r, version)->period;
    return rc;
}
