/* SPDX-License-Identifier: Apache-2.0 */
/* run_batch.h - continues a job when Slurm starts its batch script again */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_BATCH_H
#define EDDIS_CMD_RUN_REQUEST_RUN_BATCH_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/slurm/slurm_batch.h"

#include <stdbool.h>

/* If slurm.requeue is on and this process runs in a batch script, describe this start of the job in
 * *ret, set checkpoint.resume to the checkpoints of the earlier starts, and return 1; if a restart
 * finds no checkpoints, warn on standard error. Otherwise return 0. -EINVAL: checkpoint.dir is not
 * set, or a first start finds checkpoints.
 */
int run_batch(struct job *job, struct slurm_batch *ret, struct eddis_error *err);

/* Check whether this process is a descendant of a batch script that SIGTERM ends, or may end. With
 * control groups, Slurm signals only the script, and kills all other processes when the script has
 * ended.
 */
bool run_batch_is_exposed(void);

/* Check whether this start of the job has saved a checkpoint that is newer than those that the
 * start found.
 */
bool run_batch_advanced(const struct job *job, const struct slurm_batch *b);

/* Store in *ret the path of the job's folder for this start, which the caller frees: job_dir
 * (--job-dir), to which each restart appends its number; NULL if job_dir is NULL. Return 0 or a
 * negative errno.
 */
int run_batch_folder(const struct slurm_batch *b, const char *job_dir, char **ret,
                     struct eddis_error *err);

#endif
