/* SPDX-License-Identifier: Apache-2.0 */
/* run_cleanup.h - eddis-run --cleanup: prints a line for each host that a job has used */
#ifndef EDDIS_CMD_RUN_END_RUN_CLEANUP_H
#define EDDIS_CMD_RUN_END_RUN_CLEANUP_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"

#include <stdbool.h>

/* End and remove what remains of the job on its hosts, and print a line for each host; quiet: print
 * only failures. If this process runs in an allocation to which all hosts belong, they are reached
 * by steps in it, otherwise by ssh. dead: the driver has ended, even if the folder says otherwise.
 * over: Slurm has ended the job's Slurm job. Return the number of hosts where something may remain,
 * or a negative errno.
 */
int run_cleanup(const struct job_folder *f, bool dead, bool over, bool quiet,
                struct eddis_error *err);

#endif
