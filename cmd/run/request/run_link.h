/* SPDX-License-Identifier: Apache-2.0 */
/* run_link.h - makes a job findable by the number of the Slurm job that it runs in */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_LINK_H
#define EDDIS_CMD_RUN_REQUEST_RUN_LINK_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "lib/slurm/slurm.h"

/* Record the Slurm job, cluster and node of this process in the job's folder, and in a link beside
 * the folders of all jobs.
 */
int run_link(const struct job_folder *f, const struct slurm_allocation *a, struct eddis_error *err);

#endif
