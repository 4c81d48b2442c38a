/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_nodes.h - counts nodes that cannot run a job now but may later
 *
 * "sbatch --test-only" rejects with the same sentence a job that no node can ever run, and one that
 * must wait for a node that is drained, down or reserved.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_NODES_H
#define EDDIS_CMD_SBATCH_SBATCH_NODES_H

#include "sbatch_script.h"

#include <stddef.h>
#include <stdint.h>

/* Ask sinfo how many nodes of the job's partitions are unavailable, and return the number; 0 if
 * sinfo does not answer. Write the first ones to ret [size]: "node4 is drained (broken fan), node7
 * is down and 3 more". Block until sinfo ends.
 */
int sbatch_nodes_away(const struct sbatch_ask *a, char *ret, size_t size);

/* Ask sinfo how many processors one core on each of these nodes has in total: the least that Slurm
 * gives a job. list: "node[1-4]", optionally followed by a blank and other text. Return 0 if sinfo
 * does not answer, -1 if the nodes have only one core each. Block until sinfo ends.
 */
int64_t sbatch_nodes_least(const char *list);

#endif
