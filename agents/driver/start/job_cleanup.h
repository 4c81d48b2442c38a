/* SPDX-License-Identifier: Apache-2.0 */
/* job_cleanup.h - `eddis-run --cleanup`: end what is left of a job on all its nodes */
#ifndef EDDIS_AGENTS_DRIVER_START_JOB_CLEANUP_H
#define EDDIS_AGENTS_DRIVER_START_JOB_CLEANUP_H

#include "host_cleanup.h"

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "lib/slurm/slurm.h"

#include <stdbool.h>

/* End what is left of a job on all nodes that it used.  Reach them by steps of this allocation
 * (NULL: none) if all belong to it, otherwise by ssh.  dead: the driver is known to have ended.
 * Blocks for a minute per node at most.  Return the number of hosts where something may be left;
 * -EBUSY: the job is running; -ENOENT: it never started anything.  The caller ignores SIGPIPE and
 * has no children.
 */
int job_cleanup(const struct job_folder *f, bool dead, const struct slurm_allocation *slurm,
                host_cleanup_say_fn say, void *ctx, struct eddis_error *err);

#endif
