/* SPDX-License-Identifier: Apache-2.0 */
/* network_effect.h - re-predict the running plan after the network has changed
 *
 * A change is detected in two ways: by a few messages before the first step, if an earlier job
 * measured the network, or by the time that steps wait for communication. The plan is then
 * predicted again, and the synchronization period changes with the next plan (scheduler/replan.h).
 * Mode and buckets are fixed for the generation: if another mode is now predicted to be better, the
 * report to the user says so, for the next job.
 */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_EFFECT_H
#define EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_EFFECT_H

#include "agents/driver/core/job_run.h"

#include "lib/model/plan.h"
#include "scheduler/planner.h"
#include "scheduler/replan.h"

/* Predict p again after the ranks found that a cached network measurement no longer holds, and
 * update p's prediction. Record the effect as an event, and report it to the user if the prediction
 * changes by more than 5 %.
 */
void network_effect_checked(struct job_run *r, const struct network_check *c,
                            const struct planner_history *history, struct plan *p);

/* Predict p again after the workers' steps contradicted the network measurement, and update p's
 * prediction. Record the effect as an event; if news, report it to the user, too.
 */
void network_effect_contradicted(struct job_run *r, const struct replan_contradiction *c,
                                 const struct planner_history *history, bool news, struct plan *p);

#endif
