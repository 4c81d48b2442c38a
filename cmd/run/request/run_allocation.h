/* SPDX-License-Identifier: Apache-2.0 */
/* run_allocation.h - nodes of a job that runs inside a Slurm allocation */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_ALLOCATION_H
#define EDDIS_CMD_RUN_REQUEST_RUN_ALLOCATION_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/slurm/slurm.h"

#include <stdbool.h>

/* Read from the environment the allocation in which this process runs, into *ret, which the caller
 * frees with slurm_allocation_free; NULL: there is no allocation. If the job names no nodes, or was
 * resumed and its file names those of an earlier run, set its nodes to those of the allocation.
 * Return 0; -EINVAL: the job names a node that is not in the allocation; or another negative errno.
 */
int run_allocation(struct job *job, bool resumed, struct slurm_allocation **ret,
                   struct eddis_error *err);

/* Return the allocation a, borrowed, if agents are started by steps of Slurm: slurm.launch is srun,
 * or is not ssh and srun is installed. Return NULL if agents are started by ssh.
 */
const struct slurm_allocation *run_allocation_of_starts(const struct job *job,
                                                        const struct slurm_allocation *a);

#endif
