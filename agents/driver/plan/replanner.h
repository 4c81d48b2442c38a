/* SPDX-License-Identifier: Apache-2.0 */
/* replanner.h - re-plan a generation from its workers' measurements
 *
 * scheduler/replan decides when and how to re-plan; this module passes it the measurements from
 * reports, and makes plans from its proposals. Each generation has a re-planning policy of its own,
 * whose measurements pass through past.h to the plan of the next generation and of the next job.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_REPLANNER_H
#define EDDIS_AGENTS_DRIVER_PLAN_REPLANNER_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/past.h"

#include "scheduler/replan.h"

/* The re-planning policy of a generation. */
struct replanner {
    struct job_run *run;   /* borrowed */
    struct replan *policy; /* re-planning policy; NULL: the plan does not change */
    /* [n_workers] it was reported that the worker's time from earlier jobs does not hold */
    bool *contradicted;
    /* [n_workers] most samples that memory can hold at the same time; borrowed; NULL: unknown */
    const int64_t *most;
    const int64_t *bound; /* equal to `most` if memory also limits batches, otherwise NULL */
    int64_t min_count;    /* smallest batch of the program; 0: any */
    /* number of workers; number of true elements of `contradicted` */
    int n_workers, n_contradicted;
};

/* Start re-planning for a generation's plans. The policy also learns from the equal split that is
 * used before the plan. Return 0 or a negative errno.
 */
int replanner_begin(struct replanner *r, const struct run_plans *plans,
                    const struct planner_history *history, struct eddis_error *err);

/* Pass a worker's measurements to the re-planning policy. */
void replanner_progress(struct replanner *r, const struct progress *p, int64_t now_ns);

/* Update the re-planning policy with the present history of the network and the program. */
void replanner_known(struct replanner *r, const struct plan *p,
                     const struct planner_history *history);

/* Set how many samples each worker of p can hold at the same time. `most` [n_workers] is borrowed
 * until the end of the generation. If the program does not train in micro-batches, `most` also
 * limits the batches.
 */
void replanner_memory(struct replanner *r, const struct plan *p, const int64_t *most,
                      bool takes_pieces);

/* Check whether the communication that steps waited for contradicts the network measurement; if so,
 * describe that in *ret. See replan.h.
 */
bool replanner_contradicted(struct replanner *r, struct replan_contradiction *ret);

/* Write a worker's present time model to *ret and return true; return false if there is no such
 * worker.
 */
bool replanner_model(const struct replanner *r, int rank, struct time_model *ret);

/* Record that this version of the plan was published, for the re-planning policy. */
void replanner_published(struct replanner *r, int64_t version, const struct plan *p);

/* Record that the workers agreed on this version of the plan, for the re-planning policy. */
void replanner_agreed(struct replanner *r, int64_t version, int64_t now_ns);

/* Check whether another plan is worth the change, and write the proposal to *ret. The proposal's
 * batches are borrowed until the next call.
 */
bool replanner_decide(struct replanner *r, int64_t now_ns, struct replan_proposal *ret);

/* Return a new plan, which replaces p, from `proposal`; the caller frees it. NULL: it
 * failed, and the error is recorded as an event.
 */
struct plan *replanner_plan(struct replanner *r, const struct plan *p,
                            const struct planner_history *history,
                            const struct replan_proposal *proposal);

/* Check whether new plans may be made, and no worker's time is measured yet. */
bool replanner_is_unmeasured(const struct replanner *r);

/* Begin to learn the workers' times from those of p, where no step is measured yet. */
void replanner_first(struct replanner *r, const struct plan *p);

/* Check whether p has relative times and all its workers have done more than METRICS_WINDOW steps,
 * so that times in seconds are known.
 */
bool replanner_knows_seconds(const struct replanner *r, const struct plan *p);

/* Return a copy of p with the present times of the workers and predictions by this history, which
 * the caller frees; NULL: it failed. */
struct plan *replanner_refined(struct replanner *r, const struct plan *p,
                               const struct planner_history *history);

/* Check whether the steps under p contradict the prediction of p, which must be in seconds
 * (replan_predicts). If so, write the samples per second that follow from these steps to
 * *ret_per_s.
 */
bool replanner_predicts(struct replanner *r, const struct plan *p, double *ret_per_s);

/* Check whether one worker alone would be faster; if so, store its rank and how many times as fast
 * it would be. See replan_alone.
 */
bool replanner_alone(struct replanner *r, int *ret_rank, double *ret_times);

/* Record the measured times of the workers of p in *ret; node: the profiles of the nodes of p. */
void replanner_learn(const struct replanner *r, const struct plan *p,
                     const struct node_profile *const *node, struct past_times *ret);

/* End re-planning of the generation and free the policy. */
void replanner_end(struct replanner *r);

#endif
