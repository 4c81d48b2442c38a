/* SPDX-License-Identifier: Apache-2.0 */
/* replan_predict.c - predicts later steps, and one worker alone, from the steps of a plan */
#include "replan_impl.h"

#include <math.h>

/* Relative difference from which a prediction counts as wrong: half of the 5 % by which it may err.
 */
static const double OFF = 0.025;
/* Least speedup for which it is worth removing all workers but one. */
static const double ALONE = 1.2;

enum { STEPS = 20 }; /* steps of a plan that an answer needs, and that it must hold for */

/* Check whether every worker that has samples has measured steps. */
static bool all_are_measured(const struct replan *r)
{
    for (int i = 0; i < r->n; i++)
        if (r->member[i].batch > 0 && learner_source(&r->member[i].learner) != TIME_MEASURED)
            return false;
    return true;
}

/* Return the seconds of a step beyond own time, for the worker where they are fewest:
 * communication, and waits for other workers' steps that exceed their median. 0: no worker has
 * samples.
 */
static double rest_s(const struct replan *r)
{
    double least = INFINITY;

    for (int i = 0; i < r->n; i++)
        if (r->member[i].batch > 0)
            least = fmin(least, r->member[i].rest_s);
    return isfinite(least) ? least : 0;
}

/* Store in *ret the seconds of a step of the plan in force, and fill r->split. Return false, with
 * nothing changed, if a worker has reported fewer than `wanted` steps of the plan or has no
 * measured steps, if no worker reports steps, or if several models are trained.
 */
static bool step_of(struct replan *r, int64_t wanted, double *ret)
{
    int64_t steps = trains_several(r) ? -1 : replan_steps(r);

    if (steps == INT64_MAX || steps < wanted || !all_are_measured(r))
        return false;
    replan_fill(r);
    *ret = replan_longest_s(r, replan_present) + rest_s(r);
    return true;
}

bool replan_predicts(struct replan *r, double predicted_s, double *ret)
{
    double step_s;

    if (!step_of(r, r->predicted + STEPS, &step_s) || !(fabs(step_s / predicted_s - 1) > OFF))
        return false;
    r->predicted = replan_steps(r);
    *ret = step_s;
    return true;
}

/* Return the seconds in which worker m alone would do the global batch. INFINITY: it may not take
 * so many samples, or has had none. Beyond twice the largest batch measured, time is assumed to be
 * at least proportional, since a constant from smaller batches is uncertain.
 */
static double alone_s(const struct replan *r, const struct replan_member *m)
{
    struct time_model t = learner_model(&m->learner);
    int64_t largest = m->learner.largest;
    double s = time_model_s(&t, r->total);

    if (m->batch <= 0 || largest <= 0 || m->max < r->total)
        return INFINITY;
    if (r->total / 2 > largest)
        s = fmax(s, time_model_s(&t, largest) * (double)r->total / (double)largest);
    return s;
}

/* Return the longest own time of a step under the best split, as if samples were divisible, from
 * the models in r->split. No real split is faster. most_s: result if even that time is too short.
 */
static double balanced_s(const struct replan *r, double most_s)
{
    double low = 0, high = most_s;

    for (int k = 0; k < 40; k++) {
        double middle = (low + high) / 2;

        *(replan_samples_within(r, middle) < (double)r->total ? &low : &high) = middle;
    }
    return high;
}

bool replan_alone(struct replan *r, int *ret_rank, double *ret_times)
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
    steps = replan_steps(r);
    /* Another split helps against everything except exchanges. */
    if (!(balanced_s(r, fmin(best_s, step_s)) + rest_s(r) > ALONE * best_s)) {
        r->alone_since = 0;
        return false;
    }
    if (r->alone_since == 0 || steps < r->alone_since)
        r->alone_since = steps;
    if (steps < r->alone_since + STEPS) /* the advantage may not last */
        return false;
    *ret_rank = best;
    *ret_times = step_s / best_s;
    return true;
}
