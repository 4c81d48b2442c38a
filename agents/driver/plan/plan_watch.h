/* SPDX-License-Identifier: Apache-2.0 */
/* plan_watch.h - the plan in force, held against what its workers tell: another one is published
 * when that is worth it, and people hear of it, of slow workers and of a changed network
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PLAN_WATCH_H
#define EDDIS_AGENTS_DRIVER_PLAN_PLAN_WATCH_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/history.h"
#include "memory_watch.h"
#include "plan_versions.h"
#include "replanner.h"
#include "straggling.h"

struct plan_watch {
    struct job_run *run; /* this and the next three are borrowed */
    struct known *known;
    struct publishing *published;
    const int *agent;           /* [n_agents] of the plan's nodes */
    struct replanning replan;   /* of the generation */
    struct straggling straggle; /* likewise */
    struct memory_watch memory; /* likewise */
    bool length_known;          /* the generation has told how long the job is */
    int64_t replan_ns;          /* when it is asked next */
    bool alone_told;            /* people have heard of a worker that is faster by itself */
    int told;                   /* re-plans that people heard of, in all generations */
    int networks_told;          /* likewise networks that were not as believed, ... */
    double network_bytes_per_s; /* ... and the last of them; 0: none */
};

/* Begin with the plans of a generation, or with those of the mode that was settled. */
int plan_watch_begin(struct plan_watch *w, struct eddis_error *err);

/* Take what a worker of the generation says about the plan in force, its steps and its model. */
void plan_watch_progress(struct plan_watch *w, const struct progress *p, int64_t now_ns);

/* Publish another plan when a report that was taken makes it worth it. */
void plan_watch_stepped(struct plan_watch *w, int64_t now_ns);

/* Take the size of the model, and what has become known of the network. */
void plan_watch_model(struct plan_watch *w, int64_t bytes, const struct program *p);
void plan_watch_network(struct plan_watch *w);

/* Put what the generation has measured into what is known, for its successor and the next job. */
void plan_watch_keep(struct plan_watch *w);

void plan_watch_end(struct plan_watch *w); /* of the generation */

#endif
