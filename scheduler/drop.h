/* SPDX-License-Identifier: Apache-2.0 */
/* drop.h - decides which workers a job leaves out (nodes.drop: auto)
 *
 * A worker costs what its exchanges, and the others' waiting for it, take. Plans of some of the
 * workers are compared with the plan of all by their predicted progress (plan_progress,
 * objective.h). Workers are left out if that raises the progress by more than DROP_MARGIN, and each
 * kind of worker stays out only if it would lower the progress by more than that. At least one
 * worker stays. A plan that the job does not allow, as one whose memory does not hold the batch, is
 * never taken.
 *
 * Progress is compared only if it is in seconds: if the size of the model, the network between the
 * nodes and the workers' times are measured. Pure: equal input gives equal results.
 */
#ifndef EDDIS_SCHEDULER_DROP_H
#define EDDIS_SCHEDULER_DROP_H

#include "lib/model/network.h"
#include "scheduler/planner.h"

#include <stdbool.h>

#define DROP_MARGIN 1.05

/* What a decision is made from; borrowed */
struct drop_input {
    const struct job *job;
    int n_nodes;
    const struct planner_history *history;
    /* links between the nodes; NULL: not measured, and every link is as in `history` */
    const struct network *network;
    /* [n_nodes] names of the nodes in `network`; nodes of one name have the same links. NULL: as in
     * profiles */
    const char *const *host;
};

/* A decision */
struct drop_result {
    struct plan_left left[PLAN_MAX_LEFT]; /* [n_left] workers that are left out; 0: none */
    int n_left;
    double latency_s, bytes_per_s; /* network between the nodes that keep workers */
    /* what must be measured before plans are compared, for people, a constant; NULL: nothing */
    const char *lacks;
};

/* Check whether the job may leave out workers: nodes.drop is auto. */
bool drop_is_wanted(const struct job *job);

/* Decide which workers of the nodes [in->n_nodes] the job leaves out, and mark them in the nodes'
 * profiles. A job without nodes.drop: auto leaves out none. Workers of equal speed and network
 * count as one kind. There are few kinds, so that 1 000 workers take less than a second. Return
 * 0, or a negative errno, as planner_plan for all workers; the marks are then removed.
 */
int drop_decide(const struct drop_input *in, struct node_profile *nodes, struct drop_result *ret,
                struct eddis_error *err);

#endif
