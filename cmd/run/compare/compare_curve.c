/* SPDX-License-Identifier: Apache-2.0 */
/* compare_curve.c - the course of one run of a comparison */
#include "compare_curve.h"

#include <math.h>

/* The smoothed loss forgets half within this number of steps, but a new loss counts LARGEST at
 * most: points may be many steps apart, and each is the loss of one batch.
 */
static const double half_steps = 10, largest = 0.5;

/* Return the smoothed loss after the point `before` and a new loss. */
static double smooth(const struct compare_point *before, const struct job_status *s)
{
    double steps, part;

    if (!isfinite(s->loss))
        return before->samples ? before->loss : NAN;
    if (!before->samples || !isfinite(before->loss) || s->global_batch < 1)
        return s->loss;
    steps = (double)(s->samples - before->samples) / (double)s->global_batch;
    part = 1 - exp2(-steps / half_steps);
    return before->loss + fmin(part, largest) * (s->loss - before->loss);
}

/* Drop every second point of a full curve. */
static void thin(struct compare_curve *c)
{
    int n = 0;

    for (int i = 1; i < c->n; i += 2)
        c->point[n++] = c->point[i];
    c->n = n;
    c->stride *= 2;
}

bool compare_curve_add(struct compare_curve *c, const struct job_status *s, double seconds)
{
    struct compare_point p = { .seconds = seconds,
                               .samples = s->samples,
                               .loss = smooth(&c->last, s),
                               .accuracy = s->accuracy };
    bool same = p.accuracy == c->last.accuracy || (isnan(p.accuracy) && isnan(c->last.accuracy));

    if (p.samples <= 0 || p.samples < c->last.samples || (p.samples == c->last.samples && same))
        return false;
    c->last = p;
    if (c->left > 0) {
        c->left--;
        return true;
    }
    if (!c->stride)
        c->stride = 1;
    if (c->n == COMPARE_POINTS)
        thin(c);
    c->point[c->n++] = p;
    c->left = c->stride - 1;
    return true;
}

void compare_curve_end(struct compare_curve *c)
{
    if (!c->n || c->point[c->n - 1].samples == c->last.samples) {
        if (c->n)
            c->point[c->n - 1] = c->last;
        return;
    }
    if (c->n == COMPARE_POINTS)
        thin(c);
    c->point[c->n++] = c->last;
}

bool compare_point_reached(const struct compare_point *p, const struct compare_target *t)
{
    if (!p->samples)
        return false;
    switch (t->goal) {
    case COMPARE_ACCURACY:
        return p->accuracy >= t->value;
    case COMPARE_LOSS:
        return p->loss <= t->value;
    case COMPARE_SAMPLES:
        return (double)p->samples >= t->value;
    case COMPARE_TIME:
        return p->seconds >= t->value;
    default:
        return false;
    }
}

struct compare_point compare_point_crossing(const struct compare_point *before,
                                            const struct compare_point *p,
                                            const struct compare_target *t)
{
    struct compare_point at = *p;
    double part = 1;

    if (t->goal == COMPARE_SAMPLES)
        part = (t->value - (double)before->samples) / (double)(p->samples - before->samples);
    else if (t->goal == COMPARE_TIME)
        part = (t->value - before->seconds) / (p->seconds - before->seconds);
    else if (t->goal == COMPARE_LOSS && before->samples)
        part = (before->loss - t->value) / (before->loss - p->loss);
    if (!(part >= 0 && part < 1)) /* also NAN */
        return at;
    at.seconds = before->seconds + part * (p->seconds - before->seconds);
    at.samples = before->samples + (int64_t)llround(part * (double)(p->samples - before->samples));
    return at;
}

double compare_curve_samples_at(const struct compare_curve *c, double loss)
{
    for (int i = 0; i <= c->n && c->last.samples; i++) {
        const struct compare_point *p = i < c->n ? &c->point[i] : &c->last;
        const struct compare_point *b = i ? &c->point[i - 1] : p;

        if (!(p->loss <= loss))
            continue;
        if (i == 0 || !isfinite(b->loss) || b->loss <= p->loss)
            return (double)p->samples;
        return (double)b->samples +
               (b->loss - loss) / (b->loss - p->loss) * (double)(p->samples - b->samples);
    }
    return NAN;
}
