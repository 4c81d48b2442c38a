/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_variables.h - environment variables of sbatch, which override the lines of a script
 *
 * Options on sbatch's command line override these variables, but they cannot differ between the
 * components of a heterogeneous job: a time limit on the command line applies to all components.
 * Therefore eddis unsets the variables instead.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_VARIABLES_H
#define EDDIS_CMD_SBATCH_SBATCH_VARIABLES_H

#include <stdbool.h>

/* Check whether one of the sbatch options in words (NULL-ended; NULL: none) has the same meaning as
 * a variable. variable: "SBATCH_TIMELIMIT" or "SLURM_CLUSTERS", with or without "=value".
 */
bool sbatch_variables_named(char *const *words, const char *variable);

/* Unset each variable in this process's environment that has the same meaning as one of the sbatch
 * options in words (NULL-ended).
 */
void sbatch_variables_drop(char *const *words);

#endif
