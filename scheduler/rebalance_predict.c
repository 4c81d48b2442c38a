/* SPDX-License-Identifier: Apache-2.0 */
/* rebalance_predict.c - what the steps of a plan tell of those to come */
#include "rebalance_impl.h"

#include <math.h>

static const double OFF = 0.025; /* of the 5 % that a prediction may be off */

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

bool rebalance_predicts(struct rebalance *r, double predicted_s, double *ret)
{
    int64_t steps = trains_several(r) ? -1 : rebalance_steps(r);
    double step_s;

    if (steps == INT64_MAX || steps < r->predicted + STEPS || !all_are_measured(r))
        return false;
    rebalance_fill(r);
    step_s = rebalance_longest_s(r, rebalance_present) + rest_s(r);
    if (!(fabs(step_s / predicted_s - 1) > OFF))
        return false;
    r->predicted = steps;
    *ret = step_s;
    return true;
}
