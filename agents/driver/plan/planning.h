/* SPDX-License-Identifier: Apache-2.0 */
/* planning.h - make one plan for the available nodes in each generation */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PLANNING_H
#define EDDIS_AGENTS_DRIVER_PLAN_PLANNING_H

#include "agents/driver/checkpoints/checkpoint_wait.h"
#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "agents/driver/history/history.h"
#include "node_drop.h"
#include "plan_versions.h"
#include "plan_watch.h"

/* The plans of a job, and the data from which they are made */
struct planning {
    struct job_run *run; /* borrowed */
    /* the published plans, which launch_orders and job_report borrow */
    struct plan_versions published;
    struct history history;        /* history of the program and network */
    struct plan_watch watch;       /* watches the launched plan */
    int *agent;                    /* [n_agents] agents of the plan's nodes */
    struct node_profile *node;     /* [n_agents] their profiles, adjusted to the job's settings */
    struct drop_result drop;       /* workers that the generation leaves out */
    enum precision precision;      /* the program's when the plan was made, as far as known */
    enum precision remarked;       /* the precision whose lack on GPUs was reported to the user */
    bool choice_given;             /* the replayed plan fixes how ranks communicate */
    char *replay;                  /* text of the replayed plan; NULL: none */
    struct eddis_error unreadable; /* why the replayed plan could not be read */
    struct checkpoint_wait wait;   /* search for checkpoints before a restart's plan */
};

/* Entry points for events (rank 0's choice of communication, the model's size, a network check) and
 * actions (make a plan, publish a checkpoint).
 */
extern const struct subject_ops planning_ops;

/* Set the planning module's pointers to the job and the network. The caller has zeroed *g, and must
 * not move it afterwards.
 */
void planning_join(struct planning *g, struct job_run *run, const struct run_network *network);

/* Allocate, and read the plan to replay. planning_join must have been called; planning_fini is
 * needed even on failure. Return 0 or a negative errno.
 */
int planning_init(struct planning *g, struct eddis_error *err);

/* Stop watching the plan, and free the plans and the history. */
void planning_fini(struct planning *g);

#endif
