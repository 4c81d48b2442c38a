/* SPDX-License-Identifier: Apache-2.0 */
/* objective.c - predicts progress, and finds the groups, wire format and period with most of it */
#include "objective.h"

#include "predictors.h"

#include <math.h>
#include <stdbool.h>

/* Sum of the moving rates of all writers; a larger sum is unstable if they write in lock step. */
static const double ALL_WRITERS_RATE = 0.9;
/* Options of DiLoCo's outer optimizer, from its paper. */
static const double OUTER_RATE = 0.7, OUTER_MOMENTUM = 0.9;

double forecast_progress(struct forecast p)
{
    return p.samples_per_s * p.efficiency;
}

int objective_at(const struct objective_way *way, int64_t period, struct forecast *ret,
                 struct eddis_error *err)
{
    ret->efficiency = efficiency_of(way->measured, way->algorithm, way->writers, period);
    return predictors_run(way->algorithm->name, way->setup, way->group, period, &ret->samples_per_s,
                          err);
}

/* Return 1: a round of this period takes at most MODES_ROUND_S; 0: it takes longer; or -ENOMEM. */
static int is_short(const struct objective_way *way, int64_t period, struct eddis_error *err)
{
    double samples = 0, samples_per_s;
    int rc =
        predictors_run(way->algorithm->name, way->setup, way->group, period, &samples_per_s, err);

    for (int i = 0; i < way->setup->n; i++)
        samples += (double)way->setup->worker[i].batch;
    return rc < 0 ? rc : (double)period * samples <= MODES_ROUND_S * samples_per_s;
}

/* Find in *ret the longest period up to `most` whose round is_short; 1 if none is. Longer periods
 * have longer rounds. Return 0 or -ENOMEM.
 */
static int longest_round(const struct objective_way *way, int64_t most, int64_t *ret,
                         struct eddis_error *err)
{
    int64_t low = 1;

    while (low < most) {
        int64_t middle = low + (most - low + 1) / 2;
        int rc = is_short(way, middle, err);

        if (rc < 0)
            return rc;
        if (rc)
            low = middle;
        else
            most = middle - 1;
    }
    *ret = low;
    return 0;
}

/* Find in *ret the longest period, in steps, that may be chosen; at least 1. Return 0 or -ENOMEM.
 */
static int longest_period(const struct objective_way *way, int64_t *ret, struct eddis_error *err)
{
    const struct modes_setup *s = way->setup;
    int64_t most = s->steps / MODES_LEAST_EXCHANGES;

    if (s->steps <= 0 || most > MODES_MAX_PERIOD)
        most = MODES_MAX_PERIOD;
    if (way->algorithm->traits & ALGORITHM_ROUNDS && s->epoch_steps > 0)
        most = (int64_t)fmin((double)most, ceil(s->epoch_steps));
    *ret = most > 0 ? most : 1;
    if (!(way->algorithm->traits & ALGORITHM_ROUNDS) || s->model_bytes <= 0) /* or only ratios */
        return 0;
    return longest_round(way, *ret, ret, err);
}

bool objective_outlasts(const struct objective_way *way, int64_t period)
{
    const struct modes_setup *s = way->setup;

    return !(way->algorithm->traits & ALGORITHM_ROUNDS) || s->overlap <= 0 ||
           modes_shortest_round(s->epoch_steps, period) > (double)s->overlap;
}

/* A search for the period with most progress */
struct search {
    const struct objective_way *way;
    /* the shortest and the longest period that may be chosen: both outlast the overlap, or they are
     * equal, since no period does
     */
    int64_t least, most;
    int64_t best; /* best period so far; 0: none */
    double progress;
    struct eddis_error *err;
};

/* Fill in the shortest and the longest period that may be chosen. Return 0 or -ENOMEM. */
static int find_bounds(struct search *s)
{
    int rc = longest_period(s->way, &s->most, s->err);

    s->least = 1;
    while (rc == 0 && s->least < s->most && !objective_outlasts(s->way, s->least))
        s->least++;
    while (rc == 0 && s->least < s->most && !objective_outlasts(s->way, s->most))
        s->most--;
    return rc;
}

/* Return a period within the bounds, or the next one that outlasts the overlap: a longer one if
 * step is 1, a shorter one if it is -1.
 */
static int64_t next_period(const struct search *s, int64_t period, int step)
{
    while (period > s->least && period < s->most && !objective_outlasts(s->way, period))
        period += step;
    return period;
}

/* Weigh a period, or the next_period farther from the best one, and keep it if it is the best so
 * far. Return 1: it is; 0: it is not, or it may not be chosen; or -ENOMEM.
 */
static int weigh(struct search *s, int64_t period)
{
    struct forecast p;
    int rc;

    if (period < s->least || period > s->most)
        return false;
    period = next_period(s, period, period < s->best ? -1 : 1);
    rc = objective_at(s->way, period, &p, s->err);
    if (rc < 0 || (s->best && !(forecast_progress(p) > s->progress)))
        return rc < 0 ? rc : false;
    s->best = period;
    s->progress = forecast_progress(p);
    return true;
}

/* Weigh periods around the best: those `distance` steps away, and in the end, at distance 1, also
 * half, double and the longest. Return whether one is better, or -ENOMEM.
 */
static int weigh_around(struct search *s, int64_t distance)
{
    const int64_t from = s->best;
    const int64_t around[] = { from - distance, from + distance, from / 2, from * 2, s->most };
    const size_t n = distance > 1 ? 2 : sizeof around / sizeof *around;
    int better = false;

    for (size_t i = 0; i < n; i++) {
        int rc = weigh(s, around[i]);

        if (rc < 0)
            return rc;
        better |= rc;
    }
    return better;
}

/* The progress has several maxima, since the table of efficiencies is interpolated between powers
 * of 4: weigh those first, then climb from the best by ever shorter distances.
 */
int objective_best_period(const struct objective_way *way, int64_t *ret, struct eddis_error *err)
{
    struct search s = { .way = way, .err = err };
    int rc = find_bounds(&s);

    if (rc == 0 && way->setup->model_bytes <= 0) {
        *ret = s.most < MODES_PERIOD ? s.most : MODES_PERIOD;
        *ret = next_period(&s, s.least > *ret ? s.least : *ret, 1);
        return 0;
    }
    rc = rc == 0 ? weigh(&s, s.least) : rc;
    for (int64_t period = 1; rc >= 0 && period <= s.most; period *= 4)
        rc = weigh(&s, period);
    for (int64_t distance = s.best / 2 + 1; rc >= 0; distance = (distance + 1) / 2) {
        do
            rc = weigh_around(&s, distance);
        while (rc > 0);
        if (distance == 1)
            break;
    }
    *ret = s.best;
    return rc < 0 ? rc : 0;
}

/* ---- groups and wire format ---- */

/* Return 1: no period of this way could make more progress than the choice; 0: one might; or
 * -ENOMEM.
 */
static int is_hopeless(const struct objective_way *way, const struct objective_choice *c,
                       struct eddis_error *err)
{
    struct forecast most;
    int rc = modes_unexchanged(way->setup, way->group, &most.samples_per_s, err);

    if (efficiency_is_measured(way->measured, way->algorithm))
        most.efficiency = EFFICIENCY_MOST;
    else if (way->algorithm->traits & ALGORITHM_OUTER) /* it rises with the period */
        most.efficiency = 1;
    else
        most.efficiency = algorithm_efficiency(way->algorithm, way->writers, 1);
    return rc < 0 ? rc : forecast_progress(most) <= forecast_progress(c->forecast);
}

/* Set the options of the algorithm that the job leaves open, and clear those that it does not have.
 */
static void set_options(const struct objective_way *way, struct sync_options *o)
{
    const unsigned traits = way->algorithm->traits;

    if (!(traits & ALGORITHM_ELASTIC))
        o->moving_rate = o->momentum = 0;
    else if (!(o->moving_rate > 0))
        o->moving_rate = ALL_WRITERS_RATE / way->writers;
    if (!(traits & ALGORITHM_ROUNDS))
        o->overlap = 0;
    if (!(traits & ALGORITHM_OUTER))
        o->outer_rate = o->outer_momentum = 0;
    else {
        o->outer_rate = o->outer_rate > 0 ? o->outer_rate : OUTER_RATE;
        o->outer_momentum = o->outer_momentum > 0 ? o->outer_momentum : OUTER_MOMENTUM;
    }
}

/* Predict this way with the period that the job sets, or else the best, and store it in *c if it
 * makes more progress. c->writers and c->forecast are 0 before the first way. Return 0 or a
 * negative errno.
 */
static int try_way(const struct objective_way *way, const struct sync_options *wanted,
                   struct objective_choice *c, struct eddis_error *err)
{
    struct objective_choice now = { .group = way->group, .writers = way->writers };
    int rc = 0;

    if (way->writers && c->writers && (rc = is_hopeless(way, c, err)) != 0)
        return rc < 0 ? rc : 0;
    if (way->writers)
        now.options = *wanted;
    if (way->writers && !now.options.period)
        rc = objective_best_period(way, &now.options.period, err);
    if (way->writers)
        set_options(way, &now.options);
    if (rc == 0)
        rc = objective_at(way, now.options.period, &now.forecast, err);
    if (rc == 0 &&
        (!c->writers || forecast_progress(now.forecast) > forecast_progress(c->forecast)))
        *c = now;
    return rc;
}

/* Find the best groups and period with this wire format in *ret. Return 0 or a negative errno. */
static int best_with(const struct algorithm *a, const struct objective_input *in,
                     enum sync_wire wire, struct objective_choice *ret, struct eddis_error *err)
{
    struct modes_setup s = in->setup;
    struct objective_way way = { .setup = &s, .algorithm = a, .measured = in->measured };
    int rc = 0;

    s.wire = wire;
    s.overlap = program_is_external(&s.program) ? 0 : in->wanted->overlap;
    *ret = (struct objective_choice){ 0 };
    if (!(a->traits & ALGORITHM_GROUPED)) {
        way.writers = a->traits & ALGORITHM_SEVERAL ? s.n : 0;
        rc = try_way(&way, in->wanted, ret, err);
    }
    for (int i = 0; (a->traits & ALGORITHM_GROUPED) && i < in->n_groups && rc == 0; i++) {
        way.group = in->groups[i].group;
        way.writers = in->groups[i].n;
        rc = try_way(&way, in->wanted, ret, err);
    }
    ret->options.wire = wire;
    return rc;
}

int objective_best(const struct algorithm *a, const struct objective_input *in,
                   struct objective_choice *ret, struct eddis_error *err)
{
    const double margin = a->traits & ALGORITHM_EXACT ? ALGORITHM_MARGIN : 1;
    enum sync_wire asked = in->wanted->wire;
    struct objective_choice half;
    int rc = best_with(a, in, asked ? asked : SYNC_WIRE_FLOAT32, ret, err);

    if (rc < 0 || asked || (ret->writers == in->setup.n && !ret->group)) /* no gradients travel */
        return rc;
    rc = best_with(a, in, SYNC_WIRE_BFLOAT16, &half, err);
    if (rc == 0 && forecast_progress(half.forecast) > forecast_progress(ret->forecast) * margin) {
        half.wire_gain = forecast_progress(half.forecast) / forecast_progress(ret->forecast);
        *ret = half;
    }
    return rc;
}
