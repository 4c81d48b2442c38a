/* SPDX-License-Identifier: Apache-2.0 */
/* plan_watch.h - compare the plan in force with the workers' measurements: re-plan if this promises
 * a gain, and report slow workers and a changed network
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_PLAN_WATCH_H
#define EDDIS_AGENTS_DRIVER_PLAN_PLAN_WATCH_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/curve_watch.h"
#include "agents/driver/history/history.h"
#include "memory_watch.h"
#include "plan_versions.h"
#include "replanner.h"
#include "straggling.h"

/* The watch on the plan of a generation */
struct plan_watch {
    struct job_run *run; /* borrowed, like the next three members */
    struct history *history;
    struct plan_versions *published;
    const int *agent;                /* [n_agents] agents of the plan's nodes */
    const struct node_profile *node; /* [n_agents] profiles of the plan's nodes, from planning */
    struct replanner replan;         /* decides on new plans */
    struct straggling straggle;      /* finds slow workers */
    struct memory_watch memory;      /* limits workers by memory */
    struct curve_watch curve;        /* records the loss */
    bool length_known;     /* the program of this generation has reported the job's length */
    int64_t replan_ns;     /* time from which the next re-plan may be decided */
    bool alone_reported;   /* the user was told that one worker alone would be faster */
    int n_reported;        /* number of re-plans reported to the user, in all generations */
    int networks_reported; /* number of network changes reported to the user, in all generations */
    double network_bytes_per_s; /* bandwidth in the last reported network change; 0: none */
};

/* Start watching the published plan of a generation, or the plan of a newly chosen sync mode.
 * Return 0 or a negative errno.
 */
int plan_watch_begin(struct plan_watch *w, struct eddis_error *err);

/* Handle a worker's progress: plan version, steps, memory, speed and model. */
void plan_watch_progress(struct plan_watch *w, const struct progress *p, int64_t now_ns);

/* Publish the request for a checkpoint if it is due, or a new plan if the latest reports show that
 * it is worth the change. Report slow workers.
 */
void plan_watch_stepped(struct plan_watch *w, int64_t now_ns);

/* Publish p, which is taken, in place of the plan in force, and report why; on failure report that.
 */
void plan_watch_publish(struct plan_watch *w, struct plan *p);

/* Record the size of the model and the traits of the program, for re-planning. */
void plan_watch_model(struct plan_watch *w, int64_t bytes, const struct program *p);

/* Update re-planning with the present history, for example after a change of the network. */
void plan_watch_network(struct plan_watch *w);

/* Store the generation's measurements in the history, for the next generation and the next job. */
void plan_watch_keep(struct plan_watch *w);

/* Stop watching the generation's plan, and free the watch's members. */
void plan_watch_end(struct plan_watch *w);

#endif
