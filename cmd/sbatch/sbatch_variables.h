/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_variables.h - variables by which sbatch takes options, and which hold over a script's
 * lines
 *
 * On sbatch's command line options hold over variables, but not per component: there the time of
 * one component of a heterogeneous job is that of the others, too.  So variables go instead.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_VARIABLES_H
#define EDDIS_CMD_SBATCH_SBATCH_VARIABLES_H

#include <stdbool.h>

/* Whether options of sbatch (NULL-ended; NULL: none) have a say in what this variable is about:
 * "SBATCH_TIMELIMIT", or "SLURM_CLUSTERS", alone or with its value.
 */
bool sbatch_variables_named(char *const *words, const char *variable);

/* Take such variables out of this process's environment. */
void sbatch_variables_drop(char *const *words);

#endif
