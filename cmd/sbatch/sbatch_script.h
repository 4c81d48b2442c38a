/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_script.h - makes the batch script of a job for Slurm
 *
 * The script has some lines "#SBATCH ..." and a line that replaces the shell by eddis-run. Slurm
 * runs a copy of the script, so its paths are absolute. The script can also be run by hand or
 * inside of salloc.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_SCRIPT_H
#define EDDIS_CMD_SBATCH_SBATCH_SCRIPT_H

#include "lib/base/error.h"
#include "lib/model/job.h"

#include <stdint.h>

/* A job to be submitted, and how its script starts the job */
struct sbatch_ask {
    const struct job *job;
    const char *program; /* absolute path of eddis-run */
    /* arguments of eddis-run, NULL-ended; the path of the job's file is absolute */
    char *const *args;
    /* options of sbatch that override those of the job, NULL-ended; NULL: none */
    char *const *words;
};

/* Check whether the job can run under Slurm. Return 0 or -EINVAL; err names the file and line of
 * the wrong value.
 */
int sbatch_script_check(const struct sbatch_ask *a, struct eddis_error *err);

/* Return the script's text, which the caller frees; NULL without memory. */
char *sbatch_script_text(const struct sbatch_ask *a);

/* Unset environment variables like SBATCH_PARTITION that would override what the script itself
 * requests.
 */
void sbatch_script_drop_variables(const struct sbatch_ask *a);

/* Return the number of components of the job in Slurm; 1: it is not heterogeneous. */
size_t sbatch_script_components(const struct job *job);

/* Return the value of an sbatch option for component i (from 0), borrowed: from the command line,
 * otherwise from slurm.extra. Set *ret_where to the name of this source. NULL: neither source has
 * the option.
 */
const char *sbatch_script_said(const struct sbatch_ask *a, size_t i, const char *name, char letter,
                               const char **ret_where);

/* Return the time limit in ns that applies to component i (from 0): that of sbatch's options,
 * otherwise slurm.time, otherwise SBATCH_TIMELIMIT. CLOCK_NEVER: no limit; -1: no limit is given,
 * or eddis cannot parse it. Write the source of the limit to ret_where [size]: "slurm.time is 1h
 * (train.yaml:3)".
 */
int64_t sbatch_script_time_ns(const struct sbatch_ask *a, size_t i, char *ret_where, size_t size);

/* Return the partition that applies to component i, borrowed: that of sbatch's options, otherwise
 * of the job's keys, otherwise SBATCH_PARTITION; NULL: Slurm chooses.
 */
const char *sbatch_script_partition(const struct sbatch_ask *a, size_t i);

/* Return the number of nodes that the job's file asks for, at least 1. */
int64_t sbatch_script_nodes(const struct job *job);

#endif
