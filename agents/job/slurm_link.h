/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_link.h - finds the eddis job that ran in a job of Slurm
 *
 *     $XDG_STATE_HOME/eddis/slurm/CLUSTER/15      -> folder of the newest eddis job in Slurm job 15
 *     $XDG_STATE_HOME/eddis/slurm/CLUSTER/12_3    -> the folder for task 3 of job array 12
 *     <the job's folder>/slurm.json               cluster, job number, and the driver's node
 *
 * The cluster is part of the path because clusters that share a home directory use the same job
 * numbers. A link may also lead to a folder of --job-dir. A link is ignored if slurm.json in the
 * linked folder names another Slurm job.
 */
#ifndef EDDIS_AGENTS_JOB_SLURM_LINK_H
#define EDDIS_AGENTS_JOB_SLURM_LINK_H

#include "job_folder.h"
#include "lib/base/error.h"

#define SLURM_LINK_FILE "slurm.json"

enum { SLURM_LINK_JOB = 24, SLURM_LINK_NAME = 64, SLURM_LINK_NODE = 256, SLURM_LINK_CLUSTER = 64 };

/* The Slurm job in which an eddis job ran. */
struct slurm_link {
    char job[SLURM_LINK_JOB];   /* number of the Slurm job, "15", as in the ids of its steps */
    char name[SLURM_LINK_NAME]; /* array job and task, "12_3"; "": the job is no task of an array */
    /* Slurm's name for the driver's node; "": the driver does not run on a node of Slurm */
    char node[SLURM_LINK_NODE];
    char cluster[SLURM_LINK_CLUSTER]; /* name of the cluster; "": unknown, so no links are made */
};

/* Write slurm.json in the job's folder, and the links if the cluster is known and the folder of the
 * links can be created. Return 0, also if a link cannot be made, or a negative errno.
 */
int slurm_link_write(const struct job_folder *f, const struct slurm_link *l,
                     struct eddis_error *err);

/* Read slurm.json of a job's folder.  Return 0, -ENOENT if the job did not run in Slurm, or another
 * negative errno.
 */
int slurm_link_read(const struct job_folder *f, struct slurm_link *ret);

/* Find the folder of the newest eddis job in the Slurm job `number`, "15" or "12_3", on this
 * cluster (NULL: on any cluster), and fill *ret. Return 0 or a negative errno; -ENOENT: this
 * machine has no such folder.
 */
int slurm_link_find(const char *cluster, const char *number, struct job_folder *ret);

/* Remove the links to f, a folder that will be removed. All other links stay, even if the folder to
 * which a link leads is not on this machine: it may be on the node where the job runs.
 */
void slurm_link_remove(const struct job_folder *f);

#endif
