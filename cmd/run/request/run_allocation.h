/* SPDX-License-Identifier: Apache-2.0 */
/* run_allocation.h - the nodes of a job that runs inside a Slurm allocation */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_ALLOCATION_H
#define EDDIS_CMD_RUN_REQUEST_RUN_ALLOCATION_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/slurm.h"

#include <stdbool.h>

/* Find the allocation that this process is in, from the environment, and give the job its nodes
 * where it names none, or where resumed says that those it names are of an earlier run.  *ret is
 * for slurm_allocation_free; NULL: there is none.  -EINVAL: the job names a node that is not in it.
 */
int run_allocation(struct job *job, bool resumed, struct slurm_allocation **ret,
                   struct eddis_error *err);

/* Borrow the allocation if agents are to be started by steps of it, by slurm.launch; NULL: by ssh,
 * as on any other nodes.
 */
const struct slurm_allocation *run_allocation_of_starts(const struct job *job,
                                                        const struct slurm_allocation *a);

#endif
