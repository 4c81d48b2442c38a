/* SPDX-License-Identifier: Apache-2.0 */
/* straggling.h - report workers that have become slow to the user, in the status and as events */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_STRAGGLING_H
#define EDDIS_AGENTS_DRIVER_PLAN_STRAGGLING_H

#include "agents/driver/core/job_run.h"

#include "scheduler/stragglers.h"

/* Steps of a worker that only reports step numbers */
struct straggling_steps {
    struct step_window window; /* steps between two reports */
    bool own;                  /* the newest ones have own times */
};

/* The detection of slow workers in a generation. */
struct straggling {
    struct job_run *run;      /* borrowed */
    struct stragglers *found; /* the detector; NULL: no generation */
    int n_all;                /* number of times that most workers were slow at the same time */
    struct straggling_steps *steps; /* [n_workers]; NULL: no worker reports step numbers only */
    int n_workers, n_reporting; /* number of workers; number of workers that have reported a step */
    int n_own;                  /* number of these whose newest steps have own times */
};

/* Start the detection of slow workers for a generation's plan. Return 0 or a negative errno. */
int straggling_begin(struct straggling *s, const struct plan *p, struct eddis_error *err);

/* Pass a worker's measurements to the detection of slow workers. Workers that only report step
 * numbers count if all workers report them, and all or none with their own times; if one worker
 * prints for all workers, it must not be blamed for all. model: the worker's measured time model;
 * peer: the node at the other end of the worker's busiest connection, -1: none.
 */
void straggling_progress(struct straggling *s, const struct plan *in_force,
                         const struct progress *p, const struct time_model *model, int peer);

/* Report workers that have become slow or normal again.  p: the newest published plan; agent
 * [n_nodes]: agents of its nodes.
 */
void straggling_report(struct straggling *s, const struct plan *p, const int *agent,
                       int64_t now_ns);

/* End the detection of slow workers, and free its memory. */
void straggling_end(struct straggling *s);

#endif
