/* SPDX-License-Identifier: Apache-2.0 */
/* planner.h - from a job and its nodes' profiles to a plan
 *
 * Pure: no clock, file or socket.  The same job and the same profiles give the same plan, byte for
 * byte.
 */
#ifndef EDDIS_SCHEDULER_PLANNER_H
#define EDDIS_SCHEDULER_PLANNER_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"

/* What earlier runs and the network's probe have told; 0: unknown. */
struct planner_known {
    int64_t model_bytes;           /* of the model's parameters */
    double latency_s, bytes_per_s; /* of the slowest node's wire */
    /* What the job has trained with so far: its checkpoints mean nothing to another mode.  NULL:
     * it has not trained.
     */
    const char *algorithm;
    /* [n_nodes] rank of each node's first worker when the job began; NULL: it begins now. */
    const int *began_as;
};

/* What the job says of this one of its hosts, put into the node's profile: its name, how many
 * workers, and which of its devices; the others are dropped.  -EINVAL: it has not got one of them.
 */
int planner_host(const struct job_host *host, struct node_profile *node, struct eddis_error *err);

/* Workers on each node (one per emulated device, else one per GPU, else one per NUMA node; or
 * workers_per_node, or the node's own number of them, which divide the cores of a CPU node), their
 * batch sizes and weights, the mode with its groups, and the predictions.  known may be NULL.
 * Returns a plan, generation 1, version 1.  -EINVAL: the job asks for what the nodes cannot give.
 */
int planner_plan(const struct job *job, const struct node_profile *nodes, int n_nodes,
                 const struct planner_known *known, struct plan **ret, struct eddis_error *err);

/* Predicted samples per second of these batches under the plan's time models: a synchronous step
 * lasts as long as its slowest worker.
 */
double planner_throughput(const struct plan *p, const int64_t *batch);

/* Sum over workers of batch / (fixed_s + sample_s * batch): the devices' own speeds. */
double planner_ideal(const struct plan *p);

/* Check a plan from --plan against the job (global batch, seed, mode) and the nodes that are there:
 * same number of nodes, devices and cores present, emulated devices of the same speeds.  Fills its
 * node names; on failure the plan is as it was.
 */
int planner_adopt(struct plan *p, const struct job *job, const struct node_profile *nodes,
                  int n_nodes, struct eddis_error *err);

#endif
