/* SPDX-License-Identifier: Apache-2.0 */
/* curve.c - the course of one run of a job */
#include "curve.h"

#include <math.h>
#include <stdlib.h>

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

double curve_points_at(const struct curve_point *point, int n, double loss)
{
    for (int i = 0; i < n; i++) {
        const struct curve_point *p = &point[i], *b = i ? &point[i - 1] : p;

        if (!(p->loss <= loss))
            continue;
        if (i == 0 || !isfinite(b->loss) || b->loss <= p->loss)
            return (double)p->samples;
        return (double)b->samples +
               (b->loss - loss) / (b->loss - p->loss) * (double)(p->samples - b->samples);
    }
    return NAN;
}

double curve_samples_at(const struct curve *c, double loss)
{
    double at = curve_points_at(c->point, c->n, loss);
    struct curve_point end[2];

    if (isfinite(at) || !c->last.samples)
        return at;
    end[0] = c->n ? c->point[c->n - 1] : c->last;
    end[1] = c->last;
    return curve_points_at(end, 2, loss);
}

/* ---- two curves ---- */

/* A curve that has fewer points, or whose loss has fallen by less than FALLEN, says little. */
enum { FEWEST = 8 };
#define FALLEN 0.8

/* Compare numbers for qsort. */
static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Check whether both curves passed this loss behind their first points: a first point may be many
 * steps behind the start. Losses that may be negative have no zero, so that nothing is said of
 * them.
 */
static bool is_between(const struct curve_point *a, const struct curve_point *b, double loss)
{
    return loss > 0 && loss < FALLEN * a[0].loss && loss < FALLEN * b[0].loss;
}

double curve_ratio(const struct curve_point *a, int n_a, const struct curve_point *b, int n_b)
{
    double ratio[CURVE_POINTS], least = INFINITY;
    bool is_a;
    int n = 0;

    if (n_a < FEWEST || n_b < FEWEST)
        return NAN;
    is_a = a[n_a - 1].loss > b[n_b - 1].loss;
    for (int i = 0, end = is_a ? n_a : n_b; i < end && n < CURVE_POINTS; i++) {
        double loss = is_a ? a[i].loss : b[i].loss, of_a, of_b;

        if (!(loss < least))
            continue;
        least = loss;
        of_a = curve_points_at(a, n_a, loss);
        of_b = curve_points_at(b, n_b, loss);
        if (i >= end / 2 && is_between(a, b, loss) && of_a > 0 && of_b > 0)
            ratio[n++] = of_a / of_b;
    }
    if (n < FEWEST / 4)
        return NAN;
    qsort(ratio, (size_t)n, sizeof *ratio, by_value);
    return ratio[n / 2];
}
