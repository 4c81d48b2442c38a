/* SPDX-License-Identifier: Apache-2.0 */
/* sim_plan.h - simulates the training of a plan, with jitter and workers that slow down
 *
 * The workers' true times are those of the plan, and the network is that of its history. The job
 * re-plans as a real one does: the policy is that of replan_plan, and learns from reports of
 * simulated steps (sim.h). Slow-downs begin at random times and hit random workers. Equal input
 * gives equal output; no clock is read.
 *
 * If the plan has only ratios of times, a step is assumed to take SIM_PLAN_STEP_S, and
 * communication to take no time.
 */
#ifndef EDDIS_SCHEDULER_SIM_PLAN_H
#define EDDIS_SCHEDULER_SIM_PLAN_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/plan.h"
#include "planner.h"

#include <stdbool.h>
#include <stdint.h>

#define SIM_PLAN_STEP_S 0.1 /* assumed duration of a step if only ratios were measured */

/* Disturbances of a job; zero-initialised: none */
struct sim_disturbance {
    double jitter;          /* standard deviation of a step's time, relative; normal distribution */
    double every_s;         /* mean time between the begins of two slow-downs; 0: there are none */
    double times;           /* factor on the time of a slow worker */
    double least_s, most_s; /* a slow-down lasts so long, uniformly distributed */
};

/* Return the disturbances that eddis assumes: 3 % jitter, and every 100 s a worker that is half as
 * fast for 20 to 60 s.
 */
struct sim_disturbance sim_disturbance_usual(void);

struct sim_plan {
    const struct job *job;                 /* borrowed, like plan and history */
    const struct plan *plan;               /* the job's plan */
    const struct planner_history *history; /* what the plan was made from */
    struct sim_disturbance disturbance;
    double seconds; /* of training; above 0 */
    uint64_t seed;
    /* most work, as sim_work; 0: SIM_PLAN_WORK, which takes a few seconds */
    int64_t most_work;
};

enum { SIM_PLAN_WORK = 12000000 };

/* A time in which a worker was slow: a slow-down, or several that overlap */
struct sim_slow_down {
    int rank;
    double begin_s, end_s; /* end_s: may be later than the end of the simulation */
    double followed_s;     /* when the next plan took force; INFINITY: none did while it was slow */
    bool found;            /* it was reported as slow (stragglers.h) meanwhile */
};

/* What a simulated job reached */
struct sim_reached {
    double samples_per_s;            /* in the unit of the plan's predicted_samples_per_s */
    int64_t replans, period_changes; /* plans that took force; those of them with another period */
    int64_t period;                  /* steps between exchanges in the end; 0: there are none */
    struct sim_slow_down *slow;      /* [n_slow] in the order of their begins; owned */
    int n_slow;
};

/* Simulate so many seconds and fill *ret; the caller frees it with sim_reached_fini. Return 0;
 * -EINVAL: the plan cannot be simulated, or no step ends in this time; -E2BIG: there is more work
 * than most_work, and err says how many seconds are possible; or -ENOMEM.
 */
int sim_plan(const struct sim_plan *s, struct sim_reached *ret, struct eddis_error *err);

/* Free what it owns. */
void sim_reached_fini(struct sim_reached *r);

#endif
