/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_link.h - which job of ours a job of Slurm's is
 *
 *     $XDG_STATE_HOME/eddis/slurm/CLUSTER/15      -> folder of the newest job that ran in job 15
 *     $XDG_STATE_HOME/eddis/slurm/CLUSTER/12_3    -> the same of a task of an array, by its number
 *     <the job's folder>/slurm.json               cluster and number, and the node of its driver
 *
 * Clusters that share a home have jobs of the same numbers.  A link leads also to a folder that
 * --job-dir has named.  The file is what counts: a link to a folder that says otherwise is none.
 */
#ifndef EDDIS_AGENTS_JOB_SLURM_LINK_H
#define EDDIS_AGENTS_JOB_SLURM_LINK_H

#include "job_folder.h"
#include "lib/base/error.h"

#define SLURM_LINK_FILE "slurm.json"

enum { SLURM_LINK_JOB = 24, SLURM_LINK_NAME = 64, SLURM_LINK_NODE = 256, SLURM_LINK_CLUSTER = 64 };

struct slurm_link {
    char job[SLURM_LINK_JOB];         /* "15", by which its steps go */
    char name[SLURM_LINK_NAME];       /* "12_3"; "": it is no task */
    char node[SLURM_LINK_NODE];       /* of its driver, as Slurm calls it; "": none of Slurm's */
    char cluster[SLURM_LINK_CLUSTER]; /* "": unknown, so that there are no links */
};

/* Write the file, and the links as far as there is a place for them. */
int slurm_link_write(const struct job_folder *f, const struct slurm_link *l,
                     struct eddis_error *err);

/* -ENOENT: it has run in no job of Slurm's. */
int slurm_link_read(const struct job_folder *f, struct slurm_link *ret, struct eddis_error *err);

/* Find the folder by "15" or "12_3" of this cluster, NULL: of any, and then the newest one.
 * -ENOENT: there is none on this machine.
 */
int slurm_link_find(const char *cluster, const char *number, struct job_folder *ret,
                    struct eddis_error *err);

/* Remove the links to a folder that is to be removed.  Others stay, also those to folders that are
 * not here: they may be on the node where their job runs.
 */
void slurm_link_remove(const struct job_folder *f);

#endif
