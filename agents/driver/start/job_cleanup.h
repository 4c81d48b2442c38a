/* SPDX-License-Identifier: Apache-2.0 */
/* job_cleanup.h - eddis-run --cleanup: end what is left of a job on all its nodes */
#ifndef EDDIS_AGENTS_DRIVER_START_JOB_CLEANUP_H
#define EDDIS_AGENTS_DRIVER_START_JOB_CLEANUP_H

#include "host_cleanup.h"

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "lib/model/slurm.h"

#include <stdbool.h>

/* Go to all nodes that the job has been on and end what is there: by steps of this allocation
 * (NULL: none) if all are of it, else by ssh.  dead: its driver is known to be gone.  Blocks, a
 * minute a node at most.  Returns the number of hosts where something may be left.  -EBUSY: the job
 * is running; -ENOENT: it never started anything.  The caller ignores SIGPIPE and has no children.
 */
int job_cleanup(const struct job_folder *f, bool dead, const struct slurm_allocation *slurm,
                host_cleanup_say_fn say, void *ctx, struct eddis_error *err);

#endif
