/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_script.h - from a job to the script that Slurm is given
 *
 * A few lines "#SBATCH ..." and one that becomes eddis-run.  Slurm runs a copy of it, so that its
 * paths are absolute; by hand, or inside of salloc, it runs as it is.
 */
#ifndef EDDIS_CMD_SBATCH_SCRIPT_H
#define EDDIS_CMD_SBATCH_SCRIPT_H

#include "lib/base/error.h"
#include "lib/model/job.h"

#include <stdint.h>

struct sbatch_ask {
    const struct job *job;
    const char *program; /* eddis-run, absolute */
    const char *file;    /* the job's, absolute */
    char *const *set;    /* NULL-ended "KEY=VALUE" that eddis-run is given; NULL: none */
    char *const *words;  /* NULL-ended: options of sbatch over the job's own; NULL: none */
};

/* Whether the job can be one of Slurm's.  -EINVAL: the sentence tells where the value was given. */
int sbatch_script_check(const struct sbatch_ask *a, struct eddis_error *err);

/* Returns the script's text, or NULL without memory. */
char *sbatch_script_text(const struct sbatch_ask *a);

/* How long before its end the job is told to save: what the last checkpoint and the workers'
 * orderly end may take, in whole seconds.
 */
int64_t sbatch_script_warning_s(const struct job *job);

/* How many nodes the job's file asks for. */
int64_t sbatch_script_nodes(const struct job *job);

#endif
