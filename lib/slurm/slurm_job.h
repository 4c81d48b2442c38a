/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_job.h - a job as "scontrol show job" reports it
 *
 * In a record, each field that a user can fill freely (a name, a path) has a line of its own.  All
 * other fields stand in lines whose first field is known, so a job's name cannot be taken for a
 * state.  With -o everything is in one line, where this cannot be distinguished; such a record is
 * parsed as well as possible.
 */
#ifndef EDDIS_LIB_SLURM_SLURM_JOB_H
#define EDDIS_LIB_SLURM_SLURM_JOB_H

#include "lib/base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SLURM_JOB_NUMBER = 24, SLURM_JOB_NODES = 4096 };

/* A record of a job, or of one component or task of it. */
struct slurm_job {
    char id[SLURM_JOB_NUMBER];    /* "15", the number for its steps */
    char array[SLURM_JOB_NUMBER]; /* array job of a task: "12"; "": the job is not a task of an
                                   * array */
    char task[64];                /* number of a task in its array job: "3", or "1-3" for pending
                                   * tasks */
    char het[SLURM_JOB_NUMBER];   /* number of the first component of a heterogeneous job; "": not
                                     heterogeneous */
    int component;                /* component of a heterogeneous job, from 0 */
    char user[64];                /* owner, "ada"; "": not reported */
    uid_t uid;                    /* user id of the owner */
    char state[32];               /* "PENDING", "RUNNING", "COMPLETED", ... */
    char reason[80];              /* reason for waiting: "Resources"; "None" */
    char start[32];               /* "2026-11-24T14:02:00", or "Unknown" */
    char nodes[SLURM_JOB_NODES];  /* "node[1-4]"; "" or "(null)": none yet */
    char first[256];    /* node of the batch script; "": none yet, or there is no script */
    char out[PATH_MAX]; /* file for the script's output */
    int code, signal;   /* exit code and signal of the script, after it has ended */
};

/* Parse the first record; for a heterogeneous job the first record is that of the first component.
 * Return false if there is no record.
 */
bool slurm_job_parse(const char *text, struct slurm_job *ret);

/* Parse the next record and advance *text to the end of the record.  Return false if there is no
 * further record, or it has no state.
 */
bool slurm_job_next(const char **text, struct slurm_job *ret);

/* Check whether scontrol's output says that there is no such job, or that Slurm no longer knows it.
 */
bool slurm_job_is_unknown(const char *said);

/* Check whether a job has ended for good. */
bool slurm_job_is_over(const struct slurm_job *j);

/* Check whether a job is pending: it is waiting to be started. */
bool slurm_job_waits(const struct slurm_job *j);

/* Check whether a job waits for something that its partition does not allow or does not have. */
bool slurm_job_never_starts(const struct slurm_job *j);

/* Check whether a job is over, or whether its script is known to have ended while an epilog still
 * runs.  That the script has ended is known by an exit code or signal: COMPLETING with 0 may also
 * be a script that is only being stopped.
 */
bool slurm_job_has_ended(const struct slurm_job *j);

/* Return eddis-run's exit code for a job that has ended: the script's own, else 128 + its signal.
 * 124: a time limit; 137: out of memory.  If the script gave no code, the result follows from the
 * state in which Slurm ended the job.
 */
int slurm_job_code(const struct slurm_job *j);

/* Write to ret [size] why a job waits, "its nodes are busy (Resources), to start at about ...";
 * return ret, never NULL.
 */
const char *slurm_job_why(const struct slurm_job *j, char *ret, size_t size);

#endif
