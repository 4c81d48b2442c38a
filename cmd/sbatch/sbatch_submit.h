/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_submit.h - submits a job's script to Slurm, or reports why Slurm rejects it
 *
 * sbatch reads the script from its standard input, so no temporary file can remain. Each of these
 * functions blocks until Slurm's controller answers.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_SUBMIT_H
#define EDDIS_CMD_SBATCH_SBATCH_SUBMIT_H

#include "lib/base/error.h"
#include "sbatch_script.h"

#include <stdbool.h>

/* Ask Slurm by "sbatch --test-only" whether it could ever run the job. Return 0, with Slurm's
 * answer "Job 7 to start at ..." in *ret. Return 1, with the reason in *ret, if the job cannot
 * start now because nodes are down, drained or reserved; then only sbatch_submit shows whether it
 * can ever run. The caller frees *ret. Otherwise return a negative errno, and err has Slurm's
 * sentence and what the job requests; -ENOENT: there is no sbatch.
 */
int sbatch_submit_test(const struct sbatch_ask *a, const char *script, char **ret,
                       struct eddis_error *err);

/* Check whether Slurm gives the job only one core or one processor of each node, which all workers
 * of the node would share. This is Slurm's default if the job requests no processors. said: the
 * answer in *ret of sbatch_submit_test. Blocks until sinfo answers how many processors a core has.
 */
bool sbatch_submit_is_narrow(const struct sbatch_ask *a, const char *said);

/* Warning about a job for which sbatch_submit_is_narrow is true */
extern const char sbatch_submit_narrow[];

/* Submit the job. When Slurm has accepted it, call got(ctx, id, cluster) with its number and its
 * cluster ("": unknown). Return sbatch's exit code, which with --wait is that of the job. doubtful:
 * sbatch_submit_test returned 1; if the job can never start, cancel it and return -EINVAL. Block
 * until Slurm gives a number, but at most ten minutes, or ten seconds if SIGINT, SIGTERM or SIGHUP
 * is blocked and pending; then kill sbatch and return -ETIMEDOUT.
 */
int sbatch_submit(const struct sbatch_ask *a, const char *script, bool doubtful,
                  void (*got)(void *ctx, const char *id, const char *cluster), void *ctx,
                  struct eddis_error *err);

#endif
