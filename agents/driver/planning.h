/* SPDX-License-Identifier: Apache-2.0 */
/* planning.h - plans for the nodes that are there */
#ifndef EDDIS_AGENTS_DRIVER_PLANNING_H
#define EDDIS_AGENTS_DRIVER_PLANNING_H

#include "job_run.h"
#include "publishing.h"
#include "subject.h"

struct planning {
    struct job_run *run;               /* borrowed */
    const struct run_network *network; /* that the plan counts on; borrowed */
    struct publishing published;       /* its plans are lent to who launches and who tells */
    int *agent;                        /* [n_agents] of the plan's nodes */
    bool choice_given;                 /* the plan that is replayed fixes how ranks communicate */
    char algorithm[16];                /* of the last plan that was launched; "": none */
    int64_t model_bytes;               /* of the program's model, as it was told last; 0: never */
    char *replay;                      /* text of the plan that is replayed; NULL: none */
    struct eddis_error unreadable;     /* why it could not be read */
    int64_t look_ns;                   /* when the checkpoints' list was asked for that the plan
                                        * waits for; 0: it waits for none */
    bool told_look;                    /* that it waits */
    int64_t looked;                    /* generation for which the list is known */
};

/* Events: what rank 0 has chosen of the communication.  Actions: a plan, a checkpoint. */
extern const struct subject_ops planning_ops;

/* g is zeroed but for run and network before.  planning_fini also when this fails. */
int planning_init(struct planning *g, struct eddis_error *err);

/* Take what a worker of the generation says about the plan in force and its model. */
void planning_progress(struct planning *g, const struct progress *p);

void planning_fini(struct planning *g);

#endif
