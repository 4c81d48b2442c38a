/* SPDX-License-Identifier: Apache-2.0 */
/* replanner.h - a generation's plan follows what its workers are measured to be
 *
 * scheduler/rebalance decides when and to what; here it is fed from reports, and its proposals are
 * made into plans.  One policy a generation: what it learnt goes with past.h into the plan of
 * the next one, and of the next job.
 */
#ifndef EDDIS_AGENTS_DRIVER_PLAN_REPLANNER_H
#define EDDIS_AGENTS_DRIVER_PLAN_REPLANNER_H

#include "agents/driver/core/job_run.h"
#include "agents/driver/history/past.h"

#include "scheduler/rebalance.h"

struct replanning {
    struct job_run *run;      /* borrowed */
    struct rebalance *policy; /* NULL: the plan stays as it is */
    bool *contradicted;       /* [n_workers] it was said that what was learnt of it does not hold */
    const int64_t *most; /* [n_workers] samples at once, by their memory; borrowed; NULL: unknown */
    const int64_t *bound; /* the same where it bounds batches, or NULL */
    int64_t min_count;    /* of the program; 0: any number */
    int n_workers, n_contradicted;
};

/* Begin with a generation's plans: the policy learns from the equal split before the real one too.
 */
int replanning_begin(struct replanning *r, const struct run_plans *plans,
                     const struct planner_known *known, struct eddis_error *err);

/* Take what a worker of the generation has measured. */
void replanning_progress(struct replanning *r, const struct progress *p, int64_t now_ns);

/* Take what is known of the network and of the program now. */
void replanning_known(struct replanning *r, const struct plan *p,
                      const struct planner_known *known);

/* Take how many samples the workers of p can hold at once, which is borrowed until the end of the
 * generation; bound them to that unless the program takes pieces.
 */
void replanning_memory(struct replanning *r, const struct plan *p, const int64_t *most,
                       bool takes_pieces);

/* Whether what was exposed of communication contradicts the network; see rebalance.h. */
bool replanning_contradicted(struct replanning *r, struct rebalance_contradiction *ret);

/* Fill *ret with what is learnt of a worker; returns whether there is one. */
bool replanning_model(const struct replanning *r, int rank, struct time_model *ret);

/* Note that this version of the plan was published, or agreed on. */
void replanning_published(struct replanning *r, int64_t version, const struct plan *p);
void replanning_agreed(struct replanning *r, int64_t version, int64_t now_ns);

/* Whether another plan is worth it; fills *ret, whose batches are borrowed until the next call. */
bool replanning_decide(struct replanning *r, int64_t now_ns, struct rebalance_proposal *ret);

/* Returns the plan that is wished for in the place of p, to be freed; NULL after a note. */
struct plan *replanning_plan(struct replanning *r, const struct plan *p,
                             const struct planner_known *known,
                             const struct rebalance_proposal *wish);

/* Whether p has ratios, and all its workers have done FIGURES_WINDOW steps, so that they can be
 * seconds.
 */
bool replanning_knows_seconds(const struct replanning *r, const struct plan *p);

/* Returns p with these seconds, to be freed; NULL without memory. */
struct plan *replanning_seconds(struct replanning *r, const struct plan *p,
                                const struct planner_known *known);

/* Whether the steps of p, whose times are seconds, are not what it predicts; fills *ret with the
 * samples per second that follow from them.  See rebalance_predicts.
 */
bool replanning_predicts(struct replanning *r, const struct plan *p, double *ret_per_s);

/* Whether a worker would be faster by itself; see rebalance_alone. */
bool replanning_alone(struct replanning *r, int *ret_rank, double *ret_times);

/* Put what was measured of the workers of p, whose nodes' profiles these are, into *ret. */
void replanning_learnt(const struct replanning *r, const struct plan *p,
                       const struct node_profile *const *node, struct learned_times *ret);

void replanning_end(struct replanning *r); /* of the generation */

#endif
