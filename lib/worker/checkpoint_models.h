/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_models.h - what a checkpoint holds besides the program's files: samples that are left,
 * and in the modes with several models each group's own
 *
 * No lock: the thread that makes steps uses it, without any lock held.
 */
#ifndef EDDIS_WORKER_CHECKPOINT_MODELS_H
#define EDDIS_WORKER_CHECKPOINT_MODELS_H

#include "centre.h"
#include "lib/checkpoint/checkpoint.h"
#include "replan.h"

/* What one checkpoint keeps; nothing but the step in sync mode by plan.  With several models the
 * centre is in the place of the parameters until checkpoint_models_release.
 */
struct checkpoint_models {
    int64_t step; /* where samples are listed the one of sync mode with as many done */
    void *local;  /* this worker's own parameters; NULL: they were the centre */
    size_t local_bytes;
    bool listed;        /* samples are left by a list */
    struct range *left; /* [n_left] samples that were not done, rank 0 */
    size_t n_left;
};

/* Wait until all workers are at a checkpoint, and keep what belongs to it.  Collective. */
int checkpoint_models_take(struct centre *m, struct checkpoint_models *ret,
                           struct eddis_error *err);

/* Write what was kept to the files; give the parameters back and free it. */
int checkpoint_models_put(const struct centre *m, const struct checkpoint_models *k,
                          struct checkpoint *files, struct eddis_error *err);
void checkpoint_models_release(struct centre *m, struct checkpoint_models *k);

/* Whether steps and positions of a checkpoint mean the same samples in this job: -EINVAL. */
int checkpoint_models_check(const struct centre *m, const struct checkpoint *files,
                            struct eddis_error *err);

/* Whether what this rank has put is for it: its group has the same members and goes on with its own
 * values, or with one model there was such a rank.  Returns 1 or 0.
 */
int checkpoint_models_own(const struct centre *m, const struct checkpoint *files,
                          struct eddis_error *err);

/* Go on with the samples that are left and, where groups are as they were, with their own models,
 * also from a later step.  *ret_done: samples of the job done before; 0 where the step tells it.
 * Collective.
 */
int checkpoint_models_restore(struct centre *m, struct replan *replan,
                              const struct checkpoint *files, int64_t *ret_done,
                              struct eddis_error *err);

#endif
