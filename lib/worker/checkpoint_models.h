/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_models.h - the library's own part of a checkpoint: samples not yet done, and in modes
 * with several models each group's model
 *
 * No lock: only the thread that makes steps calls these functions, without any lock held.
 */
#ifndef EDDIS_WORKER_CHECKPOINT_MODELS_H
#define EDDIS_WORKER_CHECKPOINT_MODELS_H

#include "centre.h"
#include "lib/checkpoint/checkpoint.h"
#include "plan_switch.h"

/* The library's state for one checkpoint; in sync mode, if samples are taken by plan, only `step`.
 * With several models the parameters are the centre until checkpoint_models_release.
 */
struct checkpoint_models {
    int64_t step; /* step of the checkpoint; if `listed`, the step at which sync mode has done as
                   * many samples */
    void *local;  /* copy of this worker's parameters; NULL: they were the centre */
    size_t local_bytes;
    bool listed;        /* the samples not yet done are listed in `left` */
    struct range *left; /* [n_left] samples not done; on rank 0 only */
    size_t n_left;
};

/* Wait until all workers are at a checkpoint, and collect the library's state for it.  Collective.
 * Return 0, EDDIS_ROUND_ENDED, or a negative errno; the caller calls checkpoint_models_release on
 * *ret in any case.
 */
int checkpoint_models_take(struct centre *m, struct checkpoint_models *ret,
                           struct eddis_error *err);

/* Write the collected state to the files.  Return 0 or the failure of checkpoint_put. */
int checkpoint_models_put(const struct centre *m, const struct checkpoint_models *k,
                          struct checkpoint *files, struct eddis_error *err);

/* Give the parameters their values from before checkpoint_models_take, and free the state. */
void checkpoint_models_release(struct centre *m, struct checkpoint_models *k);

/* Check that steps and positions of a checkpoint refer to the same samples in this job (drop_last,
 * min_count).  Return 0; -EINVAL if not; or the failure of checkpoint_get.
 */
int checkpoint_models_check(const struct centre *m, const struct checkpoint *files,
                            struct eddis_error *err);

/* Return 1 if this worker should take what its own rank has put: its group has the same members as
 * in the checkpoint, or, with one model, the checkpoint has a part of this rank.  Return 0 if not,
 * or a negative error.
 */
int checkpoint_models_own(const struct centre *m, const struct checkpoint *files,
                          struct eddis_error *err);

/* Continue with the samples that the checkpoint has left to do, even if this job is at a later
 * step.  Groups with the same members continue with their own models.  *ret_done: samples of the
 * job done before the checkpoint; 0 if its step implies them.  Collective.  Return 0 or a negative
 * errno; -EINVAL: before eddis_commit.
 */
int checkpoint_models_restore(struct centre *m, struct plan_switch *plan_switch,
                              const struct checkpoint *files, int64_t *ret_done,
                              struct eddis_error *err);

#endif
