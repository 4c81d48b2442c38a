/* SPDX-License-Identifier: Apache-2.0 */
/* run_job.h - from eddis-run's command line to a job */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_JOB_H
#define EDDIS_CMD_RUN_REQUEST_RUN_JOB_H

#include "cmd/shared/rank_list.h"
#include "lib/base/error.h"
#include "lib/base/strlist.h"
#include "lib/model/job.h"
#include "lib/model/slurm.h"
#include "lib/model/slurm_batch.h"
#include "run_env.h"

#include <stdbool.h>
#include <stdint.h>

struct run_request {
    struct job *job;
    struct slurm_allocation *slurm; /* that the job's nodes are of; NULL: of none */
    struct slurm_batch batch;       /* that this is a start of; job "": of none, or it ends here */
    struct run_env env;
    char *plan_path;     /* owned; NULL: make one */
    const char *job_dir; /* borrowed from argv */
    const char *stop;    /* the job to be ended, borrowed from argv; there is no job to run */
    const char *cleanup; /* likewise: what is left of it */
    const char *over;    /* likewise: to be resumed, but it has trained to its end */
    bool prune;          /* likewise: remove folders of jobs older than prune_ns; or, with dry_run,
                          * tell which */
    int64_t prune_ns;
    bool failed; /* likewise: of these only jobs that failed */
    int64_t measure_equal;
    struct rank_list ranks; /* whose output is shown */
    int verbose;
    bool dry_run, profile, json, quiet, detach, check;
    bool submit;         /* Slurm is to run the job ... */
    struct strlist args; /* ... by an eddis-run of these words, owned */
    bool help, version;  /* nothing else was read */
};

/* Read the command line and the job it names.  -EINVAL, -ENOENT, ...: one sentence for people; of
 * several mistakes in a file it is the last, the others are printed on standard error.
 */
int run_request_read(int argc, char **argv, struct run_request *ret, struct eddis_error *err);

void run_request_fini(struct run_request *r);

#endif
