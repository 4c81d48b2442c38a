/* SPDX-License-Identifier: Apache-2.0 */
/* host_program.h - what one host of a job runs: the job's command, setup and env, with the host's
 */
#ifndef EDDIS_JOB_HOST_PROGRAM_H
#define EDDIS_JOB_HOST_PROGRAM_H

#include "lib/base/strlist.h"
#include "lib/model/job.h"

/* Variables of the caller, which the job's do not contain */
struct job_caller {
    char *const *env; /* "NAME=VALUE", NULL-ended; NULL: none */
    size_t n_passed;  /* the first ones, that env_pass selects: a host's env overrides them */
};

/* What one host runs */
struct host_program {
    struct strlist command; /* the program and its arguments */
    struct strlist setup;   /* the job's lines, then the host's */
    struct strlist env;     /* each name once */
    char from[256];         /* where the host's python is set, "train.yaml:7"; "": the program is
                             * the command's */
};

/* Make what a host runs in *ret, for host_program_fini.  host NULL: a job without hosts.  Variables
 * override each other in this order: the job's, those passed on, the host's, the caller's others.
 * Return 0 or -ENOMEM.
 */
int host_program_make(const struct job *job, const struct job_host *host,
                      const struct job_caller *caller, struct host_program *ret,
                      struct eddis_error *err);

/* Free the members of a host_program; accepts a zeroed one. */
void host_program_fini(struct host_program *p);

/* Write the place of the host's python, "train.yaml:7", to ret [size]. */
void host_program_place(const struct job *job, const struct job_host *host, char *ret, size_t size);

/* Check whether the first word of the command is the name of a Python, as "python3", which a
 * host's `python` replaces.  A path, and another program, stay.
 */
bool host_program_is_python(const struct job *job);

/* Return a checksum of the host's own python and setup; 0: it has neither. */
uint32_t host_program_mark(const struct job_host *host);

#endif
