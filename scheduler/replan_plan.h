/* SPDX-License-Identifier: Apache-2.0 */
/* replan_plan.h - makes the re-planning policy of a plan, for a job that runs or is simulated */
#ifndef EDDIS_SCHEDULER_REPLAN_PLAN_H
#define EDDIS_SCHEDULER_REPLAN_PLAN_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/plan.h"
#include "planner.h"
#include "replan.h"

#include <stdbool.h>

/* Check whether the plan compares GPUs by rates of the probe. */
bool replan_plan_is_by_rates(const struct plan *p);

/* Create the re-planning policy of a job's plan in *ret; the caller frees it with replan_free.
 * history: what the plan was made from. equal: the job begins with the plan's equal split, from
 * which the policy also learns: two different batches per worker separate the fixed time from the
 * time per sample. Return 0, -EINVAL or -ENOMEM.
 */
int replan_plan(const struct job *job, const struct plan *p, const struct planner_history *history,
                bool equal, struct replan **ret, struct eddis_error *err);

#endif
