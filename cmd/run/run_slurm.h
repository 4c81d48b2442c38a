/* SPDX-License-Identifier: Apache-2.0 */
/* run_slurm.h - eddis-run --slurm: a job that Slurm runs, as if it ran here */
#ifndef EDDIS_CMD_RUN_RUN_SLURM_H
#define EDDIS_CMD_RUN_RUN_SLURM_H

#include "cmd/sbatch/sbatch_script.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* Whether it is one job of this cluster, which alone can be followed.  -EINVAL: it is not. */
int run_slurm_check(const struct sbatch_ask *a, struct eddis_error *err);

/* Submit the job and follow it to its end: why it waits on standard error unless quiet, its output
 * on standard output, where its file is seen from this machine.  The first SIGINT or SIGTERM takes
 * it out of the queue or is handed to its driver, which ends it in good order; the second has Slurm
 * end it; one that comes while sbatch does not answer ends the wait for it soon.  Blocks.  Returns
 * the job's exit code; on failure it was not submitted, or, with -ETIMEDOUT, nobody knows.  Before,
 * there must be no thread.
 */
int run_slurm(const struct sbatch_ask *a, bool quiet, struct eddis_error *err);

#endif
