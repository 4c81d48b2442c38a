/* SPDX-License-Identifier: Apache-2.0 */
/* replan.c - follows the plan in force, and decides when another one is worth it */
#include "replan_impl.h"

#include "lib/base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double GAP_S = 1;    /* default of gap_s */
static const double UNSURE_S = 4; /* longest wait until all speeds are known */
/* Default of least_gain: a change that costs one step pays off within a hundred steps. */
static const double LEAST_GAIN = 0.01;
static const double BACK = -0.25; /* cosine of two moves, below which one undoes the other */
/* Fraction of a worker's time spent waiting for data from which the reason mentions it. */
static const double BOUND_BY_DATA = 0.3;
static const double GROWN = 0.1; /* relative growth of a batch that may slow its worker */
static const double KEPT = 0.25; /* least fraction of a promised gain that counts as kept */

enum {
    GAP_STEPS = 5, /* default of gap_steps */
    BACKS = 2,     /* moves back in a row that count as oscillation; a single one is a correction */
    MAX_DOUBLINGS = 6, /* most doublings of the gap */
    QUIET_STEPS = 50,  /* steps that a plan must hold before earlier moves are forgotten */
    QUIET_GAPS = 10,   /* gaps that a plan must also hold before earlier moves are forgotten */
};

/* ---- making a policy ---- */

/* Replace zeros in the setup by the defaults. Clear its pointer to the workers, which are copied.
 */
static void fill_defaults(struct replan_setup *s)
{
    if (!(s->gap_s > 0))
        s->gap_s = GAP_S;
    if (s->gap_steps <= 0)
        s->gap_steps = GAP_STEPS;
    if (!(s->least_gain > 0))
        s->least_gain = LEAST_GAIN;
    s->worker = NULL;
}

/* Initialize a worker's state and learner from its setup. */
static void fill_worker(struct replan_member *to, const struct replan_worker *w)
{
    *to = (struct replan_member){ .batch = w->batch,
                                  .held = w->batch,
                                  .min = w->min,
                                  .max = w->max,
                                  .node = w->node,
                                  .group = w->group };
    learner_init(&to->learner, &w->first, w->source);
}

/* Check the setup. Return 0, or -EINVAL: a value is out of range. */
static int check(const struct replan_setup *s, struct eddis_error *err)
{
    if (s->n < 1 || s->grain < 1)
        return eddis_fail(err, -EINVAL, "cannot re-plan %d workers in steps of %lld samples", s->n,
                          (long long)s->grain);
    if (!algorithm_find(s->algorithm))
        return eddis_fail(err, -EINVAL, "no algorithm '%s' in this version", s->algorithm);
    for (int i = 0; i < s->n; i++) {
        const struct replan_worker *w = &s->worker[i];

        if (w->batch < 0 || w->min < 0 || w->max < w->min || !(w->first.sample_s > 0) ||
            !(w->first.fixed_s >= 0) || w->group < 0 || w->group >= s->n)
            return eddis_fail(err, -EINVAL,
                              "rank %d of the plan has no batch or time to begin with", i);
    }
    return 0;
}

int replan_new(const struct replan_setup *s, struct replan **ret, struct eddis_error *err)
{
    size_t n = s->n > 0 ? (size_t)s->n : 0;
    struct replan *r;
    int rc = check(s, err);

    if (rc < 0)
        return rc;
    r = calloc(1, sizeof *r);
    if (r) {
        r->set = *s;
        fill_defaults(&r->set);
        r->algorithm = algorithm_find(s->algorithm);
        r->n = s->n;
        r->period = s->period;
        r->sure_s = NAN;
        r->since = s->version;
        r->agreed = r->weigh = true;
        r->member = calloc(n, sizeof *r->member);
        r->split = calloc(n, sizeof *r->split);
        r->worker = calloc(n, sizeof *r->worker);
        r->time = calloc(n, sizeof *r->time);
        r->sum = calloc(n, sizeof *r->sum);
        r->best = calloc(n, sizeof *r->best);
        r->group = calloc(n, sizeof *r->group);
        r->past = calloc(n, REBALANCE_PAST * sizeof *r->past);
        r->efficiency = calloc((size_t)s->measured.n + 1, sizeof *r->efficiency);
    }
    if (!r || !r->member || !r->split || !r->worker || !r->time || !r->sum || !r->best ||
        !r->group || !r->past || !r->efficiency) {
        replan_free(r);
        return eddis_fail(err, -ENOMEM, "no memory to re-plan %d workers", s->n);
    }
    r->in_force_s = -INFINITY;
    if (s->measured.n)
        memcpy(r->efficiency, s->measured.row, (size_t)s->measured.n * sizeof *r->efficiency);
    r->set.measured.row = r->efficiency;
    for (int i = 0; i < r->n; i++) {
        fill_worker(&r->member[i], &s->worker[i]);
        r->total += s->worker[i].batch;
        r->group[i] = trains_several(r) ? s->worker[i].group : 0;
    }
    *ret = r;
    return 0;
}

void replan_free(struct replan *r)
{
    if (!r)
        return;
    free(r->member);
    free(r->split);
    free(r->worker);
    free(r->time);
    free(r->sum);
    free(r->best);
    free(r->group);
    free(r->past);
    free(r->efficiency);
    free(r);
}

/* ---- events ---- */

/* If the plan in force has held for long, forget the moves that led to it, and the doublings of the
 * gap: the moves were no oscillation. If speeds last, keep the plan's batches as r->held.
 */
static void forget_moves(struct replan *r, double now_s)
{
    bool lasts = !replan_is_unstable(r);

    if ((double)replan_steps(r) < ldexp(QUIET_STEPS, r->doublings) ||
        now_s - r->in_force_s < ldexp(QUIET_GAPS * r->set.gap_s, r->doublings))
        return;
    r->backs = r->doublings = 0;
    for (int i = 0; i < r->n; i++) {
        r->member[i].move = 0;
        if (lasts)
            r->member[i].held = r->member[i].batch;
    }
}

void replan_metrics(struct replan *r, int rank, const struct step_metrics *f, double now_s)
{
    struct replan_member *s;

    (void)now_s;
    if (rank < 0 || rank >= r->n || f->points < STEP_WINDOW_CHANGE)
        return;
    s = &r->member[rank];
    learner_take(&s->learner, f);
    if (s->plan < r->since)
        s->first = f->since;
    s->plan = f->plan;
    s->steps = f->since + f->steps - s->first;
    s->exposed_s = f->exposed.median_s;
    s->rest_s = fmax(f->total.median_s - f->own.median_s, s->exposed_s);
    r->fresh = true;
}

void replan_bounds(struct replan *r, int rank, int64_t min, int64_t max)
{
    if (rank < 0 || rank >= r->n || min < 0 || max < min)
        return;
    r->member[rank].min = min;
    r->member[rank].max = max;
    r->fresh = true;
}

void replan_first(struct replan *r, int rank, const struct time_model *first,
                  enum time_source source)
{
    if (rank < 0 || rank >= r->n || learner_source(&r->member[rank].learner) == TIME_MEASURED)
        return;
    learner_init(&r->member[rank].learner, first, source);
    r->fresh = true;
}

/* Check whether steps of every worker that has samples are measured. */
static bool all_are_measured(const struct replan *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->member[i].batch > 0 && learner_source(&r->member[i].learner) != TIME_MEASURED)
            return false;
    return true;
}

/* Check whether a change to batch [n] undoes the moves that led to the present batches. */
static bool moves_back(const struct replan *r, const int64_t *batch)
{
    double both = 0, now = 0, before = 0;

    for (int i = 0; i < r->n; i++) {
        double x = (double)(batch[i] - r->member[i].batch), y = (double)r->member[i].move;

        both += x * y;
        now += x * x;
        before += y * y;
    }
    return both < BACK * sqrt(now * before);
}

/* Check whether batches and period are those of the plan in force; period 0: unchanged. */
static bool is_same(const struct replan *r, const int64_t *batch, int64_t period)
{
    for (int i = 0; i < r->n; i++)
        if (batch[i] != r->member[i].batch)
            return false;
    return period <= 0 || period == r->period;
}

/* Record in r->before_s and r->promised_s the longest own time under the present batches, and the
 * longest predicted for batch [n], over the workers that were measured.
 */
static void promise(struct replan *r, const int64_t *batch)
{
    r->before_s = r->promised_s = 0;
    for (int i = 0; i < r->n; i++) {
        const struct time_model t = learner_model(&r->member[i].learner);

        if (learner_source(&r->member[i].learner) != TIME_MEASURED)
            continue;
        r->before_s = fmax(r->before_s, time_model_s(&t, r->member[i].batch));
        r->promised_s = fmax(r->promised_s, time_model_s(&t, batch[i]));
    }
}

/* Check whether the slowest worker may be slow because its batch grew. */
static bool made_slow(const struct replan *r)
{
    int i = replan_slowest(r, replan_present);

    return (double)r->member[i].move > GROWN * (double)r->member[i].before;
}

/* Compare the longest own time under the plan in force with what was promised for the plan, once
 * for each plan; r->split must be filled. If the gain is little of the promised one, double the
 * gap. If steps are longer than under the previous plan, set r->worse.
 */
static void look_at_promise(struct replan *r)
{
    double promised = r->promised_s > 0 ? r->before_s / r->promised_s - 1 : 0;
    double longest_s = replan_longest_s(r, replan_present);

    r->worse =
        !trains_several(r) && made_slow(r) && longest_s > r->before_s * (1 + replan_noise(r));
    if (!trains_several(r) && promised > r->set.least_gain && r->doublings < MAX_DOUBLINGS &&
        r->before_s / longest_s - 1 < KEPT * promised)
        r->doublings++;
    r->worse_s = r->before_s;
    r->before_s = r->promised_s = 0;
}

/* Record that a plan version was published. A version with the same batches and period, for example
 * one that asks for a checkpoint, must be agreed on too, but restarts none of the waits. Otherwise
 * a job that saves each second would never be re-planned.
 */
void replan_published(struct replan *r, int64_t version, const int64_t *batch, int64_t period)
{
    r->set.version = version;
    r->agreed = false;
    if (is_same(r, batch, period))
        return;
    r->worse = false;
    r->timed |= all_are_measured(r);
    r->backs = moves_back(r, batch) ? r->backs + 1 : 0;
    if (r->backs >= BACKS && r->doublings < MAX_DOUBLINGS)
        r->doublings++;
    promise(r, batch);
    for (int i = 0; i < r->n; i++) {
        r->member[i].before = r->member[i].batch;
        r->member[i].move = batch[i] - r->member[i].batch;
        r->member[i].batch = batch[i];
    }
    r->period = period > 0 ? period : r->period;
    r->since = version;
    r->predicted = 0;
    r->in_force_s = INFINITY;
    r->weigh = true;
}

void replan_agreed(struct replan *r, int64_t version, double now_s)
{
    if (version != r->set.version)
        return;
    r->agreed = true;
    if (r->in_force_s == INFINITY)
        r->in_force_s = now_s;
}

/* ---- whether it is time ---- */

/* Check whether the next plan may be the first by times, and waits for no gap. */
static bool is_first_by_times(const struct replan *r)
{
    return r->set.early && !r->timed && r->agreed && all_are_measured(r);
}

/* Check whether the plan in force has lasted long enough for another one. The plan's first step is
 * in no report, but counts.
 */
static bool is_time(const struct replan *r, int doublings, double now_s)
{
    int64_t steps = replan_steps(r);
    double doubled = ldexp(1, doublings);
    int64_t gap_steps = r->set.gap_steps;

    if (is_first_by_times(r))
        return true;
    if (gap_steps < REPLAN_WANDERING_STEPS && replan_wanders(r))
        gap_steps = REPLAN_WANDERING_STEPS;
    return r->agreed && steps >= 0 && (double)steps + 1 >= (double)gap_steps * doubled &&
           now_s - r->in_force_s >= r->set.gap_s * doubled;
}

/* ---- the decision ---- */

/* Format seconds as ms or s in ret. Return ret. */
static const char *time_text(double s, char *ret, size_t size)
{
    if (s < 0.9995)
        snprintf(ret, size, "%.3g ms", 1e3 * s);
    else
        snprintf(ret, size, "%.4g s", s);
    return ret;
}

/* Format to ret, for the reason, which part of a worker's time is a wait for its data; "": less
 * than BOUND_BY_DATA. Return ret.
 */
static const char *data_text(const struct replan *r, int rank, char *ret, size_t size)
{
    double part = learner_input(replan_learner(r, rank));

    ret[0] = '\0';
    if (part >= BOUND_BY_DATA)
        snprintf(ret, size, ", and waits for data for %.0f %% of it", 100 * part);
    return ret;
}

/* Fill ret->rank and ret->reason for the batches in r->best. forced: a worker's batch is outside
 * its bounds. ret->halved and ret->period must be set.
 */
static void say_why(const struct replan *r, bool forced, struct replan_proposal *ret)
{
    int i = ret->rank = replan_slowest(r, replan_present);
    char present[32], best[32], data[48];

    if (forced)
        i = ret->rank = replan_outside(r, replan_present);
    if (forced && r->member[i].max == 0)
        snprintf(ret->reason, sizeof ret->reason, "rank %d may take no samples, not %lld", i,
                 (long long)r->member[i].batch);
    else if (forced)
        snprintf(ret->reason, sizeof ret->reason, "rank %d may take %lld to %lld samples, not %lld",
                 i, (long long)r->member[i].min, (long long)r->member[i].max,
                 (long long)r->member[i].batch);
    else
        snprintf(ret->reason, sizeof ret->reason,
                 "rank %d takes %s for %lld samples%s; with %lld samples the longest step takes %s",
                 i, time_text(replan_longest_s(r, replan_present), present, sizeof present),
                 (long long)r->member[i].batch, data_text(r, i, data, sizeof data),
                 (long long)r->best[i],
                 time_text(replan_longest_s(r, replan_proposed), best, sizeof best));
    if (ret->halved)
        text_append(ret->reason, sizeof ret->reason,
                    "; only half of the change is made, because shares went back and forth");
    if (ret->period)
        text_append(ret->reason, sizeof ret->reason,
                    "; models are exchanged every %lld step%s, not %lld", (long long)ret->period,
                    ret->period == 1 ? "" : "s", (long long)r->period);
}

/* Fill *ret with a proposal of the previous plan's batches, under which steps were shorter, and
 * copy them to r->best. Return false if the bounds do not allow them, or none differs from now.
 */
static bool go_back(struct replan *r, struct replan_proposal *ret)
{
    char longest[32], before[32];

    for (int i = 0; i < r->n; i++)
        r->best[i] = r->member[i].before;
    if (replan_outside(r, replan_proposed) >= 0)
        return false;
    *ret = (struct replan_proposal){
        .batch = r->best,
        .rank = replan_slowest(r, replan_present),
        .gain = replan_longest_s(r, replan_present) / r->worse_s - 1,
        .wanted = replan_noise(r),
    };
    snprintf(ret->reason, sizeof ret->reason,
             "the longest step takes %s, but took %s under the previous plan: back to that plan",
             time_text(replan_longest_s(r, replan_present), longest, sizeof longest),
             time_text(r->worse_s, before, sizeof before));
    return !is_same(r, r->best, 0);
}

/* Check whether the plan in force has lasted for the gap with its doublings. If so, mark the
 * reports so far as used, and forget earlier moves if the plan has held for long.
 */
static bool may_move(struct replan *r, double now_s)
{
    if (!is_time(r, r->doublings, now_s))
        return false;
    r->fresh = false;
    forget_moves(r, now_s);
    return true;
}

/* Record the present speeds as a past moment every gap_s, if all workers have reported steps of the
 * plan.
 */
static void note_past(struct replan *r, double now_s)
{
    if (now_s < r->past_s || replan_steps(r) < 0)
        return;
    r->past_s = now_s + r->set.gap_s;
    replan_note_past(r);
}

/* Check whether the speeds of all workers are known, or some have been unknown for UNSURE_S. Speeds
 * that change together become known one after another, and a plan from only some of them would be
 * wrong. Of many workers some speed is always unknown, so the wait is bounded.
 */
static bool is_sure(struct replan *r, double now_s)
{
    bool unsure = false;

    for (int i = 0; i < r->n; i++)
        unsure |= learner_is_unsure(&r->member[i].learner);
    if (!unsure || isnan(r->sure_s))
        r->sure_s = now_s;
    return now_s - r->sure_s < UNSURE_S ? !unsure : true;
}

/* Fill *ret with a proposal of r->held, if the plan in force was made from a single moment and
 * gains nothing over the past moments. Return false otherwise. A worker that is delayed for many
 * steps delays each step whatever its share, so of two equal plans the first is better.
 */
static bool undo_by_past(struct replan *r, struct replan_proposal *ret)
{
    if (!r->of_moment || !replan_was_better_by_past(r, ret) || is_same(r, r->best, 0))
        return false;
    ret->rank = replan_slowest(r, replan_present);
    snprintf(ret->reason, sizeof ret->reason,
             "the workers' speeds vary, and their latest speeds do not justify this plan: back to "
             "the previous one");
    return true;
}

/* Decide as replan_decide does, but from the past moments, since speeds do not last. What the plan
 * in force promised from one moment is not checked. Return true if another plan is worth the
 * change, with the plan in *ret; otherwise false.
 */
static bool decide_by_past(struct replan *r, double now_s, struct replan_proposal *ret)
{
    struct replan_proposal p = { .batch = r->best };

    r->before_s = 0;
    r->worse = false;
    if (!may_move(r, now_s))
        return false;
    if (!undo_by_past(r, &p)) {
        if (!replan_is_better_by_past(r, &p) || is_same(r, r->best, 0))
            return false;
        say_why(r, false, &p);
    }
    r->of_moment = false;
    *ret = p;
    return true;
}

/* Forget what the plan in force promised, and all doublings of the gap: the speed of some worker
 * wanders, so promises are not kept and shares go back and forth for a reason.
 */
static void expect_no_lasting(struct replan *r)
{
    r->before_s = r->promised_s = 0;
    r->worse = false;
    r->doublings = r->backs = 0;
}

bool replan_decide(struct replan *r, double now_s, struct replan_proposal *ret)
{
    struct replan_proposal p = { .batch = r->best };
    bool forced = replan_outside(r, replan_present) >= 0, sure = is_sure(r, now_s);

    note_past(r, now_s);
    if (replan_wanders(r))
        expect_no_lasting(r);
    if (!r->fresh || !is_time(r, 0, now_s))
        return false;
    replan_fill(r);
    if (!forced && !trains_several(r) && replan_is_unstable(r))
        return decide_by_past(r, now_s, ret);
    if (!forced && !sure)
        return false;
    if (r->before_s > 0)
        look_at_promise(r);
    if (r->worse && !forced && go_back(r, ret)) {
        r->of_moment = false;
        return true;
    }
    if (!may_move(r, now_s))
        return false;
    if (!forced && !trains_several(r) && replan_is_hopeless(r))
        return false;
    if (replan_solve(r, false) < 0)
        return false;
    if (!forced && r->backs + 1 >= BACKS && moves_back(r, r->best)) {
        p.halved = true;
        if (replan_solve(r, true) < 0)
            return false;
    }
    if (is_same(r, r->best, 0) || !(replan_is_worth(r, &p) || forced))
        return replan_decide_period(r, ret);
    p.period = replan_better_period(r, replan_proposed);
    say_why(r, forced, &p);
    r->of_moment = !forced;
    *ret = p;
    return true;
}
