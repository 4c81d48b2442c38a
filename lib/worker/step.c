/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - the beginning and the end of a step, and its display on the board */
#include "rounds.h"

#include "lib/base/clock.h"
#include "lib/model/precision.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int step_make_sets(struct step *s, struct parameters *all, struct eddis_error *err)
{
    int n = parameters_sets(all, err);
    struct step_set *set = n < 0 ? NULL : calloc((size_t)n, sizeof *set);

    if (n < 0 || !set)
        return n < 0 ? n : eddis_fail(err, -ENOMEM, "no memory for %d sets", n);
    for (int i = 0; i < all->n; i++) {
        struct parameter *p = &all->item[i];

        p->rounds = &set[p->set];
        p->rounds->n += p->slot >= 0;
    }
    free(s->set);
    s->set = set;
    s->n_sets = n;
    return 0;
}

/* Return the factor for the learning rate of this step that the job's linear warm-up gives; 1 after
 * it.
 */
static double step_lr_factor(const struct eddis *e, int64_t step)
{
    int64_t warmup = e->area ? e->area->warmup_steps : 0;

    return step + 1 < warmup ? (double)(step + 1) / (double)warmup : 1.0;
}

/* Return the factor by which a step of this worker's group, with so many samples, counts: the
 * samples relative to an equal share of the global batch; 1 with one model, and in local mode,
 * where a group's samples are its model's weight.
 */
static double step_share(const struct eddis *e, int64_t batch)
{
    return e->group.several && !e->group.rounds
               ? (double)batch * e->group.n_groups / (double)e->samples.global_batch
               : 1.0;
}

/* Return the largest micro-batch of a step, in samples.  If the program does not set
 * eddis_options.pieces it is s->count: a plan may still ask for micro-batches until the driver
 * knows that the program makes none.
 */
static int64_t step_piece(const struct eddis *e, const struct sampler_step *s)
{
    return e->options.pieces && s->piece > 0 && s->piece < s->count ? s->piece : s->count;
}

struct eddis_step step_public(const struct eddis *e, const struct sampler_step *s)
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
        .emulated_s = emulate_step_s(&e->emulation, s->step, s->count),
        .piece = step_piece(e, s),
        .samples_before = s->passed - s->batch,
    };
}

/* Return the engine's description of the step. */
static struct engine_step step_engine(struct eddis *e, const struct sampler_step *s)
{
    return (struct engine_step){ .step = e->step.round,
                                 .weight = (double)s->count,
                                 .batch = s->batch ? (double)s->batch : 1.0,
                                 .passing = plan_switch_is_passing(&e->plan_switch, s->version) };
}

/* Check whether this step is the last one, as far as is known at its beginning; false if the number
 * of steps is unknown.
 */
static bool step_is_last(struct eddis *e, int64_t step)
{
    int64_t n = sampler_steps(e->samples.sampler);

    return e->samples.ranges ? !samples_follow(&e->samples) : n > 0 && step + 1 >= n;
}

/* Return the flags of a step in sync mode.  Forgets the plans' flags up to this step. */
static unsigned step_flags(struct eddis *e, int64_t step)
{
    int64_t every = e->area ? e->area->checkpoint_every : 0;
    unsigned flags = plan_switch_flags(&e->plan_switch, step);

    if (every > 0 && (step + 1) % every == 0)
        flags |= EDDIS_STEP_CHECKPOINT;
    if (plan_switch_sums_due(&e->plan_switch, step,
                             flags & EDDIS_STEP_STOP || step_is_last(e, step)))
        flags |= EDDIS_STEP_SUMS;
    return flags;
}

/* Return the flags of a step with several models.  A checkpoint is due by the samples that all
 * workers have done: each worker flags each checkpoint in one step, its own next one.  Forgets the
 * plans' flags up to this step.
 */
static unsigned step_flags_models(struct eddis *e, int64_t step)
{
    struct centre *m = &e->centre;
    unsigned flags = plan_switch_flags(&e->plan_switch, step) & ~(unsigned)EDDIS_STEP_CHECKPOINT;
    int64_t due = centre_due(m, e->step.current.passed) - m->due_before +
                  plan_switch_checkpoints(&e->plan_switch) - m->planned_before;

    if (due > m->flagged) {
        m->flagged++;
        flags |= EDDIS_STEP_CHECKPOINT;
    }
    return flags;
}

/* Return the flags of a step in local mode: a checkpoint that is due is flagged in the last step
 * before the round's end, on all workers, unless some group makes no step in the round.  Forgets
 * the plans' flags up to this step.
 */
static unsigned step_flags_rounds(struct eddis *e, int64_t step)
{
    struct centre *m = &e->centre;
    unsigned flags = plan_switch_flags(&e->plan_switch, step) & ~(unsigned)EDDIS_STEP_CHECKPOINT;
    int64_t passed, due;

    if (!samples_round_ends(&e->samples, &passed) || passed < 0)
        return flags;
    due = centre_due(m, passed) - m->due_before + plan_switch_checkpoints(&e->plan_switch) -
          m->planned_before;
    if (due > m->flagged) {
        m->flagged = due;
        flags |= EDDIS_STEP_CHECKPOINT;
    }
    return flags;
}

/* Store the next step's samples and flags in e->step.  Return 1; 0 if no step is left or a stop
 * ends them; or a failure.
 */
static int step_take(struct eddis *e, struct eddis_error *err)
{
    int64_t step = e->samples.step;
    int rc = plan_switch_failure(&e->plan_switch, err);

    if (rc < 0 || e->step.stop || e->step.enough)
        return rc;
    rc = samples_take(&e->samples, &e->step.current, err);
    if (rc > 0)
        e->step.flags = e->group.rounds    ? step_flags_rounds(e, step)
                        : e->group.several ? step_flags_models(e, step)
                                           : step_flags(e, step);
    e->step.extra = false;
    return rc;
}

/* Make the present step one without samples, so that this worker takes part in a checkpoint that
 * other workers write.
 */
static void step_empty(struct eddis *e)
{
    const struct sampler_step before = e->step.current;

    e->step.current = (struct sampler_step){
        .step = e->samples.step,
        .epoch = before.epoch,
        .step_in_epoch = before.step_in_epoch + 1,
        .steps_in_epoch = sampler_steps_in_epoch(e->samples.sampler),
        .passed = before.passed,
        .version = plan_switch_version(&e->plan_switch),
    };
    e->step.flags = EDDIS_STEP_CHECKPOINT;
    e->step.extra = true;
    e->centre.flagged++;
}

/* Exchange with the centre before the present step, if due.  Return 0 or a negative errno.  After a
 * failure such as -ETIMEDOUT the next call continues the exchange; its time counts from the first
 * call, and the part that steps have hidden too.  Sets step.exchange_ns if there was an exchange,
 * and step.written if it may have changed the parameters.
 */
static int step_exchange(struct eddis *e, struct eddis_error *err)
{
    int rc;

    if (!e->step.exchanging) {
        e->step.stale = comm_thread_staleness(e->comm_thread) > 0;
        e->step.exchange_begun_ns = clock_now_ns();
        e->step.due &= e->step.stale; /* a checkpoint between the steps may have exchanged */
    }
    e->step.exchanging = true;
    rc = centre_step(&e->centre, plan_switch_period(&e->plan_switch, e->step.current.step), err);
    e->step.exchanging = rc < 0;
    if (rc == 0 && e->step.stale && comm_thread_staleness(e->comm_thread) == 0)
        e->step.exchange_ns = clock_now_ns() - e->step.exchange_begun_ns + e->centre.hidden_ns;
    e->step.written |= rc == 0 && e->step.due;
    return rc;
}

/* Make the centre before the first step; set step.written if parameters were restored then.
 * Collective.  Return 0 or a negative errno; after -ETIMEDOUT the next call continues.
 */
static int step_start(struct eddis *e, struct eddis_error *err)
{
    bool local = e->centre.local != NULL;
    int rc = centre_start(&e->centre, CLOCK_NEVER, err);

    if (rc < 0)
        return rc;
    e->step.due = false; /* nothing to exchange yet */
    e->step.written |= local;
    return 0;
}

/* Count the time since exchange_begun_ns if this call has ended a round, applied its result, or
 * both.  With overlap both count as one exchange.  steps, lands: those of the centre before the
 * call.
 */
static void step_round_time(struct eddis *e, int64_t steps, bool lands)
{
    bool ended = steps && !e->centre.steps, landed = lands && (ended || !e->centre.lands);

    if (!ended && !landed)
        return;
    e->step.round_ns += clock_now_ns() - e->step.exchange_begun_ns;
    if (!landed && e->centre.lands)
        return;
    e->step.exchange_ns = e->step.round_ns;
    e->step.round_ns = 0;
}

/* End the round of local mode, if its last step is over, and apply a result that is due.  Return as
 * step_exchange, or EDDIS_ROUND_ENDED.  Then the exchange ends with the next call, before which the
 * program combines the models; whatever else it does between the calls counts as part of it.  A
 * restore between them ends it without a time.
 */
static int step_round(struct eddis *e, struct eddis_error *err)
{
    int64_t steps = e->centre.steps;
    bool lands = e->centre.lands;
    int rc;

    if (!e->step.exchanging && !e->step.combines)
        e->step.exchange_begun_ns = clock_now_ns();
    if (!lands) /* a checkpoint or a restore may have applied the newest result */
        e->step.round_ns = 0;
    e->step.exchanging = true;
    rc = centre_round(&e->centre, err);
    e->step.exchanging = rc < 0;
    if (rc == 0 && e->step.combines)
        e->step.exchange_ns = clock_now_ns() - e->step.exchange_begun_ns;
    else if (rc == 0)
        step_round_time(e, steps, lands);
    if (rc >= 0)
        e->step.combines = rc == EDDIS_ROUND_ENDED;
    return rc;
}

/* Return the flags about parameter values in local mode, where every rank reads and writes its own:
 * EDDIS_STEP_WRITTEN if the result of a round's end was written since the last step, and
 * EDDIS_STEP_READS if the step is the last one before a round's end or before a result is applied.
 */
static unsigned step_values_rounds(struct eddis *e)
{
    int64_t passed;
    bool last = e->step.stop || e->step.flags & EDDIS_STEP_STOP || centre_lands_next(&e->centre) ||
                samples_round_ends(&e->samples, &passed);
    unsigned written = e->step.written || e->centre.wrote ? EDDIS_STEP_WRITTEN : 0;

    e->step.written = e->centre.wrote = false;
    return written | (last ? EDDIS_STEP_READS : 0);
}

/* Return the flags about parameter values: EDDIS_STEP_WRITTEN if the step's beginning wrote them,
 * and on a group's root EDDIS_STEP_READS if an exchange is due before the next step or no step
 * follows.  Also set step.due for the next step and clear step.written.
 */
static unsigned step_values(struct eddis *e)
{
    bool last = e->step.stop || e->step.flags & EDDIS_STEP_STOP || !samples_follow(&e->samples);
    int64_t next = e->step.current.step + 1;
    unsigned written = e->step.written ? EDDIS_STEP_WRITTEN : 0;

    if (e->group.rounds)
        return step_values_rounds(e);
    e->step.written = false;
    e->step.due = centre_step_is_due(&e->centre, next, plan_switch_period(&e->plan_switch, next));
    return written | (group_is_root(&e->group) && (last || e->step.due) ? EDDIS_STEP_READS : 0);
}

/* With several models, do all of a step's beginning that waits for other workers.  Return as
 * step_take; at the end 0 only when all workers are there.  After -ETIMEDOUT the next call
 * continues.
 */
static int step_prepare(struct eddis *e, struct eddis_error *err)
{
    int rc = e->centre.started ? 0 : step_start(e, err);

    if (rc == 0 && e->group.rounds)
        rc = step_round(e, err);
    if (rc != 0)
        return rc;
    rc = e->step.taken ? 1 : step_take(e, err);
    if (rc == 0) {
        rc = centre_finish(&e->centre, CLOCK_NEVER, err);
        if (rc == 1)
            step_empty(e);
        return rc;
    }
    if (rc < 0)
        return rc;
    if (e->group.rounds)
        return 1;
    e->step.taken = true;
    rc = samples_ahead(&e->samples, err);
    if (rc == 0)
        rc = step_exchange(e, err);
    e->step.taken = rc < 0;
    return rc < 0 ? rc : 1;
}

/* Take the next step, begin it for phase and emulation, and store its description in *ret and the
 * command for the engine in step.begin.  Return 1, 0 at the end, EDDIS_ROUND_ENDED, or a failure.
 */
static int step_begin(struct eddis *e, struct eddis_step *ret, struct eddis_error *err)
{
    int rc = e->group.several ? step_prepare(e, err) : step_take(e, err);

    if (rc != 1)
        return rc;
    *ret = step_public(e, &e->step.current);
    ret->flags |= e->step.flags | (e->group.several ? step_values(e) : 0);
    e->step.begin.step = step_engine(e, &e->step.current);
    phase_step_begin(&e->phase, samples_asked(&e->samples), ret->piece);
    e->step.begun_ns = clock_now_ns();
    emulate_begin(&e->emulation, e->step.current.step, e->step.current.count, e->step.begun_ns);
    return 1;
}

/* After a stop this worker does not know whether the counter has samples left. */
bool step_none_left(const struct eddis *e)
{
    int64_t n;

    if (e->step.enough || !e->step.stop || e->samples.ranges)
        return !e->step.enough && !e->step.stop;
    n = sampler_steps(e->samples.sampler);
    return n > 0 && e->samples.step >= n;
}

void step_over(struct eddis *e, bool none_left)
{
    if (none_left)
        plan_switch_show_trained(&e->plan_switch);
    samples_end(&e->samples);
    process_may_leave(&e->process, LEAVE_ORDER);
}

int eddis_step_begin(struct eddis *e, struct eddis_step *ret, struct eddis_error *err)
{
    struct eddis_step s;
    int rc = worker_check(e, err);

    if (rc == 0)
        rc = sized_check(ret, "step", err);
    if (rc == 0)
        rc = comm_thread_failure(e->comm_thread, err);
    if (rc < 0)
        return rc;
    if (!e->engine || e->step.begun)
        return eddis_fail(err, -EINVAL,
                          e->engine ? "the previous step has not been ended by eddis_step_end"
                                    : "call eddis_commit before the first step");
    rc = step_begin(e, &s, err);
    if (rc == 0)
        step_over(e, step_none_left(e));
    if (rc != 1)
        return rc;
    sized_copy_out(ret, &s, sizeof s);
    pthread_mutex_lock(&e->step.announce_lock);
    for (int i = 0; i < e->step.n_sets; i++)
        e->step.set[i].met = e->step.set[i].weighed = false;
    e->step.finished = e->step.waited = e->step.weight_fixed = false;
    e->step.rounds = 0;
    e->step.begun = true;
    e->step.own_weight = e->step.begin.step.weight;
    e->step.begin.command.kind = MAIL_BEGIN;
    e->step.round++;
    comm_thread_send(e->comm_thread, &e->step.begin.command);
    if (worker_is_external(e)) { /* nothing is announced, so that the trailers leave at once */
        rounds_open(e, &e->step.set[0]);
        rounds_finish(e, 0);
    }
    pthread_mutex_unlock(&e->step.announce_lock);
    return 1;
}

int eddis_set_weight(struct eddis *e, double weight, struct eddis_error *err)
{
    int rc = worker_check_gradients(e, err);

    if (rc < 0)
        return rc;
    if (!(weight >= 0) || !isfinite(weight))
        return eddis_fail(err, -EINVAL, "a weight of %g is not possible", weight);
    pthread_mutex_lock(&e->step.announce_lock);
    if (!e->step.begun || e->step.finished || e->step.weight_fixed) {
        rc = eddis_fail(
            err, -EINVAL,
            "a weight can be set only once, between eddis_step_begin and the first announcement");
    } else {
        e->step.weight_fixed = true; /* the weight may not change after this */
        e->step.weight =
            (struct command_weight){ .command.kind = MAIL_WEIGHT, .set = -1, .weight = weight };
        e->step.own_weight = weight;
        comm_thread_send(e->comm_thread, &e->step.weight.command);
    }
    pthread_mutex_unlock(&e->step.announce_lock);
    return rc;
}

/* Check that no member of the report is negative, its work is finite and its precision exists.
 * Return 0, or -EINVAL if not.
 */
static int check_report(const struct eddis_report *r, struct eddis_error *err)
{
    enum precision precision = r->precision ? precision_find(r->precision) : PRECISION_FP32;

    if (precision == PRECISION_AUTO || precision == PRECISIONS)
        return eddis_fail(err, -EINVAL,
                          "precision of a report is '%s', but must be fp32, tf32, bf16 or fp16",
                          r->precision);
    if (r->overrun_ns >= 0 && r->compute_ns >= 0 && r->input_ns >= 0 && r->read_ns >= 0 &&
        r->memory_bytes >= 0 && r->work >= 0 && isfinite(r->work) && r->loss_age >= 0)
        return 0;
    return eddis_fail(err, -EINVAL,
                      "times, work, memory and the loss's age of a report must be at least 0, not "
                      "%lld, %lld, %lld, %lld ns, %g, %lld bytes, %lld steps",
                      (long long)r->overrun_ns, (long long)r->compute_ns, (long long)r->input_ns,
                      (long long)r->read_ns, r->work, (long long)r->memory_bytes,
                      (long long)r->loss_age);
}

int eddis_step_end(struct eddis *e, const struct eddis_report *in, struct eddis_error *err)
{
    struct eddis_report report = { 0 };
    struct phase_step s;
    int64_t now;
    int rc = worker_check(e, err);

    if (rc == 0 && in)
        rc = sized_check(in, "report", err);
    if (rc == 0 && in) {
        sized_copy_in(&report, sizeof report, in);
        rc = check_report(&report, err);
    }
    if (rc < 0)
        return rc;
    if (!e->step.begun || !e->step.waited)
        return eddis_fail(err, -EINVAL,
                          e->step.begun ? "eddis_wait must have succeeded before "
                                          "eddis_step_end"
                                        : "no step has begun");
    if (e->emulation.emulated) /* the real device's times say nothing about the emulated one */
        report.compute_ns = report.input_ns = report.read_ns = 0;
    report.overrun_ns = clock_after_ns(report.overrun_ns, e->emulation.overrun_ns);
    s = (struct phase_step){ .step = e->step.current.step,
                             .count = e->step.current.count,
                             .plan = e->step.current.version,
                             .sent_bytes = comm_thread_sent_bytes(e->comm_thread),
                             .staleness = comm_thread_staleness(e->comm_thread),
                             .exchange_ns = e->step.exchange_ns };
    e->step.exchange_ns = 0;
    now = clock_now_ns();
    emulate_end(&e->emulation, now);
    phase_step_end(&e->phase, &s, now, &report);
    if (report.has_sums && e->step.flags & EDDIS_STEP_SUMS)
        plan_switch_tell_sums(&e->plan_switch, (double[MODEL_SUMS]){ report.sum, report.squares });
    e->step.stop |= (e->step.flags & EDDIS_STEP_STOP) != 0;
    if (e->step.extra)
        samples_pass(&e->samples);
    else
        samples_finish(&e->samples);
    e->centre.weight += e->step.own_weight;
    e->centre.steps += !e->step.extra;
    pthread_mutex_lock(&e->step.announce_lock);
    e->step.begun = false;
    pthread_mutex_unlock(&e->step.announce_lock);
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
