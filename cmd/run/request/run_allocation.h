/* SPDX-License-Identifier: Apache-2.0 */
/* run_allocation.h - nodes of a job that runs inside a Slurm allocation */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_ALLOCATION_H
#define EDDIS_CMD_RUN_REQUEST_RUN_ALLOCATION_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/slurm/slurm.h"

#include <stdbool.h>

/* Read the allocation that this process runs in from the environment. Give the job its nodes if it
 * names none, or if it was resumed and its file names those of an earlier run. *ret: for
 * slurm_allocation_free; NULL: no allocation. -EINVAL: the job names a node that is not in it.
 */
int run_allocation(struct job *job, bool resumed, struct slurm_allocation **ret,
                   struct eddis_error *err);

/* Borrow the allocation if agents are started by steps of Slurm's: slurm.launch is srun, or is not
 * ssh and there is an srun. NULL: they are started by ssh.
 */
const struct slurm_allocation *run_allocation_of_starts(const struct job *job,
                                                        const struct slurm_allocation *a);

#endif
