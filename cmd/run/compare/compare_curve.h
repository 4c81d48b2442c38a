/* SPDX-License-Identifier: Apache-2.0 */
/* compare_curve.h - the course of one run of a comparison: samples, smoothed loss and accuracy
 *
 * Points are made of the job's status, as the driver or a line of metrics.jsonl has it. If there
 * are too many, every second one is dropped, so that a run of weeks keeps a few hundred.
 */
#ifndef EDDIS_CMD_RUN_COMPARE_COMPARE_CURVE_H
#define EDDIS_CMD_RUN_COMPARE_COMPARE_CURVE_H

#include "agents/job/status_json.h"
#include "cmd/run/request/compare_ask.h"

#include <stdbool.h>
#include <stdint.h>

enum { COMPARE_POINTS = 256 };

/* A moment of a run; NAN: unknown. */
struct compare_point {
    double seconds; /* since the first step */
    int64_t samples;
    double loss;     /* smoothed training loss */
    double accuracy; /* the last test accuracy of rank 0 */
};

/* The points of a run, in order. Zero-initialise it. */
struct compare_curve {
    struct compare_point point[COMPARE_POINTS]; /* [n] */
    int n;
    int stride;                /* of so many points one is kept; 0: none was added yet */
    int left;                  /* points to drop before the next one is kept */
    struct compare_point last; /* the newest point, kept or not; samples 0: none */
};

/* Add the job's status `seconds` after its first step. Return false if it has nothing new: no
 * samples yet, or neither more samples nor another accuracy than before. Otherwise c->last is the
 * point.
 */
bool compare_curve_add(struct compare_curve *c, const struct job_status *s, double seconds);

/* Keep the newest point as the last one of the curve, at the end of the run. */
void compare_curve_end(struct compare_curve *c);

/* Check whether the point has reached the target; never for COMPARE_EPOCHS. */
bool compare_point_reached(const struct compare_point *p, const struct compare_target *t);

/* Return the moment at which the target was reached between the point `before` (all 0: the start)
 * and `p`, which has reached it: by interpolation of samples, time or loss. An accuracy counts from
 * the moment at which it was seen, so that the result is p.
 */
struct compare_point compare_point_crossing(const struct compare_point *before,
                                            const struct compare_point *p,
                                            const struct compare_target *t);

/* Return after how many samples the smoothed loss first was at most `loss`, between two points by
 * interpolation; NAN: it never was.
 */
double compare_curve_samples_at(const struct compare_curve *c, double loss);

#endif
