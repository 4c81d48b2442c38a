/* SPDX-License-Identifier: Apache-2.0 */
/* run_slurm.h - eddis-run --slurm: has Slurm run a job, and follows it as if it ran here */
#ifndef EDDIS_CMD_RUN_RUN_SLURM_H
#define EDDIS_CMD_RUN_RUN_SLURM_H

#include "cmd/sbatch/sbatch_script.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* Check that sbatch's options make one job on this cluster, since only such a job can be followed.
 * -EINVAL: they do not.
 */
int run_slurm_check(const struct sbatch_ask *a, struct eddis_error *err);

/* Submit the job and follow it to its end. Print its output, if its file can be read here, and on
 * standard error why it waits, unless quiet. The first SIGINT or SIGTERM cancels a pending job, or
 * asks a running one to save and end; the second cancels it. Block. Return the job's exit code; on
 * failure it was not submitted, or, with -ETIMEDOUT, may have been. Call it before any thread
 * exists.
 */
int run_slurm(const struct sbatch_ask *a, bool quiet, struct eddis_error *err);

#endif
