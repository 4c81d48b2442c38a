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

enum { PLANNER_KEY = 1024 };

/* What was learnt of a worker's time. */
struct planner_time {
    char key[PLANNER_KEY];    /* of planner_key */
    double fixed_s, sample_s; /* as of struct plan_worker */
    int64_t largest;          /* batch that was measured */
    enum time_source source;  /* TIME_LEARNT or TIME_MEASURED */
    int64_t learnt_s;         /* wall clock, for who keeps it */
};

/* What was learnt of a worker's memory. */
struct planner_bound {
    char key[PLANNER_KEY]; /* of planner_key */
    int64_t samples;       /* most that it holds at once */
    bool measured;         /* by its peaks; else it was more than what it had when it failed */
    int64_t learnt_s;      /* wall clock, for who keeps it */
};

/* What earlier runs and the network's probe have told; 0: unknown. */
struct planner_known {
    int64_t model_bytes;           /* of the model's parameters */
    double latency_s, bytes_per_s; /* of the slowest node's wire */
    /* What the job has trained with so far: its checkpoints mean nothing to another mode.  NULL:
     * it has not trained.
     */
    const char *algorithm;
    enum sync_wire wire; /* likewise: a restart does not change it; SYNC_WIRE_AUTO: it may */
    /* [n_nodes] rank of each node's first worker when the job began; NULL: it begins now. */
    const int *began_as;
    const struct planner_time *time; /* [n_times] of workers, in any order */
    int n_times;
    const struct planner_bound *bound; /* [n_bounds] of workers, in any order */
    int n_bounds;
    bool takes_pieces;      /* the program promises to hold no more at once, whatever its batch */
    int64_t n_gradients;    /* that an earlier run has laid out in buckets */
    int64_t samples;        /* that the whole job trains, all epochs together */
    struct program program; /* told with model_bytes */
};

/* Name a worker of a plan by what its speed and memory hang on: node, device and its driver, its
 * processors, its place among those who share them, and the node's limits.  What was learnt under
 * another name is not believed.
 */
void planner_key(const char *host, const struct node_profile *node, const struct plan_worker *w,
                 char ret[PLANNER_KEY]);

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

/* Whether the mode of p, planned for a job that begins, may be another one once the program has
 * told how large its model is.
 */
bool planner_is_open(const struct job *job, const struct plan *p);

/* Say so as the plan's reason: it holds for programs that never tell. */
void planner_leave_open(struct plan *p);

/* What a running job has learnt, of one worker. */
struct planner_worker {
    int64_t batch; /* to give it from now on */
    double fixed_s, sample_s;
    enum time_source time;
    int64_t largest; /* batch that was measured; 0: none was */
    int64_t piece;   /* as of struct plan_worker */
};

/* Plan for a job that runs: the same workers, mode and groups with these batches and times [n],
 * predicted anew.  period: between exchanges; 0: as it is.  Returns a plan.
 */
int planner_again(const struct job *job, const struct plan *p, const struct planner_worker *w,
                  int64_t period, const struct planner_known *known, struct plan **ret,
                  struct eddis_error *err);

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
