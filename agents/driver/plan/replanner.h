/* SPDX-License-Identifier: Apache-2.0 */
/* replanner.h - re-plan a generation from its workers' measurements
 *
 * scheduler/replan decides when and how to re-plan; this module feeds it from reports and makes
 * plans of its proposals.  Each generation has its own policy: what it has measured passes through
 * past.h to the plan of the next generation and of the next job.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_REPLANNER_H
#define EDDIS_AGENTS_DRIVER_PLAN_REPLANNER_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/past.h"

#include "scheduler/replan.h"

/* The re-planning policy of a generation. */
struct replanner {
    struct job_run *run;           /* borrowed */
    struct replan *policy;         /* NULL: the plan does not change */
    bool *contradicted;            /* [n_workers] reported that its earlier time no longer holds */
    const int64_t *most;           /* [n_workers] samples held at once, by memory; borrowed;
                                    * NULL: unknown */
    const int64_t *bound;          /* the same if it also limits batches, else NULL */
    int64_t min_count;             /* smallest batch of the program; 0: any */
    int n_workers, n_contradicted; /* workers; of them contradicted so far */
};

/* Start re-planning for a generation's plans.  The policy also learns from the equal split that
 * runs before the plan.
 */
int replanner_begin(struct replanner *r, const struct run_plans *plans,
                    const struct planner_history *history, struct eddis_error *err);

/* Pass a worker's measurements to the re-planning policy. */
void replanner_progress(struct replanner *r, const struct progress *p, int64_t now_ns);

/* Update the re-planning policy with the present history of the network and the program. */
void replanner_known(struct replanner *r, const struct plan *p,
                     const struct planner_history *history);

/* Set how many samples each worker of p can hold at once.  `most` is borrowed until the end of the
 * generation.  It also limits the batches unless the program trains in micro-batches.
 */
void replanner_memory(struct replanner *r, const struct plan *p, const int64_t *most,
                      bool takes_pieces);

/* Check whether the communication that steps waited for contradicts the network measurement; see
 * replan.h.
 */
bool replanner_contradicted(struct replanner *r, struct replan_contradiction *ret);

/* Write a worker's present time model to *ret; false: no such worker. */
bool replanner_model(const struct replanner *r, int rank, struct time_model *ret);

/* Record that this version of the plan was published, for the re-planning policy. */
void replanner_published(struct replanner *r, int64_t version, const struct plan *p);

/* Record that the workers agreed on this version of the plan. */

/* Record that the workers agreed on this version of the plan, for the re-planning policy. */
void replanner_agreed(struct replanner *r, int64_t version, int64_t now_ns);

/* Check whether another plan is worthwhile, and write the proposal to *ret.  Its batches are
 * borrowed until the next call.
 */
bool replanner_decide(struct replanner *r, int64_t now_ns, struct replan_proposal *ret);

/* Return the proposed plan in place of p, for the caller to free; NULL: error, recorded as an
 * event.
 */
struct plan *replanner_plan(struct replanner *r, const struct plan *p,
                            const struct planner_history *history,
                            const struct replan_proposal *wish);

/* Check whether p has relative times and all its workers have done more than METRICS_WINDOW steps,
 * so that times in seconds are known.
 */
bool replanner_knows_seconds(const struct replanner *r, const struct plan *p);

/* Return a copy of p with measured times in seconds, for the caller to free; NULL: error. */
struct plan *replanner_seconds(struct replanner *r, const struct plan *p,
                               const struct planner_history *history);

/* Check whether the steps of p contradict its prediction, which must be in seconds.  If so, write
 * the samples per second that follow from them to *ret_per_s.  See replan_predicts.
 */
bool replanner_predicts(struct replanner *r, const struct plan *p, double *ret_per_s);

/* Check whether one worker alone would be faster; see replan_alone. */
bool replanner_alone(struct replanner *r, int *ret_rank, double *ret_times);

/* Record the measured times of the workers of p in *ret; node: the profiles of its nodes. */
void replanner_learn(const struct replanner *r, const struct plan *p,
                     const struct node_profile *const *node, struct past_times *ret);

/* End re-planning of the generation and free the policy. */
void replanner_end(struct replanner *r);

#endif
