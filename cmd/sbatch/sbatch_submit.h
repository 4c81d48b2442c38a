/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_submit.h - submits a job's script to Slurm, or reports why Slurm rejects it
 *
 * sbatch reads the script from its standard input, so no temporary file can be left behind. Each of
 * these functions blocks for as long as Slurm's controller takes to answer.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_SUBMIT_H
#define EDDIS_CMD_SBATCH_SBATCH_SUBMIT_H

#include "lib/base/error.h"
#include "sbatch_script.h"

#include <stdbool.h>

/* Ask Slurm by "sbatch --test-only" whether it could ever run the job. Return 0 and its answer "Job
 * 7 to start at ..." in *ret; or 1 and why the job cannot start now, because nodes are down,
 * drained or reserved: then only sbatch_submit finds out. The caller frees *ret. Errors contain
 * Slurm's sentence and what the job asks for; -ENOENT: there is no sbatch.
 */
int sbatch_submit_test(const struct sbatch_ask *a, const char *script, char **ret,
                       struct eddis_error *err);

/* Check whether Slurm gives the job only one core or one processor of each node, which all workers
 * of the node would share. That is Slurm's default if nobody asks for more. said: the answer of
 * sbatch_submit_test. Block to ask sinfo for the processors of a core.
 */
bool sbatch_submit_is_narrow(const struct sbatch_ask *a, const char *said);

/* Warning about such a job. */
extern const char sbatch_submit_narrow[];

/* Submit the job, and call got(ctx, id, cluster) with its number and cluster (or "") when Slurm has
 * accepted it. Return sbatch's exit code, with --wait the job's. doubtful: sbatch_submit_test
 * returned 1; a job that can never start is cancelled, and -EINVAL returned. Block until there is a
 * number, ten minutes at most, but ten seconds if SIGINT, SIGTERM or SIGHUP is blocked and pending.
 * Then sbatch is killed: -ETIMEDOUT.
 */
int sbatch_submit(const struct sbatch_ask *a, const char *script, bool doubtful,
                  void (*got)(void *ctx, const char *id, const char *cluster), void *ctx,
                  struct eddis_error *err);

#endif
