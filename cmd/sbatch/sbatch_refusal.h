/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_refusal.h - explains why Slurm rejects a job: its sentence and what the job asks for */
#ifndef EDDIS_CMD_SBATCH_SBATCH_REFUSAL_H
#define EDDIS_CMD_SBATCH_SBATCH_REFUSAL_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "sbatch_script.h"

/* Borrow the last sentence in sbatch's output `said`, without sbatch's prefixes. `said` is changed.
 */
const char *sbatch_refusal_sentence(char *said);

/* Fail with sbatch's last sentence, the requested values with their file and line, and what the
 * site offers. Block to ask sinfo. Change `said`. Return -EINVAL; -EHOSTDOWN: no controller
 * answered.
 */
int sbatch_refusal(const struct sbatch_ask *a, char *said, struct eddis_error *err);

/* Append the nodes and resources that the job asks for, '; slurm.nodes is 9 (train.yaml:3), --gres
 * is "gpu:4" (command line)'. Append nothing if all keys have their defaults.
 */
void sbatch_refusal_add_asked(const struct sbatch_ask *a, struct strbuf *b);

#endif
