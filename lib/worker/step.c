/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - the beginning and the end of a step, its samples, the board */
#include "worker.h"

#include "lib/base/clock.h"

#include <errno.h>
#include <math.h>

/* A reader ahead waits for the agreement about a new plan at most so long. */
#define PLAN_TIMEOUT_NS (INT64_C(600) * CLOCK_S)
#define PLAN_SLICE_NS   (CLOCK_S / 10)

/* Linear warm-up of the learning rate, as the job asks for. */
static double step_lr_factor(const struct eddis *e, int64_t step)
{
    int64_t warmup = e->area ? e->area->warmup_steps : 0;

    return step + 1 < warmup ? (double)(step + 1) / (double)warmup : 1.0;
}

/* A writer's step counts by its samples: as much as they are of what all writers take together,
 * were they alike.
 */
static double step_share(const struct eddis *e, int64_t batch)
{
    return centre_several(e) ? (double)batch * e->group.n_groups / (double)e->global_batch : 1.0;
}

static struct eddis_step step_public(const struct eddis *e, const struct sampler_step *s)
{
    return (struct eddis_step){
        .step = s->step,
        .epoch = s->epoch,
        .step_in_epoch = s->step_in_epoch,
        .steps_in_epoch = s->steps_in_epoch,
        .first = s->first,
        .count = s->count,
        .batch = s->batch,
        .weight = s->batch ? (double)s->count / (double)s->batch : 0,
        .lr_factor = step_lr_factor(e, s->step) * step_share(e, s->batch),
        .flags = s->last_of_epoch ? EDDIS_STEP_END_OF_EPOCH : 0,
    };
}

/* With plan_lock held. */
static struct engine_step step_engine(const struct eddis *e, const struct sampler_step *s)
{
    return (struct engine_step){ .step = e->round,
                                 .weight = (double)s->count,
                                 .batch = s->batch ? (double)s->batch : 1.0,
                                 .passing = s->version == e->plan_passing };
}

static unsigned step_flags(struct eddis *e, int64_t step)
{
    int64_t every = e->area ? e->area->checkpoint_every : 0;
    unsigned flags = replan_flags(e, step);

    if (every > 0 && (step + 1) % every == 0)
        flags |= EDDIS_STEP_CHECKPOINT;
    return flags;
}

/* The same where checkpoints are due by the samples of all: each worker flags every one of them
 * once, at its own next step.
 */
static unsigned step_flags_models(struct eddis *e, int64_t step)
{
    struct centre *m = &e->centre;
    unsigned flags = replan_flags(e, step) & ~(unsigned)EDDIS_STEP_CHECKPOINT;
    int64_t due = samples_due(e, e->current.passed) - m->due_before + m->planned;

    if (due > m->flagged) {
        m->flagged++;
        flags |= EDDIS_STEP_CHECKPOINT;
    }
    return flags;
}

static void step_show(struct eddis *e)
{
    phase_step_begin(&e->phase, sampler_asked(e->sampler));
    emulate_begin(&e->emulation, e->current.count, clock_now_ns());
}

static int step_check_plan(const struct eddis *e, struct eddis_error *err)
{
    if (e->plan_failure.code && err)
        *err = e->plan_failure;
    return e->plan_failure.code;
}

/* Take the next step from the sampler.  Returns 1, 0 at the end, or a failure.  With plan_lock
 * held, here and below.
 */
static int step_take(struct eddis *e, struct eddis_error *err)
{
    int rc = step_check_plan(e, err);

    if (rc < 0 || e->stop)
        return rc;
    rc = e->samples.ranges ? samples_step(e, e->step, &e->current, err)
                           : sampler_ask(e->sampler, e->step, &e->current, err);
    if (rc <= 0)
        return rc;
    sampler_forget(e->sampler, e->step);
    e->flags = centre_several(e) ? step_flags_models(e, e->step) : step_flags(e, e->step);
    return 1;
}

/* A step without samples, for a checkpoint that others write. */
static void step_empty(struct eddis *e)
{
    e->current = (struct sampler_step){ .step = e->step,
                                        .epoch = e->current.epoch,
                                        .step_in_epoch = e->current.step_in_epoch + 1,
                                        .steps_in_epoch = sampler_steps_in_epoch(e->sampler),
                                        .passed = e->current.passed,
                                        .version = e->plan_version };
    e->flags = EDDIS_STEP_CHECKPOINT;
    e->centre.flagged++;
}

/* With several models: whatever of a step's beginning waits for others.  Returns as step_take.
 * After -ETIMEDOUT the next call goes on.
 */
static int step_prepare(struct eddis *e, struct eddis_error *err)
{
    int rc = e->centre.started ? 0 : centre_start(e, err);

    if (rc < 0)
        return rc;
    pthread_mutex_lock(&e->plan_lock);
    rc = e->centre.taken ? 1 : step_take(e, err);
    pthread_mutex_unlock(&e->plan_lock);
    if (rc == 0) {
        rc = centre_finish(e, err);
        if (rc == 1)
            step_empty(e);
        return rc;
    }
    if (rc < 0)
        return rc;
    e->centre.taken = true;
    rc = samples_ahead(e, err);
    if (rc == 0)
        rc = centre_exchange(e, SYNC_STEP, err);
    e->centre.taken = rc < 0;
    return rc < 0 ? rc : 1;
}

static int step_begin(struct eddis *e, struct eddis_step *ret, struct eddis_error *err)
{
    int rc = centre_several(e) ? step_prepare(e, err) : 1;

    if (rc <= 0)
        return rc;
    pthread_mutex_lock(&e->plan_lock);
    if (!centre_several(e))
        rc = step_take(e, err);
    if (rc == 1) {
        *ret = step_public(e, &e->current);
        ret->flags |= e->flags;
        e->begin.step = step_engine(e, &e->current);
        step_show(e);
    }
    pthread_mutex_unlock(&e->plan_lock);
    return rc;
}

int eddis_step_begin(struct eddis *e, struct eddis_step *ret, struct eddis_error *err)
{
    struct eddis_step s;
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = comm_thread_failure(e->comm_thread, err);
    if (rc < 0)
        return rc;
    if (!e->engine || !ret || e->in_step)
        return eddis_fail(err, -EINVAL,
                          !e->engine   ? "call eddis_commit before the first step"
                          : e->in_step ? "the step before has not been ended by eddis_step_end"
                                       : "the step is NULL");
    rc = step_begin(e, &s, err);
    if (rc <= 0)
        return rc;
    if (sized_copy_out(ret, &s, sizeof s) < 0)
        return eddis_fail(err, -EINVAL, "the step's size field is not set");
    pthread_mutex_lock(&e->announce_lock);
    for (int i = 0; i < e->parameters.n; i++)
        e->parameters.item[i].announced = false;
    e->finished = e->waited = e->weight_fixed = false;
    e->n_announced = 0;
    e->in_step = true;
    e->begin.mail.kind = MAIL_BEGIN;
    e->round++;
    comm_thread_send(e->comm_thread, &e->begin.mail);
    pthread_mutex_unlock(&e->announce_lock);
    return 1;
}

/* Until the workers have agreed, a failure of the communication, or the deadline; with plan_lock
 * held.  In slices, because a failure wakes nobody here.
 */
static int replan_wait_agreed(struct eddis *e, int64_t step, struct eddis_error *err)
{
    int64_t deadline = clock_after_ns(clock_now_ns(), PLAN_TIMEOUT_NS), now;
    int rc = 0;

    while (rc == 0 && e->frozen && step > e->horizon) {
        int64_t slice = clock_after_ns(now = clock_now_ns(), PLAN_SLICE_NS);
        struct timespec ts = { .tv_sec = slice / CLOCK_S, .tv_nsec = slice % CLOCK_S };

        if (now >= deadline)
            return eddis_fail(err, -ETIMEDOUT,
                              "step %lld is not planned yet: the workers have not agreed from "
                              "which step a new plan holds",
                              (long long)step);
        pthread_cond_timedwait(&e->plan_agreed, &e->plan_lock, &ts);
        pthread_mutex_unlock(&e->plan_lock); /* see handle.h for the order of locks */
        rc = comm_thread_failure(e->comm_thread, err);
        pthread_mutex_lock(&e->plan_lock);
    }
    return rc;
}

int eddis_plan_step(struct eddis *e, int64_t step, struct eddis_step *ret, struct eddis_error *err)
{
    struct sampler_step s;
    struct eddis_step p;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!ret)
        return eddis_fail(err, -EINVAL, "the step is NULL");
    if (centre_several(e) && !e->samples.ranges)
        return eddis_fail(err, -EINVAL, "call eddis_commit before asking for samples");
    pthread_mutex_lock(&e->plan_lock);
    if (e->samples.ranges) {
        rc = samples_step(e, step, &s, err);
    } else {
        rc = replan_wait_agreed(e, step, err);
        if (rc == 0)
            rc = sampler_ask(e->sampler, step, &s, err);
    }
    if (rc > 0)
        p = step_public(e, &s);
    pthread_mutex_unlock(&e->plan_lock);
    if (rc > 0 && sized_copy_out(ret, &p, sizeof p) < 0)
        return eddis_fail(err, -EINVAL, "the step's size field is not set");
    return rc;
}

int eddis_sample_indices(struct eddis *e, const struct eddis_step *step, int64_t *ret,
                         struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!step || (!ret && step->count))
        return eddis_fail(err, -EINVAL, "the step or the place for the numbers is NULL");
    /* Reads nothing that another thread may change. */
    return sampler_indices(e->sampler, step->epoch, step->first, step->count, ret, err);
}

int eddis_set_weight(struct eddis *e, double weight, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!(weight >= 0) || !isfinite(weight))
        return eddis_fail(err, -EINVAL, "a weight of %g is not possible", weight);
    pthread_mutex_lock(&e->announce_lock);
    if (!e->in_step || e->finished || e->weight_fixed) {
        rc =
            eddis_fail(err, -EINVAL,
                       "a weight is set between eddis_step_begin and the first announcement, once");
    } else {
        e->weight_fixed = true; /* nothing may change the weight after this */
        e->weight = (struct mail_weight){ .mail.kind = MAIL_WEIGHT, .weight = weight };
        comm_thread_send(e->comm_thread, &e->weight.mail);
    }
    pthread_mutex_unlock(&e->announce_lock);
    return rc;
}

int eddis_step_end(struct eddis *e, const struct eddis_report *in, struct eddis_error *err)
{
    struct eddis_report report = { 0 };
    struct phase_step s;
    int64_t now;
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!e->in_step || !e->waited)
        return eddis_fail(err, -EINVAL,
                          e->in_step ? "eddis_wait must have succeeded before "
                                       "eddis_step_end"
                                     : "no step has begun");
    if (in)
        sized_copy_in(&report, sizeof report, in);
    report.overrun_ns += e->emulation.overrun_ns;
    s = (struct phase_step){ .step = e->current.step,
                             .count = e->current.count,
                             .plan = e->current.version,
                             .sent_bytes = comm_thread_sent_bytes(e->comm_thread),
                             .staleness = comm_thread_staleness(e->comm_thread) };
    now = clock_now_ns();
    emulate_end(&e->emulation, now);
    phase_step_end(&e->phase, &s, now, &report);
    pthread_mutex_lock(&e->plan_lock);
    e->stop |= (e->flags & EDDIS_STEP_STOP) != 0;
    if (e->samples.ranges)
        ranges_finish(e->samples.ranges, e->step);
    e->step++;
    pthread_mutex_unlock(&e->plan_lock);
    pthread_mutex_lock(&e->announce_lock);
    e->in_step = false;
    pthread_mutex_unlock(&e->announce_lock);
    return 0;
}

void eddis_set_phase(struct eddis *e, enum eddis_phase phase)
{
    if (worker_check(e, NULL) < 0 || phase < EDDIS_PHASE_START || phase > EDDIS_PHASE_DONE)
        return;
    phase_enter(&e->phase, phase);
}

int eddis_set_metric(struct eddis *e, const char *name, double value, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0)
        return rc;
    if (!name)
        return eddis_fail(err, -EINVAL, "the metric has no name");
    return phase_show_metric(&e->phase, name, value, err);
}
