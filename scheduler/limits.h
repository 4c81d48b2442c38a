/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how many samples each worker of a plan may get: by the job, by what its memory was
 * seen to hold, and by how far its time is known
 */
#ifndef EDDIS_SCHEDULER_LIMITS_H
#define EDDIS_SCHEDULER_LIMITS_H

#include "planner.h"
#include "split.h"

/* Fill in what the workers' nodes [p->n_nodes] and what is known (may be NULL) say: max and piece
 * of each, and whether the program takes pieces.  -ENOMEM.
 */
int limits_use(const struct job *job, const struct node_profile *nodes,
               const struct planner_known *known, struct plan *p, struct eddis_error *err);

/* Fill w [n_workers] with the times of a plan's workers and the fewest and most samples of each:
 * batch.min, or min_count where that is more, in whole grains, and no more than most [n_workers],
 * by measured memory (NULL: as the plan says).  Who may not take min_count gets none, and where so
 * many for each are more than the global batch the slowest get none; where that cannot be either,
 * as of groups with models of their own, min_count is passed over.
 */
void limits_bounds(const struct job *job, const struct plan *p, int64_t min_count,
                   const int64_t *most, struct split_worker *w);

/* Most samples of a worker in any plan like this; INT64_MAX: any number. */
int64_t limits_most(const struct plan *p, int rank);

/* Put the place where the job has this key, or where that is a default the other one, before the
 * sentence in err, as in "train.yaml:7: ".  Returns rc.
 */
int limits_place(const struct job *job, const char *key, const char *other, int rc,
                 struct eddis_error *err);

/* Fill w [n_workers] with the workers' times and limits.  -EINVAL: they cannot hold the batch, in
 * the words of train.yaml.
 */
int limits_fill(const struct job *job, const struct plan *p, struct split_worker *w,
                struct eddis_error *err);

#endif
