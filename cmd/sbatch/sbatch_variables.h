/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_variables.h - environment variables of sbatch, which override the lines of a script
 *
 * Options on sbatch's command line override these variables, but they cannot differ between the
 * components of a heterogeneous job: a time limit given there applies to all of them. eddis
 * therefore unsets the variables instead.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_VARIABLES_H
#define EDDIS_CMD_SBATCH_SBATCH_VARIABLES_H

#include <stdbool.h>

/* Check whether one of these sbatch options sets the same thing as a variable. words: NULL-ended;
 * NULL: none. variable: "SBATCH_TIMELIMIT" or "SLURM_CLUSTERS", with or without "=value".
 */
bool sbatch_variables_named(char *const *words, const char *variable);

/* Unset each variable in this process's environment that one of these options replaces. */
void sbatch_variables_drop(char *const *words);

#endif
