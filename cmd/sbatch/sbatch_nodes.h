/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_nodes.h - counts nodes that cannot run a job now but may run it later
 *
 * For a job that no node can ever run, and for a job that must wait for a node that is drained,
 * down or reserved, "sbatch --test-only" prints the same sentence.
 */
#ifndef EDDIS_CMD_SBATCH_SBATCH_NODES_H
#define EDDIS_CMD_SBATCH_SBATCH_NODES_H

#include "sbatch_script.h"

#include <stddef.h>
#include <stdint.h>

/* Return how many nodes of the job's partitions are unavailable, according to sinfo; 0 if sinfo
 * does not answer. Write the first of these nodes to ret [size]: "node4 is drained (broken fan),
 * node7 is down and 3 more". Blocks until sinfo ends.
 */
int sbatch_nodes_away(const struct sbatch_ask *a, char *ret, size_t size);

/* Return how many processors (hardware threads) one core on each of these nodes has in total,
 * according to sinfo: the minimum that Slurm gives a job. list: "node[1-4]", optionally followed by
 * a blank and other text. Return 0 if sinfo does not answer, -1 if each node has only one core.
 * Blocks until sinfo ends.
 */
int64_t sbatch_nodes_least(const char *list);

#endif
