/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how many samples each worker of a plan may get: by the job, by measured memory, and by
 * how well its time is known
 */
#ifndef EDDIS_SCHEDULER_LIMITS_H
#define EDDIS_SCHEDULER_LIMITS_H

#include "planner.h"
#include "split.h"

/* Fill in max and piece of each worker, and whether the program takes micro-batches, from the
 * workers' nodes [p->n_nodes] and earlier measurements. -ENOMEM.
 */
int limits_use(const struct job *job, const struct node_profile *nodes,
               const struct planner_history *history, struct plan *p, struct eddis_error *err);

/* Fill w [n_workers] with the workers' times and the least and most samples of each. The least is
 * batch.min, or min_count if larger, in whole grains. The most is most [n_workers], from measured
 * memory (NULL: the plan's). A worker that may not take min_count gets none. If min_count for each
 * exceeds the global batch, the slowest get none. If that is impossible, as for groups with models
 * of their own, min_count is ignored.
 */
void limits_bounds(const struct job *job, const struct plan *p, int64_t min_count,
                   const int64_t *most, struct split_worker *w);

/* Return the most samples of a worker in any plan with these workers; INT64_MAX: no bound. */
int64_t limits_most(const struct plan *p, int rank);

/* Prefix the error in err with the place where the job sets `key`, or `other` if key is a default,
 * as in "train.yaml:7: ". Return rc.
 */
int limits_place(const struct job *job, const char *key, const char *other, int rc,
                 struct eddis_error *err);

/* Fill w [n_workers] with the workers' times and bounds. -EINVAL: they cannot hold the batch; the
 * error names keys of train.yaml.
 */
int limits_fill(const struct job *job, const struct plan *p, struct split_worker *w,
                struct eddis_error *err);

#endif
