/* SPDX-License-Identifier: Apache-2.0 */
/* model_watch.h - report models that differ between workers, and losses that are not finite
 *
 * Workers compare their models (lib/worker/models.h), and end if the models differ. A loss that is
 * not finite ends no worker. Models that differ, and such a loss, are reported to the user once,
 * and again in the summary.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MODEL_WATCH_H
#define EDDIS_AGENTS_DRIVER_PLAN_MODEL_WATCH_H

#include "agents/driver/core/job_run.h"

/* What has been reported to the user */
struct model_watch {
    int64_t generation; /* generation whose models were reported to differ; 0: none */
    int64_t loss_ns;    /* time at which a loss was first found not finite; 0: never */
    bool said;          /* the loss that is not finite has been reported */
};

/* Inspect the workers' reports, and report models that differ and losses that are not finite. A
 * loss is reported two heartbeats after it is found, when all agents have reported, because the
 * wrong loss of one rank makes the losses of all ranks NaN. end: no further reports will arrive, so
 * do not wait.
 */
void model_watch_look(struct model_watch *w, struct job_run *r, int64_t now_ns, bool end);

/* Fill the status with the model comparisons of the present generation. */
void model_watch_fill(const struct job_run *r, struct job_status *s);

/* If the job has ended because models differ, add to its message whose model differed. */
void model_watch_end(const struct model_watch *w, struct job_run *r);

#endif
