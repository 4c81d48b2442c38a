/* SPDX-License-Identifier: Apache-2.0 */
/* mode_choice.h - in which mode a plan's workers keep in step
 *
 * The job's wish when it has one.  Otherwise synchronous, which is exact, unless the predicted
 * samples per second of another mode (modes.h), times the efficiency of its algorithm, are ahead by
 * ALGORITHM_MARGIN.  Others are weighed only when the size of the model is known: then the program
 * has run with libeddis before, while to a program without it no mode means anything.
 */
#ifndef EDDIS_SCHEDULER_MODE_CHOICE_H
#define EDDIS_SCHEDULER_MODE_CHOICE_H

#include "scheduler/planner.h"

/* Fill mode, algorithm, groups, period, rates, predictions of the modes and the reason; batches
 * and time models are there.
 */
int mode_choose(const struct job *job, const struct planner_known *known, struct plan *p,
                struct eddis_error *err);

#endif
