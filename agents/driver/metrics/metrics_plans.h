/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_plans.h - what each plan of a job gave
 *
 * Measured from the workers' sums at the steps from which plans hold, so that it does not depend on
 * when a report was sent.  Where a worker went on to yet another version between two reports, its
 * steps since the first of them are left out.  The samples per second of a plan are the sum over
 * the workers of their samples under it by their step times; unknown while one has not done a step.
 * Its ideal is the sum over the same steps of their samples by their times of computing and input,
 * of emulated devices what the plan's model gives; before that, what the plan expects.
 *
 * The equal split of --measure-equal is no plan here; its rate is known apart.
 */
#ifndef EDDIS_AGENTS_DRIVER_METRICS_METRICS_PLANS_H
#define EDDIS_AGENTS_DRIVER_METRICS_METRICS_PLANS_H

#include "metrics.h"

/* Go on with f->plan. */
void figures_plans_begin(struct figures *f);

/* Take what f->plan, the newest, predicts by now. */
void figures_plans_refine(struct figures *f);

/* Forget the newest, which never took force. */
void figures_plans_drop(struct figures *f);

/* Take a worker's report; w->last is the one before. */
void figures_plans_progress(struct figures *f, struct figures_worker *w, const struct progress *p);

/* End the present generation's. */
void figures_plans_end(struct figures *f);

/* Fill the list. */
void figures_plans_fill(const struct figures *f, struct job_status *s);

#endif
