/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_refusal.h - why Slurm does not take a job: its words, and what the job asks for */
#ifndef EDDIS_CMD_SBATCH_SBATCH_REFUSAL_H
#define EDDIS_CMD_SBATCH_SBATCH_REFUSAL_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "sbatch_script.h"

/* Returns the last sentence of what sbatch has said, in `said`, which is changed, without what
 * stands before all of them.
 */
const char *sbatch_refusal_sentence(char *said);

/* Fail with that sentence, the place of what was asked for, and what there is.  Asks sinfo, and so
 * blocks.  Returns -EINVAL; -EHOSTDOWN: no controller has looked at the job.
 */
int sbatch_refusal(const struct sbatch_ask *a, char *said, struct eddis_error *err);

/* Append what the job asks of nodes, '; slurm.nodes is 9 (train.yaml:3), --gres is "gpu:4" (command
 * line)'; nothing: by nobody's word.
 */
void sbatch_refusal_add_asked(const struct sbatch_ask *a, struct strbuf *b);

#endif
