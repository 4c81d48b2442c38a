/* SPDX-License-Identifier: Apache-2.0 */
/* driver_options.h - what the caller passes to the driver: the job, and the functions that the
 * driver calls
 */
#ifndef EDDIS_AGENTS_DRIVER_CORE_DRIVER_OPTIONS_H
#define EDDIS_AGENTS_DRIVER_CORE_DRIVER_OPTIONS_H

#include "agents/job/job_folder.h"
#include "agents/job/status_json.h"
#include "agents/protocol/program_versions.h"
#include "lib/base/error.h"
#include "lib/job/host_program.h"
#include "lib/model/job.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"
#include "lib/slurm/slurm.h"
#include "lib/slurm/slurm_batch.h"

#include <stdbool.h>
#include <stdint.h>

/* The result of a check for one node.  Texts are borrowed; "": unknown. */
struct driver_check {
    /* name of the node; address of the node on the network that the job would use */
    const char *host, *address;
    const char *eddis, *mpi;                 /* versions of eddis and of Open MPI on the node */
    const struct program_versions *versions; /* versions of the program's Python on the node */
    int devices;
    bool reached, ready;
    const char *trouble; /* why the node is not ready; "": unknown */
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
    /* Show a plan. If the plan is not what the user asked for, return a negative errno with the
     * reason in err: the job then ends. Otherwise return 0.
     */
    int (*planned)(void *ctx, const struct plan *p, const struct node_profile *nodes, int n,
                   struct eddis_error *err);
    /* The first worker of the job has opened libeddis. */
    void (*joined)(void *ctx);
    /* The sync mode, which was open, is now chosen: the workers train by plan p. */
    void (*settled)(void *ctx, const struct plan *p);
    /* Show for which agents the driver waits before profiling, and why. */
    void (*waiting)(void *ctx, const char *text);
    /* Show the job's status. */
    void (*progress)(void *ctx, const struct job_status *s);
    /* Show complete lines that a rank printed. `dropped` lines directly before `text` are only in
     * the rank's log.
     */
    void (*output)(void *ctx, const char *node, int rank, const char *text, int64_t dropped);
    /* This process will be stopped next, as by Ctrl-Z. The callback may be NULL. */
    void (*pausing)(void *ctx);
    /* Called at least five times a second. */
    void (*turn)(void *ctx);
    /* Show the result of a check, one row per node. */
    void (*checked)(void *ctx, const struct driver_check *node, int n);
};

/* What to run. All pointers must remain valid during driver_run. */
struct driver_options {
    const struct job *job;
    const struct job_folder *folder; /* folder of the job; NULL: nothing is launched or kept */
    const char *runtime_dir;         /* $XDG_RUNTIME_DIR; NULL: none */
    struct job_caller caller;
    const struct slurm_allocation *slurm; /* the allocation of the job's hosts; NULL: none */
    const struct slurm_batch *batch; /* the batch job, which Slurm may start again; NULL: none */
    const char *plan_path;           /* path of a plan to replay; NULL: make a plan */
    int64_t measure_equal;           /* number of first steps under an equal split; 0: none */
    bool plan_only;                  /* end after making the plan */
    bool profile_only;               /* end before making a plan: `planned` is called with p NULL */
    /* end before training: the generation is prepared and checked, then stopped instead of started,
     * and the job ends with reason "ok"
     */
    bool check_only;
    bool compared; /* the job is one of a comparison, which stores what its jobs show together */
    struct driver_view view;
};

#endif
