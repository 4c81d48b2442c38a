/* SPDX-License-Identifier: Apache-2.0 */
/* curve_watch.h - record the smoothed loss of a job for later jobs of its program
 *
 * A course is that of one algorithm with one number of models and one batch. So it ends when the
 * plan changes in these, or when the job restarts, and it is empty if the job goes on from a
 * checkpoint. Its period is the last one.
 */
#ifndef EDDIS_AGENTS_DRIVER_HISTORY_CURVE_WATCH_H
#define EDDIS_AGENTS_DRIVER_HISTORY_CURVE_WATCH_H

#include "history.h"
#include "past_curves.h"

/* What has been recorded. Zero-initialise it. */
struct curve_watch {
    struct past_curve of; /* algorithm, models, period and batch of the course; batch 0: none yet */
    struct curve curve;
    int64_t period;  /* that later ones are compared with */
    int64_t since;   /* samples after which the period last left that one's neighbourhood */
    bool diverged;   /* a loss was not finite: nothing is stored */
    bool ended;      /* nothing more is added */
    int64_t next_ns; /* time from which the next point may be added */
};

/* Add the job's present samples and loss, trained by this plan, which is in force. Call it after
 * reports of progress.
 */
void curve_watch_look(struct curve_watch *w, const struct plan *p, const struct job_run *r,
                      int64_t now_ns);

/* Store the course, at the job's end, if it is long enough and nearly all of it has its period. */
void curve_watch_keep(struct curve_watch *w, struct history *k);

#endif
