/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_plans.h - measure what each plan of a job achieved
 *
 * Computed from the workers' sums at the steps from which plans hold, so that the result does not
 * depend on when a report was sent.  If a worker switches plans twice between two reports, its
 * steps after the first switch are left out.  A plan's rate is the sum over workers of samples
 * divided by step time under that plan; unknown until every worker has done a step.  Its ideal is
 * the sum, over the same steps, of samples divided by computing and input time, or of the model's
 * speed for emulated devices; before that, the plan's expectation.
 *
 * The equal split of --measure-equal is not listed here; its rate is measured separately.
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

/* Add a worker's report p to the result of the plan that it uses; w->last is the report before. */
void metrics_plans_progress(struct metrics *f, struct metrics_worker *w, const struct progress *p);

/* Complete the results of the present generation's plans. */
void metrics_plans_end(struct metrics *f);

/* Copy the list of plans with their rates into the job's status. */
void metrics_plans_fill(const struct metrics *f, struct job_status *s);

#endif
