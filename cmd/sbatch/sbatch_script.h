/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_script.h - from a job to the script that Slurm is given
 *
 * A few lines "#SBATCH ..." and one that becomes eddis-run.  Slurm runs a copy of it, so that its
 * paths are absolute; by hand, or inside of salloc, it runs as it is.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_SCRIPT_H
#define EDDIS_CMD_SBATCH_SBATCH_SCRIPT_H

#include "lib/base/error.h"
#include "lib/model/job.h"

#include <stdint.h>

struct sbatch_ask {
    const struct job *job;
    const char *program; /* eddis-run, absolute */
    char *const *args;   /* NULL-ended: what it is given; the job's file is absolute */
    char *const *words;  /* NULL-ended: options of sbatch over the job's own; NULL: none */
};

/* Whether the job can be one of Slurm's.  -EINVAL: the sentence tells where the value was given. */
int sbatch_script_check(const struct sbatch_ask *a, struct eddis_error *err);

/* Returns the script's text, or NULL without memory. */
char *sbatch_script_text(const struct sbatch_ask *a);

/* Take variables like SBATCH_PARTITION, which hold over a script's lines, out of the environment
 * where the script asks for that itself.
 */
void sbatch_script_drop_variables(const struct sbatch_ask *a);

/* How many components the job has as one of Slurm's; 1: it is not heterogeneous. */
size_t sbatch_script_components(const struct job *job);

/* Returns the value of an option of sbatch for component i, from 0, of the command line or else of
 * slurm.extra, which ret_where names; NULL: it is given by neither.
 */
const char *sbatch_script_said(const struct sbatch_ask *a, size_t i, const char *name, char letter,
                               const char **ret_where);

/* The time that is asked for component i, from 0, by whoever has the last word, and where;
 * CLOCK_NEVER: no limit; -1: nobody asks, or it is written in a way that only Slurm reads.
 * ret_where [size] is "slurm.time is 1h (train.yaml:3)".
 */
int64_t sbatch_script_time_ns(const struct sbatch_ask *a, size_t i, char *ret_where, size_t size);

/* The partition of component i in the same way; NULL: Slurm chooses. */
const char *sbatch_script_partition(const struct sbatch_ask *a, size_t i);

/* How long before its end the job is told to save: what the last checkpoint and the workers'
 * orderly end may take, in whole seconds.
 */
int64_t sbatch_script_warning_s(const struct job *job);

/* How many nodes the job's file asks for. */
int64_t sbatch_script_nodes(const struct job *job);

#endif
