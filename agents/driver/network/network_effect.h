/* SPDX-License-Identifier: Apache-2.0 */
/* network_effect.h - re-predict the running plan after the network has changed
 *
 * Two things detect a change: a few messages before the first step, if an earlier job measured the
 * network, or the time that steps wait for it.  The plan is then predicted again, and the
 * synchronization period changes with the next plan (scheduler/replan.h).  Mode and buckets are
 * fixed for the generation: if another mode would now be better, the report says so for the next
 * job.
 */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_EFFECT_H
#define EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_EFFECT_H

#include "agents/driver/core/job_run.h"

#include "lib/model/plan.h"
#include "scheduler/planner.h"
#include "scheduler/replan.h"

/* Predict p again after the ranks found that a cached network measurement no longer holds, and
 * update p's prediction.  Report the effect, to the user only if the prediction changes by more
 * than 5 %.
 */
void network_effect_checked(struct job_run *r, const struct network_check *c,
                            const struct planner_history *history, struct plan *p);

/* Predict p again after the workers' steps contradicted the network measurement, and update p's
 * prediction.  Report the effect; news: to the user, otherwise only as an event.
 */
void network_effect_contradicted(struct job_run *r, const struct replan_contradiction *c,
                                 const struct planner_history *history, bool news, struct plan *p);

#endif
