/* SPDX-License-Identifier: Apache-2.0 */
/* memory_retry.h - what a generation that ended for lack of memory teaches its successor */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MEMORY_RETRY_H
#define EDDIS_AGENTS_DRIVER_PLAN_MEMORY_RETRY_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/history.h"

/* Bound each worker that had no memory for what it held at once to half of it, say so, and keep
 * that for the next job, too; p is the plan of the generation that ended by this failure, NULL: it
 * had none, and agent [p->n_nodes] its nodes'.  Returns whether there is such a worker.
 */
bool less_memory(struct known *k, const struct state_failure *f, const struct plan *p,
                 const int *agent);

#endif
