/* SPDX-License-Identifier: Apache-2.0 */
/* run_cleanup.h - eddis-run --cleanup: one line for each host that a job has been on */
#ifndef EDDIS_CMD_RUN_END_RUN_CLEANUP_H
#define EDDIS_CMD_RUN_END_RUN_CLEANUP_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* dead: its driver is gone, whatever the folder says.  over: Slurm has ended its job.  Inside of
 * the allocation of Slurm's that all of its hosts are of, they are reached as they were for the
 * job.  Returns the number of hosts where something may be left, each of which was said.  quiet:
 * say only those.
 */
int run_cleanup(const struct job_folder *f, bool dead, bool over, bool quiet,
                struct eddis_error *err);

#endif
