/* SPDX-License-Identifier: Apache-2.0 */
/* run_link.c - links a job's folder to the Slurm job of this process, from Slurm's variables */
#include "run_link.h"

#include "agents/job/slurm_link.h"

#include <stdio.h>
#include <stdlib.h>

int run_link(const struct job_folder *f, const struct slurm_allocation *a, struct eddis_error *err)
{
    const char *array = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
    const char *node = getenv("SLURMD_NODENAME"); /* not set in the shell of salloc */
    const char *cluster = getenv("SLURM_CLUSTER_NAME");
    struct slurm_link l = { .name = "" };

    (void)snprintf(l.job, sizeof l.job, "%s", a->job);
    (void)snprintf(l.cluster, sizeof l.cluster, "%s", cluster ? cluster : "");
    (void)snprintf(l.node, sizeof l.node, "%s", node ? node : "");
    if (array && task)
        (void)snprintf(l.name, sizeof l.name, "%.20s_%.20s", array, task);
    return slurm_link_write(f, &l, err);
}
