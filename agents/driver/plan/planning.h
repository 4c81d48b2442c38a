/* SPDX-License-Identifier: Apache-2.0 */
/* planning.h - a plan for the nodes that are there, one a generation */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PLANNING_H
#define EDDIS_AGENTS_DRIVER_PLAN_PLANNING_H

#include "agents/driver/checkpoints/checkpoint_wait.h"
#include "agents/driver/core/job_run.h"
#include "agents/driver/core/subject.h"
#include "agents/driver/history/history.h"
#include "plan_versions.h"
#include "plan_watch.h"

struct planning {
    struct job_run *run;         /* borrowed */
    struct publishing published; /* its plans are lent to who launches and who tells */
    struct known known;
    struct plan_watch watch; /* of the plan that is launched */
    int *agent;              /* [n_agents] of the plan's nodes */
    bool choice_given;       /* the plan that is replayed fixes how ranks communicate */
    bool less_memory; /* a worker was killed for lack of it: a plan that is replayed did not fit */
    char *replay;     /* text of the plan that is replayed; NULL: none */
    struct eddis_error unreadable; /* why it could not be read */
    struct checkpoint_wait wait;   /* its run is borrowed too */
};

/* Events: what rank 0 has chosen of the communication, and how large the model is.  Actions: a
 * plan, a checkpoint.
 */
extern const struct subject_ops planning_ops;

/* Lend g, which is zeroed and stays where it is, what it borrows. */
void planning_join(struct planning *g, struct job_run *run, const struct run_network *network);

/* g is joined.  planning_fini also when this fails. */
int planning_init(struct planning *g, struct eddis_error *err);

void planning_fini(struct planning *g);

#endif
