/* SPDX-License-Identifier: Apache-2.0 */
/* curve.c - the course of one run of a job */
#include "curve.h"

#include <math.h>

/* The smoothed loss forgets half within this number of steps, but a new loss counts LARGEST at
 * most: points may be many steps apart, and each is the loss of one batch.
 */
static const double half_steps = 10, largest = 0.5;

/* Return the smoothed loss after the point `before` and a new one, whose loss is not smoothed. */
static double smooth(const struct curve_point *before, const struct curve_point *news,
                     int64_t global_batch)
{
    double steps, part;

    if (!isfinite(news->loss))
        return before->samples ? before->loss : NAN;
    if (!before->samples || !isfinite(before->loss) || global_batch < 1)
        return news->loss;
    steps = (double)(news->samples - before->samples) / (double)global_batch;
    part = 1 - exp2(-steps / half_steps);
    return before->loss + fmin(part, largest) * (news->loss - before->loss);
}

/* Drop every second point of a full curve. */
static void thin(struct curve *c)
{
    int n = 0;

    for (int i = 1; i < c->n; i += 2)
        c->point[n++] = c->point[i];
    c->n = n;
    c->stride *= 2;
}

bool curve_add(struct curve *c, const struct curve_point *news, int64_t global_batch)
{
    struct curve_point p = *news;
    bool same = p.accuracy == c->last.accuracy || (isnan(p.accuracy) && isnan(c->last.accuracy));

    if (p.samples <= 0 || p.samples < c->last.samples || (p.samples == c->last.samples && same))
        return false;
    p.loss = smooth(&c->last, news, global_batch);
    c->last = p;
    if (c->left > 0) {
        c->left--;
        return true;
    }
    if (!c->stride)
        c->stride = 1;
    if (c->n == CURVE_POINTS)
        thin(c);
    c->point[c->n++] = p;
    c->left = c->stride - 1;
    return true;
}

void curve_end(struct curve *c)
{
    if (!c->n || c->point[c->n - 1].samples == c->last.samples) {
        if (c->n)
            c->point[c->n - 1] = c->last;
        return;
    }
    if (c->n == CURVE_POINTS)
        thin(c);
    c->point[c->n++] = c->last;
}

double curve_samples_at(const struct curve *c, double loss)
{
    for (int i = 0; i <= c->n && c->last.samples; i++) {
        const struct curve_point *p = i < c->n ? &c->point[i] : &c->last;
        const struct curve_point *b = i ? &c->point[i - 1] : p;

        if (!(p->loss <= loss))
            continue;
        if (i == 0 || !isfinite(b->loss) || b->loss <= p->loss)
            return (double)p->samples;
        return (double)b->samples +
               (b->loss - loss) / (b->loss - p->loss) * (double)(p->samples - b->samples);
    }
    return NAN;
}
