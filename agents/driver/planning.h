/* SPDX-License-Identifier: Apache-2.0 */
/* planning.h - plans for the nodes that are there, and publishing the next version of one */
#ifndef EDDIS_AGENTS_DRIVER_PLANNING_H
#define EDDIS_AGENTS_DRIVER_PLANNING_H

#include "job_run.h"
#include "subject.h"

struct planning {
    struct job_run *run;               /* borrowed */
    const struct run_network *network; /* that the plan counts on; borrowed */
    struct run_plans plans;            /* lent to who launches and who tells */
    int *agent;                        /* [n_agents] of the plan's nodes */
    int64_t agreed;      /* version of which the workers have agreed from which step it holds */
    bool choice_given;   /* the plan that is replayed fixes how ranks communicate */
    int64_t model_bytes; /* of the program's model, as it was told last; 0: never */
};

/* Events: what rank 0 has chosen of the communication.  Actions: a plan, a checkpoint. */
extern const struct subject_ops planning_ops;

/* g is zeroed but for run and network before.  planning_fini also when this fails. */
int planning_init(struct planning *g, struct eddis_error *err);

/* Hear what a worker of the generation tells of the plan in force and of its model. */
void planning_progress(struct planning *g, const struct progress *p);

/* Publish the real plan when the equal split has been measured long enough; for when workers have
 * told of their steps.
 */
void planning_stepped(struct planning *g);

void planning_fini(struct planning *g);

#endif
