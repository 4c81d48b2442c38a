/* SPDX-License-Identifier: Apache-2.0 */
/* curve.h - the course of one run of a job: samples, smoothed loss and accuracy
 *
 * If a curve has too many points, every second one is dropped, so that a run of weeks keeps a few
 * hundred.
 */
#ifndef EDDIS_AGENTS_JOB_CURVE_H
#define EDDIS_AGENTS_JOB_CURVE_H

#include <stdbool.h>
#include <stdint.h>

enum { CURVE_POINTS = 256 };

/* A moment of a run; NAN: unknown. */
struct curve_point {
    double seconds; /* since the first step */
    int64_t samples;
    double loss;     /* smoothed training loss */
    double accuracy; /* the last test accuracy of rank 0 */
};

/* The points of a run, in order. Zero-initialise it. */
struct curve {
    struct curve_point point[CURVE_POINTS]; /* [n] */
    int n;
    int stride;              /* of so many points one is kept; 0: none was added yet */
    int left;                /* points to drop before the next one is kept */
    struct curve_point last; /* the newest point, kept or not; samples 0: none */
};

/* Add a point, whose loss is that of a batch and may be NAN: the curve keeps the smoothed loss.
 * global_batch: samples a step. Return false if the point has nothing new: no samples yet, fewer
 * than before, or neither more samples nor another accuracy. Otherwise c->last is the point.
 */
bool curve_add(struct curve *c, const struct curve_point *news, int64_t global_batch);

/* Keep the newest point as the last one of the curve, at the end of the run. */
void curve_end(struct curve *c);

/* Return after how many samples the smoothed loss of the points [n] first was at most `loss`,
 * between two points by interpolation; NAN: it never was.
 */
double curve_points_at(const struct curve_point *point, int n, double loss);

/* Return the samples of one run by those of another to the same smoothed loss: the median over the
 * losses of the second half of that run that ended with the greater loss. a, b: their points [n_a],
 * [n_b]. NAN: the runs do not show it, because they are too short, or
 * their losses did not fall or are not positive.
 */
double curve_ratio(const struct curve_point *a, int n_a, const struct curve_point *b, int n_b);

/* Return after how many samples the smoothed loss first was at most `loss`, between two points by
 * interpolation; NAN: it never was.
 */
double curve_samples_at(const struct curve *c, double loss);

#endif
