/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_nodes.h - which nodes of a job's partitions cannot run it now, and may later
 *
 * "sbatch --test-only" refuses in one and the same sentence a job that nothing can run and one that
 * must wait for a node that is drained, down or reserved.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_NODES_H
#define EDDIS_CMD_SBATCH_SBATCH_NODES_H

#include "sbatch_script.h"

#include <stddef.h>
#include <stdint.h>

/* Ask sinfo for the nodes of the job's partitions.  Blocks.  Returns how many are away, 0 also
 * where sinfo does not answer, and writes the first ones to ret [size]:
 * "node4 is drained (broken fan), node7 is down and 3 more".
 */
int sbatch_nodes_away(const struct sbatch_ask *a, char *ret, size_t size);

/* Ask sinfo how many processors Slurm gives the least it may of each of these nodes, one core:
 * "node[1-4] in partition main" is a list of names and what follows it.  Blocks.  Returns 0 where
 * sinfo does not answer, and -1 where the nodes have no more than that.
 */
int64_t sbatch_nodes_least(const char *list);

#endif
