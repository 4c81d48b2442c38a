/* SPDX-License-Identifier: Apache-2.0 */
/* job_cleanup.h - `eddis-run --cleanup`: end and remove what remains of a job on all its nodes */
#ifndef EDDIS_AGENTS_DRIVER_START_JOB_CLEANUP_H
#define EDDIS_AGENTS_DRIVER_START_JOB_CLEANUP_H

#include "host_cleanup.h"

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "lib/slurm/slurm.h"

#include <stdbool.h>

/* End the processes and remove the files that remain of a job on all nodes that it used. If all
 * these nodes belong to the allocation slurm (NULL: none), reach them by steps in it, otherwise by
 * ssh. dead: the driver is known to have ended. Blocks for at most a minute per node. Return the
 * number of hosts where something may remain; -EBUSY: the job is running; -ENOENT: the job started
 * no agent; or another negative errno. The caller must ignore SIGPIPE and have no child processes.
 */
int job_cleanup(const struct job_folder *f, bool dead, const struct slurm_allocation *slurm,
                host_cleanup_say_fn say, void *ctx, struct eddis_error *err);

#endif
