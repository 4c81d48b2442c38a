/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_job.h - a job as `scontrol show job` tells of it
 *
 * A record has a line for each of its fields that a user may fill with whatever he likes, a name or
 * a path, and the others stand in lines whose first field is known: so no name is taken for a
 * state.  With -o all stands in one line, where that cannot be told; it is read as well as it can
 * be.
 */
#ifndef EDDIS_LIB_SLURM_SLURM_JOB_H
#define EDDIS_LIB_SLURM_SLURM_JOB_H

#include "lib/base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SLURM_JOB_NUMBER = 24, SLURM_JOB_NODES = 4096 };

struct slurm_job {
    char id[SLURM_JOB_NUMBER];    /* "15", by which its steps go */
    char array[SLURM_JOB_NUMBER]; /* of a task of an array: "12"; "": it is none ... */
    char task[64];                /* ... and "3", or "1-3" of those that wait */
    char het[SLURM_JOB_NUMBER];   /* of a component: the number of the first one; "": it is none */
    int component;                /* from 0 */
    char user[64];                /* "ada"; "": it is not told */
    uid_t uid;                    /* of that user */
    char state[32];               /* "PENDING", "RUNNING", "COMPLETED", ... */
    char reason[80];              /* why it waits: "Resources"; "None" */
    char start[32];               /* "2026-11-24T14:02:00", or "Unknown" */
    char nodes[SLURM_JOB_NODES];  /* "node[1-4]"; "" or "(null)": none yet */
    char first[256]; /* the node of a batch script; "": none yet, or it has no script */
    char out[PATH_MAX];
    int code, signal; /* of the script, when it has ended */
};

/* Read the first record; of a heterogeneous job it is the first component's.  False: it is none. */
bool slurm_job_parse(const char *text, struct slurm_job *ret);

/* Read the next of several records and go behind it. */
bool slurm_job_next(const char **text, struct slurm_job *ret);

/* Whether scontrol says that there is no such job, or no more. */
bool slurm_job_is_unknown(const char *said);

/* Whether it has ended for good, and waits to be started. */
bool slurm_job_is_over(const struct slurm_job *j);
bool slurm_job_waits(const struct slurm_job *j);

/* Whether it waits for what its partition does not allow or does not have. */
bool slurm_job_never_starts(const struct slurm_job *j);

/* The same as slurm_job_is_over, or its script is known to have ended while an epilog still runs:
 * one that has ended with 0 is COMPLETING as one that is only being told to end.
 */
bool slurm_job_has_ended(const struct slurm_job *j);

/* What eddis-run exits with for a job that has ended: the script's own code, 128 + its signal, 124
 * when time was over, or 1 when Slurm ended it for another reason.
 */
int slurm_job_code(const struct slurm_job *j);

/* Write why it waits for people, "its nodes are busy (Resources), to start at about ..."; returns
 * ret.
 */
const char *slurm_job_why(const struct slurm_job *j, char *ret, size_t size);

#endif
