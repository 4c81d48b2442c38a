/* SPDX-License-Identifier: Apache-2.0 */
/* job_location.h - finds where a job runs: on this machine, on another node of Slurm's, or still
 * queued
 *
 * A number is a Slurm job number, unless the id or folder of an eddis job begins with it. Inside
 * the Slurm job with this number, the number always means the Slurm job. Numbers are those of this
 * machine's cluster. A job of another or an unknown cluster is JOB_HERE, like any other job whose
 * driver is on another machine.
 */
#ifndef EDDIS_CMD_SLURM_JOB_LOCATION_H
#define EDDIS_CMD_SLURM_JOB_LOCATION_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "srun_proxy.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a job is */
enum job_where {
    JOB_HERE, /* the driver is on this machine, or only the job's folder can be read */
    JOB_FAR,  /* the driver is on another node, where eddis finds the job by the name `far` */
    /* the driver was on another machine, and the job's Slurm job in this cluster is over */
    JOB_DEAD,
    JOB_WAITS, /* Slurm has not started the job, or will start it again; `text` gives the reason */
};

/* Where a job is, and how to reach its driver */
struct job_location {
    enum job_where where;
    bool over; /* JOB_DEAD: Slurm reports the job as over, but not because of the loss of a node */
    bool has_folder;          /* `folder` is set; always true except for JOB_FAR and JOB_WAITS */
    struct job_folder folder; /* folder of the job; JOB_WAITS: that of an earlier start */
    struct srun_proxy proxy;  /* JOB_FAR: how srun reaches the driver's node */
    char far[JOB_FOLDER_MAX_PATH + 2]; /* JOB_FAR: the job's name for eddis on the driver's node */
    char number[64];                   /* JOB_WAITS: the number for scancel */
    char owner[64]; /* JOB_WAITS: the owner if it is another user; "": this user */
    char text[512]; /* JOB_WAITS: sentence with the reason */
};

/* Type of a function that finds a job's folder by an id or a path from the user, and fills *ret;
 * returns 0, -ENOENT if there is no such job, or another negative errno
 */
typedef int job_location_find_fn(const char *word, struct job_folder *ret, struct eddis_error *err);

/* Find where the job that the user named runs, and fill *ret. If Slurm must be asked, block at most
 * until end_ns or for a few seconds. Inside the Slurm job itself, HOME and XDG_STATE_HOME of this
 * process are changed to those of the job's processes. Return 0; -ENOENT: there is no such job;
 * -EPERM: it is a job of another user; or an error of slurm_lookup_ask.
 */
int job_location_find(const char *word, job_location_find_fn *find, int64_t end_ns,
                      struct job_location *ret, struct eddis_error *err);

/* Find where the job of a known folder runs. Ask Slurm only if the job's driver is on another
 * machine. Block as job_location_find does; JOB_HERE if Slurm does not answer. cluster: name of
 * this machine's cluster; NULL: read it from Slurm.
 */
void job_location_of(const struct job_folder *f, const char *cluster, int64_t end_ns,
                     struct job_location *ret);

#endif
