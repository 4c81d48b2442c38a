/* SPDX-License-Identifier: Apache-2.0 */
/* run_cleanup.h - eddis-run --cleanup: prints a line for each host that a job has used */
#ifndef EDDIS_CMD_RUN_END_RUN_CLEANUP_H
#define EDDIS_CMD_RUN_END_RUN_CLEANUP_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* End what the job has left on its hosts, and print a line for each; quiet: print only failures.
 * Inside the allocation that all hosts belong to, they are reached through it as for the job. dead:
 * the driver is gone, whatever the folder contains. over: Slurm has ended its job. Return the
 * number of hosts where something may be left.
 */
int run_cleanup(const struct job_folder *f, bool dead, bool over, bool quiet,
                struct eddis_error *err);

#endif
