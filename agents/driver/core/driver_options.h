/* SPDX-License-Identifier: Apache-2.0 */
/* driver_options.h - what the caller hands the driver: the job, and whom to call back */
#ifndef EDDIS_AGENTS_DRIVER_CORE_DRIVER_OPTIONS_H
#define EDDIS_AGENTS_DRIVER_CORE_DRIVER_OPTIONS_H

#include "agents/job/job_folder.h"
#include "agents/job/status_json.h"
#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"
#include "lib/model/slurm.h"
#include "lib/model/slurm_batch.h"

#include <stdbool.h>
#include <stdint.h>

/* What a check has found out about a node; texts are borrowed and "" when they are not known. */
struct driver_check {
    const char *host, *address; /* on the network that the job would use */
    const char *eddis, *mpi;    /* versions */
    int devices;
    bool reached, ready;
    const char *trouble; /* why it is not ready, when that was found */
};

/* Called on the driver's thread.  Texts may come from other machines: strip before printing. */
struct driver_view {
    void *ctx;
    void (*say)(void *ctx, const char *sentence);
    void (*last_lines)(void *ctx, int rank, const char *lines); /* rank -1: mpirun's */
    /* Negative: the plan is not for what the user asked, err says why, and the job ends. */
    int (*planned)(void *ctx, const struct plan *p, const struct node_profile *nodes, int n,
                   struct eddis_error *err);
    void (*joined)(void *ctx); /* a worker has used eddis, for the first time in the job */
    /* p, whose mode was open, is what the workers train by. */
    void (*settled)(void *ctx, const struct plan *p);
    void (*waiting)(void *ctx, const char *text); /* before the profile: for whom, and why */
    void (*progress)(void *ctx, const struct job_status *s);
    /* Whole lines that a rank has printed, before which `dropped` lines are in its log only. */
    void (*output)(void *ctx, const char *node, int rank, const char *text, int64_t dropped);
    void (*pausing)(void *ctx); /* this process is about to stop, as by Ctrl-Z; NULL: not told */
    void (*turn)(void *ctx);    /* at least five times a second */
    void (*checked)(void *ctx, const struct driver_check *node, int n); /* at a check's end */
};

struct driver_options {
    const struct job *job;
    const struct job_folder *folder; /* NULL: nothing will be launched and nothing is kept */
    const char *runtime_dir;         /* $XDG_RUNTIME_DIR; NULL: none */
    const char *const *env;          /* NULL-ended "NAME=VALUE" over the job's own; NULL: none */
    const struct slurm_allocation *slurm; /* that the job's hosts are of; NULL: of none */
    const struct slurm_batch *batch;      /* that goes on when Slurm starts it again; NULL: none */
    const char *plan_path;                /* replay this plan; NULL: make one */
    int64_t measure_equal;                /* steps under an equal split first; 0: none */
    bool plan_only;                       /* end behind the plan */
    bool profile_only;                    /* end before it: planned is called with p NULL */
    bool check_only; /* end where training would begin: a generation that was prepared and checked
                      * is stopped instead of started, and the job ends with reason "ok" */
    struct driver_view view;
};

#endif
