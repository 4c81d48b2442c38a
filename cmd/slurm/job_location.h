/* SPDX-License-Identifier: Apache-2.0 */
/* job_location.h - finds where a job runs: on this machine, on another node of Slurm's, or still
 * queued
 *
 * A number is a Slurm job number unless an eddis job's id or folder begins with it. Inside the
 * Slurm job of that number it always means that job. Numbers belong to this machine's cluster. A
 * job of another or an unknown cluster is JOB_HERE, like any job whose driver is on another
 * machine.
 */
#ifndef EDDIS_CMD_SLURM_JOB_LOCATION_H
#define EDDIS_CMD_SLURM_JOB_LOCATION_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "srun_proxy.h"

#include <stdbool.h>
#include <stdint.h>

/* Kinds of places where a job may be. */
enum job_where {
    JOB_HERE,  /* its driver is on this machine, or only its folder can be read */
    JOB_FAR,   /* its driver is on another node; eddis finds it there by the argument `far` */
    JOB_DEAD,  /* its driver was on another machine, and its job in this cluster is over */
    JOB_WAITS, /* Slurm has not started it, or will start it again; `text` gives the reason */
};

/* Where a job is, and how to reach its driver. */
struct job_location {
    enum job_where where;
    bool over;       /* JOB_DEAD: Slurm reports the job as over, and not by the loss of a node */
    bool has_folder; /* always true except for JOB_FAR and JOB_WAITS */
    struct job_folder folder;          /* JOB_WAITS: the folder of an earlier start */
    struct srun_proxy proxy;           /* JOB_FAR: how srun reaches the driver's node */
    char far[JOB_FOLDER_MAX_PATH + 2]; /* JOB_FAR: the job's name for eddis on that node */
    char number[64];                   /* JOB_WAITS: the number for scancel */
    char owner[64];                    /* JOB_WAITS: the owner if it is another user; "": ours */
    char text[512];                    /* JOB_WAITS: sentence with the reason */
};

/* Find a job's folder by an id or a path that the user gave. Return -ENOENT if there is none. */
typedef int job_location_find_fn(const char *word, struct job_folder *ret, struct eddis_error *err);

/* Find where the job that the user named runs, and write it to *ret. Block to ask Slurm, if needed,
 * until end_ns or a few seconds at most. Inside the Slurm job itself, HOME and XDG_STATE_HOME are
 * changed to those of the job's processes. -ENOENT: there is no such job; -EPERM: it is another
 * user's; others as slurm_lookup_ask.
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
