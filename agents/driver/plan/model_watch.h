/* SPDX-License-Identifier: Apache-2.0 */
/* model_watch.h - report models that differ between workers, and losses that are not finite
 *
 * Workers compare their models (lib/worker/models.h) and end if one differs from the others; a loss
 * that is not finite ends nothing.  Both are reported once, and again in the summary.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MODEL_WATCH_H
#define EDDIS_AGENTS_DRIVER_PLAN_MODEL_WATCH_H

#include "agents/driver/core/job_run.h"

/* What has been reported. */
struct model_watch {
    int64_t generation; /* generation whose models were reported to differ; 0: none */
    int64_t loss_ns;    /* when a loss was first found not finite; 0: never */
    bool said;          /* that loss has been reported */
};

/* Inspect the workers' reports, and report models that differ and losses that are not finite.  A
 * loss is reported only once all agents have reported, because the first rank's makes the others'
 * NaN; end: nothing more will come.
 */
void model_watch_look(struct model_watch *w, struct job_run *r, int64_t now_ns, bool end);

/* Fill the status with the model comparisons of the present generation. */
void model_watch_fill(const struct job_run *r, struct job_status *s);

/* Add whose model differed to the message of a job that has ended because of it. */
void model_watch_end(const struct model_watch *w, struct job_run *r);

#endif
