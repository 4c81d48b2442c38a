/* SPDX-License-Identifier: Apache-2.0 */
/* run_link.h - has a job be found by the number of Slurm's job that it runs in */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_LINK_H
#define EDDIS_CMD_RUN_REQUEST_RUN_LINK_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "lib/model/slurm.h"

/* Note in the job's folder, and beside the folders of all jobs, what this process knows of the
 * allocation that it is in.
 */
int run_link(const struct job_folder *f, const struct slurm_allocation *a, struct eddis_error *err);

#endif
