/* SPDX-License-Identifier: Apache-2.0 */
/* past_curves.h - the courses of a program's earlier jobs, and the efficiencies that they show
 *
 * Each job that trains from its beginning leaves its smoothed loss by samples in the cache. If
 * there is a course of sync mode and one of another mode with the same batch, their ratio is an
 * efficiency of that mode, which the next plans use as if --compare had measured it.
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_PAST_CURVES_H
#define EDDIS_AGENTS_DRIVER_HISTORY_PAST_CURVES_H

#include "agents/job/curve.h"
#include "past.h"

enum { PAST_POINTS = 64, PAST_CURVES = 24 };

/* The course of one job */
struct past_curve {
    char key[EFFICIENCY_KEY]; /* from algorithm, models, period and batch */
    char algorithm[16];
    int64_t writers;                       /* models that were trained, 1 in sync mode */
    int64_t period;                        /* steps between exchanges of models; 0 in sync mode */
    int64_t batch;                         /* global batch, in samples */
    struct curve_point point[PAST_POINTS]; /* [n] samples and smoothed loss; the rest is 0 */
    int n;
    int64_t learnt_s; /* wall-clock time of the job's end, in seconds */
};

/* Copy points of a curve to those of a course, evenly, with the first and the last. */
void past_curve_take(struct past_curve *ret, const struct curve *c);

/* Store the course of a job, whose key and time are set here, for later jobs of the program with a
 * model of this size. It replaces the course of an earlier job with the same algorithm, models,
 * period and batch; if there are PAST_CURVES others, the oldest is dropped. Store the efficiencies
 * that it shows, too: a value of the same kind that is there keeps two thirds. Store nothing if the
 * job keeps no cache, or if a single model was trained by another algorithm than those of sync
 * mode. Return the number of these efficiencies, or a negative errno.
 */
int past_curve_keep(struct file_thread *reader, const struct job *job, int64_t model_bytes,
                    const struct past_curve *c, struct eddis_error *err);

#endif
