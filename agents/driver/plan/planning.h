/* SPDX-License-Identifier: Apache-2.0 */
/* planning.h - make one plan for the available nodes in each generation */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PLANNING_H
#define EDDIS_AGENTS_DRIVER_PLAN_PLANNING_H

#include "agents/driver/checkpoints/checkpoint_wait.h"
#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "agents/driver/history/history.h"
#include "plan_versions.h"
#include "plan_watch.h"

/* The plans of a job and what they are made from. */
struct planning {
    struct job_run *run;            /* borrowed */
    struct plan_versions published; /* its plans are lent to launch_orders and job_report */
    struct history history;         /* history of the program and network */
    struct plan_watch watch;        /* watches the launched plan */
    int *agent;                     /* [n_agents] agents of the plan's nodes */
    bool choice_given;              /* the replayed plan fixes how ranks communicate */
    bool memory_retry; /* a worker was killed for lack of memory: a replayed plan did not fit */
    char *replay;      /* text of the replayed plan; NULL: none */
    struct eddis_error unreadable; /* why the replayed plan could not be read */
    struct checkpoint_wait wait;   /* search for checkpoints before a restart's plan */
};

/* Entry points for events (rank 0's choice of communication, the model's size, a network check) and
 * actions (make a plan, publish a checkpoint).
 */
extern const struct subject_ops planning_ops;

/* Give the planning module its pointers to the job and the network.  g is zeroed before and must
 * not move afterwards.
 */
void planning_join(struct planning *g, struct job_run *run, const struct run_network *network);

/* Read the plan to replay and allocate; call planning_join first.  planning_fini is needed even on
 * failure.
 */
int planning_init(struct planning *g, struct eddis_error *err);

/* Stop watching and free the plans and the history. */

/* Stop watching the plan, and free the plans and the history. */
void planning_fini(struct planning *g);

#endif
