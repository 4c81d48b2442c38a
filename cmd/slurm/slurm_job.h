/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_job.h - a job as `scontrol -o show job` tells of it */
#ifndef EDDIS_CMD_SLURM_SLURM_JOB_H
#define EDDIS_CMD_SLURM_SLURM_JOB_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct slurm_job {
    char state[32];  /* "PENDING", "RUNNING", "COMPLETED", ... */
    char reason[80]; /* why it waits: "Resources"; "None" */
    char start[32];  /* "2026-11-24T14:02:00", or "Unknown" */
    char nodes[256]; /* "node[1-4]"; "" or "(null)": none yet */
    char out[PATH_MAX];
    int code, signal; /* of the script, when it has ended */
};

/* Read the first line; of a heterogeneous job it is the first component's.  False: it is none. */
bool slurm_job_parse(const char *text, struct slurm_job *ret);

/* Whether it has ended for good, and waits to be started. */
bool slurm_job_is_over(const struct slurm_job *j);
bool slurm_job_waits(const struct slurm_job *j);

/* What eddis-run exits with for a job that is over: the script's own code, 128 + its signal, 124
 * when time was over, or 1 when Slurm ended it for another reason.
 */
int slurm_job_code(const struct slurm_job *j);

/* Write why it waits for people, "its nodes are busy (Resources), to start at about ..."; returns
 * ret.
 */
const char *slurm_job_why(const struct slurm_job *j, char *ret, size_t size);

#endif
