/* SPDX-License-Identifier: Apache-2.0 */
/* replan_network.c - how often models are exchanged over the network between the nodes */
#include "objective.h"
#include "replan_impl.h"

#include <math.h>
#include <stdio.h>

static const double PERIOD_GAIN = 0.02; /* least relative gain of progress worth another period */

/* Factor by which a round may exceed MODES_ROUND_S before its period is shortened. */
static const double ROUND_MORE = 1.1;

enum { PERIOD_STEPS = 20 }; /* steps of a plan before its period is weighed */

/* Return the least number of steps under the plan in force that a worker has reported; -1: a worker
 * has reported none; INT64_MAX: no worker counts. Left out are workers that get no samples, or
 * fewer than their minimum: the program may give them none, and they report nothing. If groups have
 * models of their own, a worker may have fewer than min_count although its bounds allow that; it
 * counts only if it reports.
 */
int64_t replan_steps(const struct replan *r)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < r->n; i++) {
        const struct replan_member *s = &r->member[i];

        if (s->batch == 0 || s->batch < s->min || s->max == 0)
            continue;
        if (s->plan < r->since && s->batch < r->set.network.program.min_count)
            continue;
        if (s->plan < r->since)
            return -1;
        least = at_most(s->steps, least);
    }
    return least;
}

/* Check whether two networks are equal. */
static bool is_same(const struct modes_setup *a, const struct modes_setup *b)
{
    return a->n_nodes == b->n_nodes && a->model_bytes == b->model_bytes &&
           a->bucket_bytes == b->bucket_bytes && a->n_gradients == b->n_gradients &&
           a->latency_s == b->latency_s && a->bytes_per_s == b->bytes_per_s && a->wire == b->wire &&
           a->steps == b->steps && a->epoch_steps == b->epoch_steps &&
           program_is_same_size(&a->program, &b->program);
}

void replan_network(struct replan *r, const struct modes_setup *n)
{
    bool same = is_same(&r->set.network, n);

    r->set.network = *n;
    if (!same)
        r->weigh = r->fresh = true;
}

/* Check whether eddis may choose the period, and knows enough to do so. */
static bool is_open(const struct replan *r)
{
    const struct modes_setup *n = &r->set.network;

    return (r->algorithm->traits & ALGORITHM_ELASTIC || trains_rounds(r)) && r->period > 0 &&
           !r->set.keep_period && n->n_nodes > 0 && n->model_bytes > 0 &&
           (n->n_nodes == 1 || n->bytes_per_s > 0);
}

struct modes_setup replan_modes(struct replan *r, batch_fn batch, const struct modes_setup *n)
{
    struct modes_setup s = *n;

    for (int i = 0; i < r->n; i++)
        r->worker[i] = (struct modes_worker){ .t = r->split[i].t,
                                              .batch = batch(r, i),
                                              .node = r->member[i].node };
    s.worker = r->worker;
    s.n = r->n;
    return s;
}

const int *replan_groups(const struct replan *r)
{
    return r->algorithm->traits & ALGORITHM_SEVERAL && !(r->algorithm->traits & ALGORITHM_GROUPED)
               ? NULL
               : r->group;
}

/* Check whether rounds of the present period are too long. */
static bool is_too_long(const struct replan *r, double samples_per_s)
{
    return trains_rounds(r) &&
           (double)(r->period * r->total) > ROUND_MORE * MODES_ROUND_S * samples_per_s;
}

/* Why the period changes */
enum why {
    WHY_NONE,     /* it does not, or no other can be predicted */
    WHY_MEASURED, /* another one makes more progress, or has rounds that are not too long */
    WHY_OVERLAP,  /* another one has rounds that outlast the overlap */
};

/* Find a period with which these batches make more progress, enough to be worth another plan, or
 * whose rounds are not too long, or outlast the overlap, in *ret_period, and its relative gain in
 * *ret_gain, at least 0. Return why it is better.
 */
static enum why find_period(struct replan *r, batch_fn batch, int64_t *ret_period, double *ret_gain)
{
    struct modes_setup s;
    struct objective_way way = { .setup = &s,
                                 .algorithm = r->algorithm,
                                 .measured = &r->set.measured };
    struct forecast now, then;

    if (!is_open(r))
        return WHY_NONE;
    s = replan_modes(r, batch, &r->set.network);
    way.group = replan_groups(r);
    way.writers = r->n;
    if (way.group)
        for (int i = way.writers = 0; i < r->n; i++)
            way.writers = way.group[i] >= way.writers ? way.group[i] + 1 : way.writers;
    if (objective_best_period(&way, ret_period, NULL) < 0 ||
        objective_at(&way, r->period, &now, NULL) < 0 ||
        objective_at(&way, *ret_period, &then, NULL) < 0 || !(forecast_progress(now) > 0))
        return WHY_NONE;
    *ret_gain = fmax(forecast_progress(then) / forecast_progress(now) - 1, 0);
    if (*ret_gain > PERIOD_GAIN || (is_too_long(r, now.samples_per_s) && *ret_period < r->period))
        return WHY_MEASURED;
    if (!objective_outlasts(&way, r->period) && objective_outlasts(&way, *ret_period))
        return WHY_OVERLAP;
    return WHY_NONE;
}

int64_t replan_better_period(struct replan *r, batch_fn batch)
{
    int64_t period;
    double gain;

    return find_period(r, batch, &period, &gain) != WHY_NONE ? period : 0;
}

bool replan_decide_period(struct replan *r, struct replan_proposal *ret)
{
    enum why why;
    int64_t period;
    double gain;

    if (!r->weigh || replan_steps(r) < PERIOD_STEPS)
        return false;
    r->weigh = false;
    why = find_period(r, replan_present, &period, &gain);
    if (why == WHY_NONE)
        return false;
    *ret = (struct replan_proposal){ .batch = r->best, .period = period, .rank = -1, .gain = gain };
    for (int i = 0; i < r->n; i++)
        r->best[i] = r->member[i].batch;
    snprintf(ret->reason, sizeof ret->reason,
             "models are exchanged every %lld step%s, not %lld, %s", (long long)period,
             period == 1 ? "" : "s", (long long)r->period,
             why == WHY_OVERLAP ? "so that all rounds have more steps than the overlap"
                                : "because of the measured network and speeds");
    return true;
}
