/* SPDX-License-Identifier: Apache-2.0 */
/* replan_split.c - computes the best split within bounds, and compares its gain with noise */
#include "replan_impl.h"

#include "groups.h"

#include <math.h>

static const double UNWAITED_GAIN = 0.1; /* extra gain required if nobody waits for another */
static const double CARE = 0.06;         /* relative time added for a worker whose speed wanders */

enum { TRUST = 2 /* a batch may be this many times the largest measured */ };

/* ---- models ---- */

const struct learner *replan_learner(const struct replan *r, int rank)
{
    return &r->member[rank].learner;
}

/* Return the seconds in a unit of the probe's ratios, as the geometric mean over the workers that
 * were measured; 0: none was.
 */
static double probe_unit_s(const struct replan *r)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < r->n; i++) {
        const struct learner *l = &r->member[i].learner;
        struct time_model m = learner_model(l);
        int64_t b = l->largest;

        if (l->source != TIME_PROBE || b == 0)
            continue;
        sum += log(time_model_s(&m, b) / time_model_s(&l->first, b));
        n++;
    }
    return n > 0 ? exp(sum / n) : 0;
}

/* Return a worker's time model and its source. If the model is a ratio and unit_s is not 0, convert
 * it to seconds by unit_s; then its source is TIME_GUESSED.
 */
static struct replan_time time_of(const struct replan *r, int rank, double unit_s)
{
    const struct learner *l = &r->member[rank].learner;
    struct replan_time x = { learner_model(l), learner_source(l) };

    if (x.source == TIME_PROBE && unit_s > 0) {
        x.t.fixed_s *= unit_s;
        x.t.sample_s *= unit_s;
        x.source = TIME_GUESSED;
    }
    return x;
}

void replan_times(const struct replan *r, struct replan_time *ret)
{
    double unit_s = probe_unit_s(r);

    for (int i = 0; i < r->n; i++)
        ret[i] = time_of(r, i, unit_s);
}

/* ---- the best split within bounds ---- */

/* Fill r->sum with the samples of the present plan in a step of each group. Return the number of
 * groups.
 */
static int sum_groups(const struct replan *r)
{
    int n = 0;

    for (int g = 0; g < r->n; g++)
        r->sum[g].samples = 0;
    for (int i = 0; i < r->n; i++) {
        n = r->group[i] >= n ? r->group[i] + 1 : n;
        r->sum[r->group[i]].samples += (double)r->member[i].batch;
    }
    return n;
}

/* Return the most samples that a worker may get for now: TRUST times the largest batch measured on
 * it. If nothing was measured, an equal part and a grain, so that the worker shows its speed. Never
 * less than its batch. In rounds a group with more samples than an equal part of the global batch
 * takes them in steps of that part, so its members' measured batches are smaller than the plan's.
 * most_samples: that part; INFINITY: there are no rounds. r->sum must be filled by sum_groups.
 */
static int64_t trusted(const struct replan *r, int rank, double most_samples)
{
    const struct replan_member *s = &r->member[rank];
    double cut = fmax(r->sum[r->group[rank]].samples / most_samples, 1);
    int64_t most = s->learner.largest;

    most = most > 0 ? (int64_t)ceil(TRUST * (double)most * cut) : r->total / r->n + r->set.grain;
    return most > s->batch ? most : s->batch;
}

/* Set max of each worker in r->split. If the trusted batches cannot hold the global batch, raise
 * all by the same factor.
 */
static void set_limits(struct replan *r)
{
    const int groups = sum_groups(r);
    const double part = trains_rounds(r) ? ceil((double)r->total / groups) : INFINITY;
    double sum = 0, factor;

    for (int i = 0; i < r->n; i++)
        sum += (double)at_most(trusted(r, i, part), r->member[i].max);
    factor = fmax((double)r->total / fmax(sum, 1), 1);
    for (int i = 0; i < r->n; i++) {
        struct split_worker *w = &r->split[i];
        double most = ceil((double)trusted(r, i, part) * factor * factor) + (double)r->set.grain;

        w->max = factor > 1 && most < 1e15 ? at_most((int64_t)most, r->member[i].max)
                                           : at_most(trusted(r, i, part), r->member[i].max);
        w->max = w->max > w->min ? w->max : w->min;
    }
}

/* Raise min of the fastest worker of each group in r->split to a grain, if it is 0: a group without
 * samples would finish its epoch immediately.
 */
static void feed_groups(struct replan *r)
{
    for (int g = 0; g < r->n; g++)
        r->sum[g].fastest = -1;
    for (int i = 0; i < r->n; i++) {
        int *fastest = &r->sum[r->group[i]].fastest;

        if (*fastest < 0 || r->split[i].t.sample_s < r->split[*fastest].t.sample_s)
            *fastest = i;
    }
    for (int g = 0; g < r->n; g++) {
        int i = r->sum[g].fastest;

        if (i >= 0 && r->split[i].min == 0)
            r->split[i].min = at_most(r->set.grain, r->member[i].max);
    }
}

void replan_fill(struct replan *r)
{
    double unit_s = probe_unit_s(r);

    for (int i = 0; i < r->n; i++) {
        r->split[i].t = time_of(r, i, unit_s).t;
        r->split[i].min = r->member[i].min;
    }
    if (trains_several(r))
        feed_groups(r);
    set_limits(r);
}

/* Narrow the bounds in r->split to between each worker's batch and half way from it to r->best. */
static void set_half_way(struct replan *r)
{
    for (int i = 0; i < r->n; i++) {
        struct split_worker *w = &r->split[i];
        int64_t from = r->member[i].batch, to = from + (r->best[i] - from) / 2;
        int64_t low = from < to ? from : to, high = from < to ? to : from;

        if (low > w->min)
            w->min += (low - w->min) / r->set.grain * r->set.grain;
        if (high >= w->min)
            w->max = at_most(high, w->max);
    }
}

bool replan_wanders(const struct replan *r)
{
    for (int i = 0; i < r->n; i++)
        if (learner_wanders(&r->member[i].learner))
            return true;
    return false;
}

/* Lengthen the times in r->split of the workers whose speed wanders. While the plan lasts, such a
 * worker may become slower or faster. If it becomes slower, all others wait for it; if faster, only
 * it waits.
 */
static void be_careful(struct replan *r)
{
    for (int i = 0; i < r->n; i++)
        if (learner_wanders(&r->member[i].learner)) {
            r->split[i].t.fixed_s *= 1 + CARE;
            r->split[i].t.sample_s *= 1 + CARE;
        }
}

/* Compute the best split for the times in r->split into r->best, as replan_solve does. */
static int solve(struct replan *r, bool half)
{
    int rc;

    rc = split_optimal(r->split, r->n, r->total, r->set.grain, r->best, NULL);
    if (rc == 0 && (r->algorithm->traits & ALGORITHM_GROUPED))
        rc = groups_balance(r->split, r->group, r->n, r->set.grain, r->best, NULL);
    if (rc == 0 && half) {
        set_half_way(r);
        rc = split_optimal(r->split, r->n, r->total, r->set.grain, r->best, NULL);
    }
    return rc;
}

int replan_solve(struct replan *r, bool half)
{
    int rc;

    replan_fill(r);
    if (!trains_several(r))
        be_careful(r);
    rc = solve(r, half);
    replan_fill(r);
    return rc;
}

/* ---- gain ---- */

/* Return a worker's own seconds for a batch, from r->split. */
static double own_s(const struct replan *r, int i, int64_t batch)
{
    return time_model_s(&r->split[i].t, batch);
}

int64_t replan_present(const struct replan *r, int i)
{
    return r->member[i].batch;
}

int64_t replan_proposed(const struct replan *r, int i)
{
    return r->best[i];
}

int replan_outside(const struct replan *r, batch_fn batch)
{
    int i = r->n - 1;

    while (i >= 0 && batch(r, i) >= r->member[i].min && batch(r, i) <= r->member[i].max)
        i--;
    return i;
}

int replan_slowest(const struct replan *r, batch_fn batch)
{
    int at = 0;

    for (int i = 1; i < r->n; i++)
        if (own_s(r, i, batch(r, i)) > own_s(r, at, batch(r, at)))
            at = i;
    return at;
}

double replan_longest_s(const struct replan *r, batch_fn batch)
{
    int i = replan_slowest(r, batch);

    return own_s(r, i, batch(r, i));
}

/* Return the seconds of a step that communication takes if no worker waits for another's compute:
 * the least exposed_s of the workers that have samples; 0: none is known.
 */
static double exposed_s(const struct replan *r)
{
    double least = INFINITY;

    for (int i = 0; i < r->n; i++)
        if (r->member[i].batch > 0)
            least = fmin(least, r->member[i].exposed_s);
    return isfinite(least) && least > 0 ? least : 0;
}

/* Return the samples per second of these batches, if groups do not wait for each other. */
static double free_rate(const struct replan *r, batch_fn batch)
{
    double rate = 0;

    for (int g = 0; g < r->n; g++)
        r->sum[g].samples = r->sum[g].step_s = 0;
    for (int i = 0; i < r->n; i++) {
        struct replan_group *g = &r->sum[r->group[i]];

        g->samples += (double)batch(r, i);
        g->step_s = fmax(g->step_s, own_s(r, i, batch(r, i)));
    }
    for (int g = 0; g < r->n; g++)
        rate += r->sum[g].step_s > 0 ? r->sum[g].samples / r->sum[g].step_s : 0;
    return rate;
}

/* Return the relative error of a worker's time, larger if it is estimated from few points. Only the
 * points of the worker's newest window count, which may have begun under the present plan.
 */
static double error_of(const struct replan *r, int i)
{
    const struct learner *l = &r->member[i].learner;
    int64_t points = learner_points(l);

    return learner_error(l) * (1 + 4.0 / (double)(points > 0 ? points : 1));
}

/* Return the least gain that a change must promise if times have this relative error. It must have
 * two standard errors, plus those by which the slowest of n equal workers stands out. If a speed
 * wanders, the next plan comes soon, so the two errors are left out, but the gain must pay for one
 * step in the shortest life of a plan.
 */
static double threshold(const struct replan *r, double error)
{
    double errors = sqrt(2 * log(r->n));

    if (!trains_several(r) && replan_wanders(r))
        return fmax(r->set.least_gain, 1.0 / REPLAN_WANDERING_STEPS) + errors * error;
    return r->set.least_gain + (2 + errors) * error;
}

/* Return the least gain that a change must promise. It follows from the noise of the slowest
 * worker, whose time is the step's, and of the workers whose batches change, weighted by the
 * change.
 */
static double wanted_gain(const struct replan *r)
{
    double moved = 0, error = 0;

    for (int i = 0; i < r->n; i++) {
        double move = fabs((double)(r->best[i] - r->member[i].batch));

        moved += move;
        error += move * error_of(r, i);
    }
    error = moved > 0 ? error / moved : 0;
    return threshold(r, fmax(error, error_of(r, replan_slowest(r, replan_present))));
}

double replan_samples_within(const struct replan *r, double limit_s)
{
    double sum = 0;

    for (int i = 0; i < r->n; i++) {
        const struct time_model *t = &r->split[i].t;

        sum += fmax(limit_s - t->fixed_s, 0) / t->sample_s;
    }
    return sum;
}

double replan_noise(const struct replan *r)
{
    return threshold(r, error_of(r, replan_slowest(r, replan_present)));
}

bool replan_is_hopeless(const struct replan *r)
{
    double step_s = replan_longest_s(r, replan_present), rest_s = exposed_s(r);
    double needed_s = (step_s + rest_s) / (1 + replan_noise(r)) - rest_s;

    return needed_s <= 0 || replan_samples_within(r, needed_s) < (double)r->total;
}

bool replan_is_worth(const struct replan *r, struct replan_proposal *ret)
{
    double rest_s = trains_several(r) ? 0 : exposed_s(r);
    double even = (replan_longest_s(r, replan_present) + rest_s) /
                      (replan_longest_s(r, replan_proposed) + rest_s) -
                  1;

    ret->wanted = wanted_gain(r);
    ret->gain = even;
    if (!trains_several(r) || trains_rounds(r))
        return even > ret->wanted;
    ret->gain = free_rate(r, replan_proposed) / free_rate(r, replan_present) - 1;
    return ret->gain > ret->wanted || even > ret->wanted + UNWAITED_GAIN;
}
