/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - what a plan is made from, and how the changes of --what-if change it
 *
 * Pure: no clock, file or socket.
 */
#ifndef EDDIS_CMD_RUN_WHAT_IF_FACTS_H
#define EDDIS_CMD_RUN_WHAT_IF_FACTS_H

#include "cmd/run/request/what_if_changes.h"
#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/network.h"
#include "lib/model/profile.h"
#include "scheduler/planner.h"
#include "scheduler/sim_plan.h"

#include <stdbool.h>
#include <stdint.h>

/* What a plan leaves, if it leaves out workers (nodes.drop) */
struct facts_kept {
    double latency_s, bytes_per_s; /* network between the nodes that keep workers; 0: unknown */
    const char *lacks; /* what must be measured before workers are left out, a constant; or NULL */
};

/* What earlier jobs measured of nodes, program and network; zero-initialised: nothing */
struct facts {
    struct node_profile *node; /* [n_nodes] owned, in the order of the job's hosts */
    int n_nodes;
    /* [n_nodes] owned: names of the nodes that were measured, borrowed; a copy has that of the node
     * that it copies. NULL: as in `node` */
    const char **measured;
    int64_t gpus_per_worker;   /* the GPUs of these profiles are joined to groups of so many */
    struct planner_time *time; /* [n_times] owned: learnt times of workers */
    int n_times;
    struct planner_bound *bound; /* [n_bounds] owned: memory limits of workers */
    int n_bounds;
    const struct network *network; /* borrowed: links between the nodes; NULL: not measured */
    struct network rest;  /* `network` without nodes that are left out, its links owned; no link: as
                           * `network` */
    bool network_changed; /* the bandwidth is not that of the links, but given by --what-if */
    double latency_s, bytes_per_s;  /* of the slowest node's link; 0: unknown */
    struct planner_history program; /* the rest of the history; its members are borrowed */
    struct facts_kept kept;         /* facts_plan fills it */
};

/* Make in *ret the facts of `base` for a job, after the changes: nodes have the job's settings, and
 * its names. Changes of nodes are applied in their order, so that "+node1, node1.rate=0.5" adds a
 * node as fast as node1 is now. The copies of node1 are named node1+1, node1+2 and so on. If nodes
 * are left out, the network is that between the others. Keys of train.yaml are not applied: `job`
 * has them. The caller frees *ret with facts_fini; it borrows from base. Return 0; -EINVAL: a node
 * is not there, none is left, or a node cannot be as the job asks; -ENOMEM.
 */
int facts_change(const struct facts *base, const struct job *job, const struct what_if_changes *c,
                 struct facts *ret, struct eddis_error *err);

/* Make the plan of a job for these facts in *ret, as --dry-run does; the caller frees it. Store in
 * f->kept what the plan leaves. Return as planner_plan.
 */
int facts_plan(struct facts *f, const struct job *job, struct plan **ret, struct eddis_error *err);

/* Simulate so many seconds of the job's training by this plan, which facts_plan made of these
 * facts, with the usual disturbances, and fill *ret, which the caller frees with sim_reached_fini.
 * Return as sim_plan.
 */
int facts_simulate(const struct facts *f, const struct job *job, const struct plan *p,
                   double seconds, uint64_t seed, struct sim_reached *ret, struct eddis_error *err);

/* Free what the facts own. */
void facts_fini(struct facts *f);

#endif
