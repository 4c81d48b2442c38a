/* SPDX-License-Identifier: Apache-2.0 */
/* job_location.h - where the job is that a user names: here, on a node of Slurm's, or in its queue
 *
 * A number is one of Slurm's unless an id or a folder of ours begins so; inside of that very job it
 * is Slurm's in any case.  It is a number of this machine's cluster.  A job of another cluster, or
 * of one that nobody knows, is JOB_HERE like any whose driver is on another machine.
 */
#ifndef EDDIS_CMD_SLURM_JOB_LOCATION_H
#define EDDIS_CMD_SLURM_JOB_LOCATION_H

#include "agents/job/job_folder.h"
#include "lib/base/error.h"
#include "srun_proxy.h"

#include <stdbool.h>
#include <stdint.h>

enum job_where {
    JOB_HERE,  /* what there is to be known of it is in its folder, or its driver is here */
    JOB_FAR,   /* its driver is to be asked on another node, by the word `far` */
    JOB_DEAD,  /* its driver was on another machine, and the job of this cluster's is over */
    JOB_WAITS, /* Slurm has not started it, or is to start it again; `text` says why */
};

struct job_place {
    enum job_where where;
    bool over;                /* of JOB_DEAD: Slurm says that the job is, and no node was lost */
    bool has_folder;          /* always, but for JOB_FAR and JOB_WAITS */
    struct job_folder folder; /* of JOB_WAITS: that of an earlier start */
    struct slurm_door door;
    char far[JOB_FOLDER_MAX_PATH + 2];
    char number[64]; /* of JOB_WAITS, as scancel takes it */
    char owner[64];  /* of JOB_WAITS, another user; "": it is ours */
    char text[512];
};

/* How a caller finds a job by id or folder: -ENOENT when there is none. */
typedef int job_place_find_fn(const char *word, struct job_folder *ret, struct eddis_error *err);

/* Blocks until Slurm has answered, to end_ns or for some seconds, but only where it must be asked:
 * not of a job whose driver has run on this machine, or in no job of Slurm's.  In the job itself
 * the place of jobs' folders becomes that of its processes, which may have another XDG_STATE_HOME.
 * -ENOENT: there is no such job; -EPERM: it is another user's; others of slurm_task_ask.
 */
int job_place_find(const char *word, job_place_find_fn *find, int64_t end_ns, struct job_place *ret,
                   struct eddis_error *err);

/* The place of a job whose folder is known.  Blocks as above; when Slurm is silent, it is JOB_HERE.
 */
void job_place_of(const struct job_folder *f, int64_t end_ns, struct job_place *ret);

#endif
