/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_plans.h - compute the rates that the plans of a job achieved
 *
 * The rates are computed from the workers' sums at the steps at which plans take effect, so that
 * they do not depend on when a report was sent. If a worker changes plans twice between two
 * reports, its steps after the first change are left out. A plan's rate is the sum over workers of
 * samples divided by step time under this plan; it is unknown until every worker has done a step. A
 * plan's ideal is the sum, over the same steps, of samples divided by computing and input time, or
 * of the model's speed for emulated devices. Before steps are measured, the ideal is that of the
 * plan's time models.
 *
 * The equal split of --measure-equal is not in the list of plans; its rate is computed in
 * metrics.h.
 */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_PLANS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_PLANS_H

#include "metrics.h"

/* Add f->plan, the newest plan, to the list of plans and their results. */
void metrics_plans_begin(struct metrics *f);

/* Update the newest listed plan with the present predictions of f->plan. */
void metrics_plans_refine(struct metrics *f);

/* Remove the newest listed plan, which never took effect. */
void metrics_plans_drop(struct metrics *f);

/* Add a worker's report p to the result of the plan that the worker uses; w->last is the worker's
 * previous report.
 */
void metrics_plans_progress(struct metrics *f, struct metrics_worker *w, const struct progress *p);

/* Complete the results of the present generation's plans. */
void metrics_plans_end(struct metrics *f);

/* Copy the list of plans with their rates into the job's status. */
void metrics_plans_fill(const struct metrics *f, struct job_status *s);

#endif
