/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - computes how many samples each worker of a plan may get: limits are set by the job, by
 * measured memory, and by the largest batch whose time is known
 */
#ifndef EDDIS_SCHEDULER_LIMITS_H
#define EDDIS_SCHEDULER_LIMITS_H

#include "planner.h"
#include "split.h"

/* Fill in max and piece of each worker, and whether the program takes micro-batches, from the
 * workers' nodes [p->n_nodes] and earlier measurements: of the worker, or of the program on cards
 * of the same name. If all workers have GPUs, one without measurements is bounded by its part of
 * all GPUs' memory. Return 0 or -ENOMEM.
 */
int limits_use(const struct job *job, const struct node_profile *nodes,
               const struct planner_history *history, struct plan *p, struct eddis_error *err);

/* Fill w [n_workers] with the workers' times and the minimum and maximum samples of each. The
 * minimum is batch.min, or min_count if larger, as a multiple of grain. The maximum is most
 * [n_workers], from measured memory (NULL: that of the plan). A worker whose maximum is below
 * min_count gets no samples. If min_count for every worker exceeds the global batch, the slowest
 * workers get no samples. If that is impossible, as for groups with models of their own, min_count
 * is ignored.
 */
void limits_bounds(const struct job *job, const struct plan *p, int64_t min_count,
                   const int64_t *most, struct split_worker *w);

/* Return the maximum samples of worker `rank` in any plan with these workers; INT64_MAX: no bound.
 */
int64_t limits_most(const struct plan *p, int rank);

/* Prefix the message in err with the position where the job sets `key`, as in "train.yaml:7: "; if
 * `key` has its default value, use the position of `other`. Return rc.
 */
int limits_place(const struct job *job, const char *key, const char *other, int rc,
                 struct eddis_error *err);

/* Fill w [n_workers] with the times and bounds of the plan's workers. Return 0; -EINVAL: the global
 * batch does not fit these bounds, and err names the keys of train.yaml.
 */
int limits_fill(const struct job *job, const struct plan *p, struct split_worker *w,
                struct eddis_error *err);

#endif
