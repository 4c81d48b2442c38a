/* SPDX-License-Identifier: Apache-2.0 */
/* mode_choice.h - chooses the synchronization mode of a plan
 *
 * If the job sets a mode, this mode is used. Otherwise the mode with the most progress
 * (objective.h) is used; but synchronous training with float32 gradients, which is exact, is kept
 * unless another makes ALGORITHM_MARGIN times its progress. Other modes are compared only if the
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
