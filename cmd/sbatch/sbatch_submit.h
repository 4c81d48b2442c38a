/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_submit.h - a script on its way into Slurm's queue, or why it is not taken
 *
 * sbatch reads the script from its standard input: there is no file that could be left.  All of
 * this blocks, for as long as Slurm's controller takes to answer.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_SUBMIT_H
#define EDDIS_CMD_SBATCH_SBATCH_SUBMIT_H

#include "lib/base/error.h"
#include "sbatch_script.h"

#include <stdbool.h>
#include <stddef.h>

/* Ask Slurm whether it could run the job at all, which its queue would tell only by never starting
 * it.  Returns 0 and what it says, "Job 7 to start at ..."; or 1 and why it cannot start the job
 * now, when nodes are drained, down or reserved: then sbatch_submit alone tells whether it ever
 * can.  On failure the sentence has Slurm's, and what the job asks for with its place; -ENOENT:
 * there is no sbatch.
 */
int sbatch_submit_test(const struct sbatch_ask *a, const char *script, char **ret,
                       struct eddis_error *err);

/* Whether Slurm gives the job one processor, or core, of each node, as its own default is where
 * nobody asks for more: said is what sbatch_submit_test has returned.  The workers of a node would
 * share it.  Blocks: sinfo tells how many processors a core is.
 */
bool sbatch_submit_is_narrow(const struct sbatch_ask *a, const char *said);

/* What to say of such a job. */
extern const char sbatch_submit_narrow[];

/* Put it into the queue and call got(ctx, id, cluster) when Slurm has taken it, with its number as
 * text, and a cluster or "".  doubtful: sbatch_submit_test returned 1; a job that Slurm takes and
 * never starts is removed from the queue, which is -EINVAL as a refusal.  Returns sbatch's exit
 * code, which with --wait is the job's, then; the job is in the queue whatever the code.  Blocks,
 * for ten minutes at most until there is a number; a caller that has blocked SIGINT, SIGTERM or
 * SIGHUP, one of which is pending, waits for ten seconds more, and then sbatch is killed.
 * -ETIMEDOUT: it was, before it told a number.
 */
int sbatch_submit(const struct sbatch_ask *a, const char *script, bool doubtful,
                  void (*got)(void *ctx, const char *id, const char *cluster), void *ctx,
                  struct eddis_error *err);

#endif
