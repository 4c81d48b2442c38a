/* SPDX-License-Identifier: Apache-2.0 */
/* run_link.h - records in which Slurm job a job runs, so that it is found by the Slurm job's number
 */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_LINK_H
#define EDDIS_CMD_RUN_REQUEST_RUN_LINK_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "lib/slurm/slurm.h"

/* Record the Slurm job, cluster and node of this process in the job's folder f, and make a link to
 * f in the folder of links (agents/job/slurm_link.h). Return 0 or a negative errno.
 */
int run_link(const struct job_folder *f, const struct slurm_allocation *a, struct eddis_error *err);

#endif
