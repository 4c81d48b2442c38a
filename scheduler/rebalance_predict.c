/* SPDX-License-Identifier: Apache-2.0 */
/* rebalance_predict.c - what the steps of a plan tell of those to come */
#include "rebalance_impl.h"

#include <math.h>

static const double OFF = 0.025; /* of the 5 % that a prediction may be off */
static const double ALONE = 1.2; /* nobody takes workers away for less */

enum { STEPS = 20 };

static bool all_are_measured(const struct rebalance *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->member[i].batch > 0 && learner_source(&r->member[i].learner) != TIME_MEASURED)
            return false;
    return true;
}

/* What stays of a step for the worker that waits least: communication, and how much longer than
 * their medians the others' times are now and then.
 */
static double rest_s(const struct rebalance *r)
{
    double least = INFINITY;

    for (int i = 0; i < r->n; i++)
        if (r->member[i].batch > 0)
            least = fmin(least, r->member[i].rest_s);
    return isfinite(least) ? least : 0;
}

/* Whether the plan in force has had so many steps that they can be told; fills *ret with one's
 * time.
 */
static bool step_of(struct rebalance *r, int64_t wanted, double *ret)
{
    int64_t steps = trains_several(r) ? -1 : rebalance_steps(r);

    if (steps == INT64_MAX || steps < wanted || !all_are_measured(r))
        return false;
    rebalance_fill(r);
    *ret = rebalance_longest_s(r, rebalance_present) + rest_s(r);
    return true;
}

bool rebalance_predicts(struct rebalance *r, double predicted_s, double *ret)
{
    double step_s;

    if (!step_of(r, r->predicted + STEPS, &step_s) || !(fabs(step_s / predicted_s - 1) > OFF))
        return false;
    r->predicted = rebalance_steps(r);
    *ret = step_s;
    return true;
}

/* The global batch by itself.  What is beyond twice the largest batch that was measured counts in
 * proportion: a constant that smaller ones tell is not known so well.
 */
static double alone_s(const struct rebalance *r, const struct rebalance_member *m)
{
    struct time_model t = learner_model(&m->learner);
    int64_t largest = learner_largest(&m->learner);
    double s = time_model_s(&t, r->total);

    if (m->batch <= 0 || largest <= 0 || m->max < r->total)
        return INFINITY;
    if (r->total / 2 > largest)
        s = fmax(s, time_model_s(&t, largest) * (double)r->total / (double)largest);
    return s;
}

/* The own time of a step that no split of these workers is below: as if samples could be divided.
 */
static double balanced_s(const struct rebalance *r, double most_s)
{
    double low = 0, high = most_s;

    for (int k = 0; k < 40; k++) {
        double middle = (low + high) / 2, samples = 0;

        for (int i = 0; i < r->n; i++) {
            struct time_model t = learner_model(&r->member[i].learner);

            if (middle > t.fixed_s)
                samples += (middle - t.fixed_s) / t.sample_s;
        }
        *(samples < (double)r->total ? &low : &high) = middle;
    }
    return high;
}

bool rebalance_alone(struct rebalance *r, int *ret_rank, double *ret_times)
{
    double step_s, best_s = INFINITY;
    int64_t steps;
    int best = 0;

    if (r->n < 2 || !step_of(r, STEPS, &step_s))
        return false;
    for (int i = 0; i < r->n; i++) {
        double s = alone_s(r, &r->member[i]);

        if (s < best_s) {
            best_s = s;
            best = i;
        }
    }
    steps = rebalance_steps(r);
    /* Another split helps against all but exchanges. */
    if (!(balanced_s(r, fmin(best_s, step_s)) + rest_s(r) > ALONE * best_s)) {
        r->alone_since = 0;
        return false;
    }
    if (r->alone_since == 0 || steps < r->alone_since)
        r->alone_since = steps;
    if (steps < r->alone_since + STEPS) /* it may have been a moment */
        return false;
    *ret_rank = best;
    *ret_times = step_s / best_s;
    return true;
}
