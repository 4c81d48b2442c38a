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
#include "lib/slurm/slurm.h"
#include "lib/slurm/slurm_batch.h"

#include <stdbool.h>
#include <stdint.h>

/* The result of a check for one node.  Texts are borrowed; "": unknown. */
struct driver_check {
    const char *host, *address; /* address: on the network that the job would use */
    const char *eddis, *mpi;    /* versions */
    int devices;
    bool reached, ready;
    const char *trouble; /* why it is not ready; "": unknown */
};

/* Callbacks by which the driver informs the user, called on the driver's thread.  Texts may come
 * from other machines: remove control characters before printing them.
 */
struct driver_view {
    void *ctx;
    /* Show a sentence. */
    void (*say)(void *ctx, const char *sentence);
    /* Show the last lines of a failed rank; rank -1: of mpirun. */
    void (*last_lines)(void *ctx, int rank, const char *lines);
    /* Show a plan.  Return a negative error, with the reason in err, if it is not what the user
     * asked for: the job then ends.
     */
    int (*planned)(void *ctx, const struct plan *p, const struct node_profile *nodes, int n,
                   struct eddis_error *err);
    /* A worker has opened libeddis, for the first time in the job. */
    void (*joined)(void *ctx);
    /* The sync mode of plan p, which was open, is decided: the workers train by p. */
    void (*settled)(void *ctx, const struct plan *p);
    /* Show which agents the driver waits for before profiling, and why. */
    void (*waiting)(void *ctx, const char *text);
    /* Show the job's status. */
    void (*progress)(void *ctx, const struct job_status *s);
    /* Show whole lines that a rank printed.  `dropped` lines before them are only in its log. */
    void (*output)(void *ctx, const char *node, int rank, const char *text, int64_t dropped);
    /* This process is about to stop, as by Ctrl-Z; may be NULL. */
    void (*pausing)(void *ctx);
    /* Called at least five times a second. */
    void (*turn)(void *ctx);
    /* Show the result of a check, one row per node. */
    void (*checked)(void *ctx, const struct driver_check *node, int n);
};

/* What to run.  Everything is borrowed during driver_run. */
struct driver_options {
    const struct job *job;
    const struct job_folder *folder; /* NULL: nothing is launched or kept */
    const char *runtime_dir;         /* $XDG_RUNTIME_DIR; NULL: none */
    const char *const *env;          /* NULL-ended "NAME=VALUE" over the job's own; NULL: none */
    const struct slurm_allocation *slurm; /* the allocation of the job's hosts; NULL: none */
    const struct slurm_batch *batch;      /* batch job that Slurm may start again; NULL: none */
    const char *plan_path;                /* replay this plan; NULL: make one */
    int64_t measure_equal;                /* steps under an equal split first; 0: none */
    bool plan_only;                       /* end after the plan */
    bool profile_only;                    /* end before the plan: planned is called with p NULL */
    bool check_only; /* end where training would begin: the generation is prepared and checked, then
                      * stopped instead of started, and the job ends with reason "ok" */
    struct driver_view view;
};

#endif
