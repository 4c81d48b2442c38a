/* SPDX-License-Identifier: Apache-2.0 */
/* replan_past.c - the plan that would have been best lately, for speeds that do not last
 *
 * On cores that others use, slow workers change sooner than plans can follow. What stays constant
 * is the fraction of time in which each is slow. So the speeds of the last REBALANCE_PAST moments
 * are kept, and the present plan and another one are compared at all of them. The other is better
 * if its gain exceeds what the differences between the moments explain.
 */
#include "replan_impl.h"

#include <math.h>
#include <string.h>

static const double ERRORS = 2;   /* standard errors that a gain must exceed, beside GAIN */
static const double GAIN = 0.03;  /* relative gain that another plan must exceed, beside ERRORS */
static const double EQUAL = 0.01; /* relative loss up to which another plan counts as equal */

bool replan_is_unstable(const struct replan *r)
{
    for (int i = 0; i < r->n; i++)
        if (learner_is_unstable(&r->member[i].learner))
            return true;
    return false;
}

/* Borrow the seconds per sample [n] at past moment k. */
static double *moment(const struct replan *r, int k)
{
    return r->past + (size_t)k * (size_t)r->n;
}

void replan_note_past(struct replan *r)
{
    replan_fill(r);
    if (r->n_past == REBALANCE_PAST)
        memmove(r->past, moment(r, 1), (size_t)(r->n_past - 1) * (size_t)r->n * sizeof *r->past);
    else
        r->n_past++;
    for (int i = 0; i < r->n; i++) {
        const struct learner *l = &r->member[i].learner;

        /* For a worker without steps the split has seconds, the learner perhaps a ratio. */
        moment(r, r->n_past - 1)[i] =
            learner_points(l) > 0 ? learner_present(l).sample_s : r->split[i].t.sample_s;
    }
}

/* Return the steps per second of these batches at past moment k. */
static double rate(const struct replan *r, int k, batch_fn batch)
{
    double longest = 0;

    for (int i = 0; i < r->n; i++) {
        double samples = (double)batch(r, i);

        if (samples > 0)
            longest = fmax(longest, moment(r, k)[i] * (r->member[i].learner.rest + samples));
    }
    return 1 / longest;
}

/* Return worker i's batch in the last plan that held for long. */
static int64_t held(const struct replan *r, int i)
{
    return r->member[i].held;
}

/* Return the mean relative gain of these batches over the present ones at the past moments.
 * *ret_error: its standard error.
 */
static double gain_by_past(const struct replan *r, batch_fn batch, double *ret_error)
{
    double present = 0, more = 0, squares = 0, n = r->n_past;

    for (int k = 0; k < r->n_past; k++) {
        double now = rate(r, k, replan_present), x = rate(r, k, batch) - now;

        present += now / n;
        more += x / n;
        squares += x * x / n;
    }
    *ret_error = sqrt(fmax(squares - more * more, 0) / n) / present;
    return more / present;
}

bool replan_was_better_by_past(struct replan *r, struct replan_proposal *ret)
{
    double error;

    if (r->n_past < REBALANCE_PAST / 2 || replan_outside(r, held) >= 0)
        return false;
    ret->gain = gain_by_past(r, held, &error);
    for (int i = 0; i < r->n; i++)
        r->best[i] = held(r, i);
    return ret->gain >= -EQUAL;
}

/* Fill r->split with the mean speeds of the past moments. */
static void fill(struct replan *r)
{
    replan_fill(r);
    for (int i = 0; i < r->n; i++) {
        double speed = 0;

        for (int k = 0; k < r->n_past; k++)
            speed += 1 / moment(r, k)[i];
        r->split[i].t.sample_s = r->n_past / speed;
        r->split[i].t.fixed_s = r->split[i].t.sample_s * r->member[i].learner.rest;
    }
}

bool replan_is_better_by_past(struct replan *r, struct replan_proposal *ret)
{
    double error;

    if (r->n_past < REBALANCE_PAST / 2)
        return false;
    fill(r);
    if (split_optimal(r->split, r->n, r->total, r->set.grain, r->best, NULL) < 0)
        return false;
    ret->gain = gain_by_past(r, replan_proposed, &error);
    ret->wanted = GAIN + ERRORS * error;
    return ret->gain > ret->wanted;
}
