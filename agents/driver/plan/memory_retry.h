/* SPDX-License-Identifier: Apache-2.0 */
/* memory_retry.h - reduce the workers' memory use after a generation ran out of memory */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MEMORY_RETRY_H
#define EDDIS_AGENTS_DRIVER_PLAN_MEMORY_RETRY_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/history.h"

/* Limit every worker that ran out of memory to half the samples it held at once; report it and
 * store it for the next job too.  f: the failure that ended the generation.  p: its plan (NULL:
 * none); agent [p->n_nodes]: the agents of its nodes.  Return whether there is such a worker.
 */
bool memory_retry(struct history *k, const struct state_failure *f, const struct plan *p,
                  const int *agent);

#endif
