/* SPDX-License-Identifier: Apache-2.0 */
/* run_job.h - reads eddis-run's command line and the job that it names */
#ifndef EDDIS_CMD_RUN_REQUEST_RUN_JOB_H
#define EDDIS_CMD_RUN_REQUEST_RUN_JOB_H

#include "cmd/shared/rank_list.h"
#include "compare_ask.h"
#include "lib/base/error.h"
#include "lib/base/strlist.h"
#include "lib/model/job.h"
#include "lib/slurm/slurm.h"
#include "lib/slurm/slurm_batch.h"
#include "what_if_changes.h"

#include <stdbool.h>
#include <stdint.h>

/* What the user asks eddis-run to do. */
struct run_request {
    struct job *job;
    struct slurm_allocation *slurm; /* allocation of the job's nodes; NULL: none */
    struct slurm_batch batch;       /* this start of a batch job; job "": none, or not requeued */
    struct strlist env;             /* variables that the workers get besides, see run_env.h */
    size_t n_passed;                /* number of those, the first, that env_pass selects */
    char *plan_path;                /* plan to be replayed, owned; NULL: make one */
    const char *job_dir;            /* borrowed from argv */
    const char *stop;    /* the job to be ended, borrowed from argv; there is no job to run */
    const char *cleanup; /* likewise: the job to clean up after */
    const char *over;    /* likewise: the job to be resumed, which has trained to its end */
    bool prune;          /* likewise: remove folders of jobs older than prune_ns; with dry_run only
                          * list them */
    int64_t prune_ns;
    bool failed; /* with prune: only folders of jobs that failed */
    int64_t measure_equal;
    struct rank_list ranks; /* ranks whose output is shown */
    bool dry_run, profile, json, verbose, quiet, detach, check;
    bool submit;         /* Slurm runs the job ... */
    struct strlist args; /* ... by starting eddis-run with these arguments, owned */
    const char
        *what_if; /* changes of the job, borrowed from argv: predict, start nothing; NULL: none */
    int64_t simulate_ns;            /* with what_if: duration of training to simulate; 0: none */
    bool only_today;                /* with what_if: --what-if is not given, only --simulate */
    struct what_if_changes changes; /* those of nodes and network; with what_if */
    struct job *then;               /* the job with the changed keys; with what_if */
    bool compare; /* compare modes: eddis-run runs with args, options of each run, and ... */
    struct strlist words;   /* ... the job's file, or "--" and the command; owned */
    struct compare_ask ask; /* what to compare */
    bool help, version;     /* print help or the version; words after this option were not read */
};

/* Read the command line and the job that it names into *ret, and check them. Return 0 or a negative
 * errno, such as -EINVAL or -ENOENT, with one sentence for the user in err; if a file has several
 * mistakes, all but the last are printed on standard error.
 */
int run_request_read(int argc, char **argv, struct run_request *ret, struct eddis_error *err);

/* Free what the request owns. */
void run_request_fini(struct run_request *r);

#endif
