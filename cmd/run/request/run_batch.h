/* SPDX-License-Identifier: Apache-2.0 */
/* run_batch.h - a job that goes on where it was when Slurm starts its batch script again */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_BATCH_H
#define EDDIS_CMD_RUN_REQUEST_RUN_BATCH_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/slurm_batch.h"

#include <stdbool.h>

/* Where slurm.requeue is on and this is a batch script: find out which start of which job it is,
 * and set checkpoint.resume to what it goes on from; a start that should, and cannot, says so on
 * standard error.  Returns 1, or 0: there is nothing to go on with.
 * -EINVAL: checkpoint.dir is not named, or a first start finds checkpoints of somebody else.
 */
int run_batch(struct job *job, struct slurm_batch *ret, struct eddis_error *err);

/* Whether this process runs below a batch script of Slurm's that SIGTERM ends, or may end where a
 * trap for its EXIT hides that: with control groups Slurm sends its signals to the script alone,
 * and kills the rest when it is gone.
 */
bool run_batch_is_exposed(void);

/* Whether this start has saved something newer than what it found. */
bool run_batch_advanced(const struct job *job, const struct slurm_batch *b);

/* Each start has a job folder of its own: write which, where --job-dir asks for this one; NULL: for
 * none.  The caller frees *ret.
 */
int run_batch_folder(const struct slurm_batch *b, const char *job_dir, char **ret,
                     struct eddis_error *err);

#endif
