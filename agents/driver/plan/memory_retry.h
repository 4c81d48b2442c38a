/* SPDX-License-Identifier: Apache-2.0 */
/* memory_retry.h - reduce the workers' memory use after a generation ran out of memory */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MEMORY_RETRY_H
#define EDDIS_AGENTS_DRIVER_PLAN_MEMORY_RETRY_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/history.h"

/* Limit every worker that ran out of memory to half of the samples that it held at the same time.
 * Report the limits to the user, and store them for the next job, too. f: the failure that ended
 * the generation. p: the generation's plan (NULL: none). agent [p->n_nodes]: the agents of the
 * plan's nodes. Return whether a worker was limited.
 */
bool memory_retry(struct history *k, const struct state_failure *f, const struct plan *p,
                  const int *agent);

#endif
