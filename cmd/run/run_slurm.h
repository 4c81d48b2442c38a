/* SPDX-License-Identifier: Apache-2.0 */
/* run_slurm.h - eddis-run --slurm: submits a job to Slurm, and follows it as if it ran on this
 * machine
 */
#ifndef EDDIS_CMD_RUN_RUN_SLURM_H
#define EDDIS_CMD_RUN_RUN_SLURM_H

#include "cmd/sbatch/sbatch_script.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* Check that sbatch's options describe one job on this cluster, since only such a job can be
 * followed. Return 0 or -EINVAL.
 */
int run_slurm_check(const struct sbatch_ask *a, struct eddis_error *err);

/* Submit the job, and block until it has ended. Print its output, if the output file can be read on
 * this machine, and, unless quiet, print on standard error why the job waits. The first SIGINT or
 * SIGTERM cancels a pending job, or asks a running job to save and end; the second cancels the job.
 * Return the job's exit code; a negative errno: the job was not submitted, or, with -ETIMEDOUT, may
 * have been submitted. To be called before any thread exists.
 */
int run_slurm(const struct sbatch_ask *a, bool quiet, struct eddis_error *err);

#endif
