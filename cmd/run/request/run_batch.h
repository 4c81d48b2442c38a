/* SPDX-License-Identifier: Apache-2.0 */
/* run_batch.h - continues a job when Slurm starts its batch script again */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_BATCH_H
#define EDDIS_CMD_RUN_REQUEST_RUN_BATCH_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/slurm/slurm_batch.h"

#include <stdbool.h>

/* If slurm.requeue is on in a batch script, describe this start of the job in *ret, and set
 * checkpoint.resume to the checkpoints of the earlier starts. Warn on standard error if a restart
 * finds none. Return 1; 0: not such a job. -EINVAL: checkpoint.dir is not set, or a first start
 * finds checkpoints.
 */
int run_batch(struct job *job, struct slurm_batch *ret, struct eddis_error *err);

/* Check whether this process runs below a batch script that SIGTERM ends, or may end. With control
 * groups, Slurm signals only the script, and kills everything else once the script has ended.
 */
bool run_batch_is_exposed(void);

/* Check whether this start has saved a checkpoint newer than those that it found. */
bool run_batch_advanced(const struct job *job, const struct slurm_batch *b);

/* Write the path of the job's folder for this start to *ret, which the caller frees: each restart
 * adds its number to --job-dir. NULL: job_dir is NULL.
 */
int run_batch_folder(const struct slurm_batch *b, const char *job_dir, char **ret,
                     struct eddis_error *err);

#endif
