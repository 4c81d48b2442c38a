/* SPDX-License-Identifier: Apache-2.0 */
/* compare_reach.c - whether and when a run of a comparison has reached the target */
#include "compare_reach.h"

#include <math.h>

bool compare_reached(const struct curve_point *p, const struct compare_target *t)
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

struct curve_point compare_crossing(const struct curve_point *before, const struct curve_point *p,
                                    const struct compare_target *t)
{
    struct curve_point at = *p;
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
