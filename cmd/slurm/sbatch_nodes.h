/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_nodes.h - which nodes of a job's partitions cannot run it now, and may later
 *
 * "sbatch --test-only" refuses in one and the same sentence a job that nothing can run and one that
 * must wait for a node that is drained, down or reserved.
 */
#ifndef EDDIS_CMD_SLURM_SBATCH_NODES_H
#define EDDIS_CMD_SLURM_SBATCH_NODES_H

#include "cmd/slurm/sbatch_script.h"

#include <stddef.h>

/* Ask sinfo for the nodes of the job's partitions.  Blocks.  Returns how many are away, 0 also
 * where sinfo does not answer, and writes the first ones to ret [size]:
 * "node4 is drained (broken fan), node7 is down and 3 more".
 */
int sbatch_nodes_away(const struct sbatch_ask *a, char *ret, size_t size);

#endif
