/* SPDX-License-Identifier: Apache-2.0 */
/* mode_choice.h - chooses the synchronization mode of a plan
 *
 * If the job sets a mode, this mode is used. Otherwise the mode is synchronous, which is exact,
 * unless another mode (modes.h) is predicted to have ALGORITHM_MARGIN more progress. Progress is
 * samples per second times the efficiency of the algorithm. Other modes are compared only if the
 * size of the model is known, that is if the program has run with libeddis before. For a program
 * without libeddis modes have no effect.
 */
#ifndef EDDIS_SCHEDULER_MODE_CHOICE_H
#define EDDIS_SCHEDULER_MODE_CHOICE_H

#include "scheduler/planner.h"

/* Fill in the mode, algorithm, groups, period, rates, predictions of all modes and the reason of
 * plan p. p must have its batches and time models. Return 0 or a negative errno.
 */
int mode_choose(const struct job *job, const struct planner_history *history, struct plan *p,
                struct eddis_error *err);

#endif
