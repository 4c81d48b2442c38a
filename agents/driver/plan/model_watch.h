/* SPDX-License-Identifier: Apache-2.0 */
/* model_watch.h - what people are told of models that are not one, and of losses that are no
 * numbers
 *
 * Workers compare their models (lib/worker/models.h) and end where one is not that of the others;
 * a loss that is not finite ends nothing.  Both are said once, and again in the summary.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MODEL_WATCH_H
#define EDDIS_AGENTS_DRIVER_PLAN_MODEL_WATCH_H

#include "agents/driver/core/job_run.h"

struct model_watch {
    int64_t generation; /* whose models were said to differ; 0: none's */
    int64_t loss_ns;    /* since when a loss that is not finite is known; 0: none is */
    bool said;          /* whose it was */
};

/* Look at what workers have reported, and say what is new.  The loss waits until all agents have
 * reported, since the first rank's makes those of the others NaN; end: nothing more will come.
 */
void model_watch_look(struct model_watch *w, struct job_run *r, int64_t now_ns, bool end);

/* Fill in what the present generation has compared. */
void model_watch_fill(const struct job_run *r, struct job_status *s);

/* Add whose model it was to the message of a job that has ended by that. */
void model_watch_end(const struct model_watch *w, struct job_run *r);

#endif
