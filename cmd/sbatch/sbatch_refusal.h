/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_refusal.h - explains why Slurm rejects a job: Slurm's sentence and what the job requests
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_REFUSAL_H
#define EDDIS_CMD_SBATCH_SBATCH_REFUSAL_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "sbatch_script.h"

/* Return the last sentence in `said`, sbatch's output, without the prefixes that sbatch writes
 * before it and without control characters. The result is never NULL and points into `said`, which
 * is changed.
 */
const char *sbatch_refusal_sentence(char *said);

/* Write to err sbatch's last sentence from `said`, the requested values with their file and line,
 * and what the site offers. `said` is changed. Blocks until sinfo answers. Return -EINVAL, or
 * -EHOSTDOWN if no controller answered.
 */
int sbatch_refusal(const struct sbatch_ask *a, char *said, struct eddis_error *err);

/* Append to b the nodes and resources that the job requests, '; slurm.nodes is 9 (train.yaml:3),
 * --gres is "gpu:4" (command line)'. If all keys have their defaults, append nothing.
 */
void sbatch_refusal_add_asked(const struct sbatch_ask *a, struct strbuf *b);

#endif
