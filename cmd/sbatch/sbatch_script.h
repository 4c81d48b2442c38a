/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_script.h - makes the batch script of a job for Slurm
 *
 * The script has some lines "#SBATCH ..." and one that replaces the shell by eddis-run. Slurm runs
 * a copy of it, so its paths are absolute. It also runs by hand or inside of salloc.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_SCRIPT_H
#define EDDIS_CMD_SBATCH_SBATCH_SCRIPT_H

#include "lib/base/error.h"
#include "lib/model/job.h"

#include <stdint.h>

/* A job to be submitted, and how its script starts it. */
struct sbatch_ask {
    const struct job *job;
    const char *program; /* absolute path of eddis-run */
    char *const *args;   /* arguments of eddis-run, NULL-ended; the job's file is absolute */
    char *const *words;  /* options of sbatch that override the job's own, NULL-ended; NULL: none */
};

/* Check whether the job can run under Slurm. -EINVAL: the error names the file and line of the
 * value.
 */
int sbatch_script_check(const struct sbatch_ask *a, struct eddis_error *err);

/* Return the script's text, which the caller frees; NULL without memory. */
char *sbatch_script_text(const struct sbatch_ask *a);

/* Unset environment variables like SBATCH_PARTITION that would override what the script itself asks
 * for.
 */
void sbatch_script_drop_variables(const struct sbatch_ask *a);

/* Return the number of components of the job in Slurm; 1: it is not heterogeneous. */
size_t sbatch_script_components(const struct job *job);

/* Borrow the value of an sbatch option for component i (from 0): from the command line, else from
 * slurm.extra. ret_where is set to the name of that source. NULL: neither gives it.
 */
const char *sbatch_script_said(const struct sbatch_ask *a, size_t i, const char *name, char letter,
                               const char **ret_where);

/* Return the time limit in ns that applies to component i (from 0): of sbatch's options, else
 * slurm.time, else SBATCH_TIMELIMIT. CLOCK_NEVER: no limit; -1: none is given, or eddis cannot
 * parse it. Write its source to ret_where [size]: "slurm.time is 1h (train.yaml:3)".
 */
int64_t sbatch_script_time_ns(const struct sbatch_ask *a, size_t i, char *ret_where, size_t size);

/* Borrow the partition that applies to component i, from the same sources; NULL: Slurm chooses. */
const char *sbatch_script_partition(const struct sbatch_ask *a, size_t i);

/* Return the number of nodes that the job's file asks for, at least 1. */
int64_t sbatch_script_nodes(const struct job *job);

#endif
