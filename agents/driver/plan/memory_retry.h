/* SPDX-License-Identifier: Apache-2.0 */
/* memory_retry.h - reduce the workers' memory use after a generation ran out of memory */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_MEMORY_RETRY_H
#define EDDIS_AGENTS_DRIVER_PLAN_MEMORY_RETRY_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/history.h"
#include "memory_watch.h"

/* Limit every worker that ran out of memory to fewer samples at the same time than it held: to half
 * of them, or to what it held in finished steps if that is more; if its peaks determine a line, to
 * what fits by the line, but at most to four fifths. The planner may raise the limits again to
 * fewer samples than failed, if they cannot hold the batch. Report the limits to the user, and
 * store them for the next job, too. f: the failure that ended the generation. p: the generation's
 * plan (NULL: none). node [p->n_nodes]: the profiles from which it was made. watch: the memory of
 * the plan's workers. Return how many workers were limited; -ENOMEM: a worker ran out of memory
 * with the fewest samples that a plan can give it, and err names it; or the plan did not keep to
 * the limit of an earlier failure; or the job has been restarted with fewer samples too many times,
 * with the limits stored for the next job.
 */
int memory_retry(struct history *k, const struct state_failure *f, const struct plan *p,
                 const struct node_profile *node, struct memory_watch *watch,
                 struct eddis_error *err);

/* Report to the user that plan p, made for the nodes with these profiles, raises limits of workers
 * that ran out of memory, because all limits together cannot hold its batch; nothing if it does
 * not.
 */
void memory_retry_raised(const struct history *k, const struct plan *p,
                         const struct node_profile *node);

/* If failure f, which ends the job, is a lack of memory for a single sample, report which device of
 * how many bytes is too small. The other parameters are those of memory_retry.
 */
void memory_retry_none(const struct history *k, const struct state_failure *f, const struct plan *p,
                       const struct node_profile *node, const struct memory_watch *watch);

#endif
