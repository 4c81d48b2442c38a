/* SPDX-License-Identifier: Apache-2.0 */
/* network_effect.h - what a network that is not as it was means for the plan under way
 *
 * It is known from a few messages before the first step, where an earlier job has measured it, or
 * from what steps wait for it.  Either way the plan is predicted anew, and the period follows with
 * the next plan (scheduler/rebalance.h).  Mode and buckets are those of the generation: a mode that
 * would be better now is said, for the next job.
 */
#ifndef EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_EFFECT_H
#define EDDIS_AGENTS_DRIVER_NETWORK_NETWORK_EFFECT_H

#include "agents/driver/core/job_run.h"

#include "lib/model/plan.h"
#include "scheduler/planner.h"
#include "scheduler/rebalance.h"

/* Predict p anew with what is known now, and tell people of it: after the check of a network that
 * was believed, where that changes anything, ... */
void network_effect_checked(struct job_run *r, const struct network_check *c,
                            const struct planner_known *known, struct plan *p);

/* ... and after a contradiction; no news: it is an event only. */
void network_effect_contradicted(struct job_run *r, const struct rebalance_contradiction *c,
                                 const struct planner_known *known, bool news, struct plan *p);

#endif
