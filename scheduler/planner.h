/* SPDX-License-Identifier: Apache-2.0 */
/* planner.h - makes a plan from a job and its nodes' profiles
 *
 * Pure: no clock, file or socket. Equal jobs and profiles give equal plans, byte for byte.
 */
#ifndef EDDIS_SCHEDULER_PLANNER_H
#define EDDIS_SCHEDULER_PLANNER_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"
#include "modes.h"

enum { PLANNER_KEY = 1024 };

/* A worker's time, measured in earlier runs or in this one. */
struct planner_time {
    char key[PLANNER_KEY];    /* of planner_key */
    double fixed_s, sample_s; /* as of struct plan_worker */
    int64_t largest;          /* largest batch measured, in samples */
    enum time_source source;  /* TIME_LEARNT or TIME_MEASURED */
    int64_t learnt_s;         /* wall-clock time, for the keeper of the record */
};

/* A worker's memory bound, measured earlier. */
struct planner_bound {
    char key[PLANNER_KEY]; /* of planner_key */
    int64_t samples;       /* most samples that it can hold at once */
    bool measured;         /* from memory peaks; false: from a failure for lack of memory */
    int64_t learnt_s;      /* wall-clock time, for the keeper of the record */
};

/* Measurements of earlier runs and of the network's probe; 0: unknown. */
struct planner_history {
    int64_t model_bytes;           /* of the model's parameters */
    double latency_s, bytes_per_s; /* of the slowest node's wire */
    /* Algorithm that the job has trained with; other modes cannot use its checkpoints. NULL: none.
     */
    const char *algorithm;
    enum sync_wire wire; /* wire format, kept by restarts; SYNC_WIRE_AUTO: it is open */
    /* [n_nodes] rank of each node's first worker when the job began; NULL: it begins now. */
    const int *began_as;
    const struct planner_time *time; /* [n_times] of workers, in any order */
    int n_times;
    const struct planner_bound *bound; /* [n_bounds] of workers, in any order */
    int n_bounds;
    bool takes_pieces;      /* the program splits batches into micro-batches that fit its memory */
    int64_t n_gradients;    /* number of gradients that an earlier run had in buckets */
    int64_t samples;        /* of the whole job, all epochs together */
    struct program program; /* known if model_bytes is */
};

/* Format the key under which a worker's measurements are kept: node, device and driver, its
 * processors, its index among the node's workers, and the node's limits, on which speed and memory
 * depend.
 */
void planner_key(const char *host, const struct node_profile *node, const struct plan_worker *w,
                 char ret[PLANNER_KEY]);

/* Enter what the job sets for this host into the node's profile: its name, the number of workers,
 * and its devices (others are dropped). -EINVAL: it lacks a device.
 */
int planner_host(const struct job_host *host, struct node_profile *node, struct eddis_error *err);

/* Make a plan, generation 1, version 1; the caller frees it. A node has one worker per emulated
 * device, else per GPU, else per NUMA node. If the node or the job sets a number of workers, they
 * divide the cores of a CPU node. history may be NULL. -EINVAL: the nodes cannot give what the job
 * asks for.
 */
int planner_plan(const struct job *job, const struct node_profile *nodes, int n_nodes,
                 const struct planner_history *history, struct plan **ret, struct eddis_error *err);

/* Return the nodes, network and model of a plan for a prediction of its steps, without workers. */
struct modes_setup planner_network(const struct plan *p, const struct planner_history *history);

/* Check whether the mode of p, planned for a new job, may change once the program has reported the
 * size of its model.
 */
bool planner_is_open(const struct job *job, const struct plan *p);

/* Write the plan's reason: the mode is chosen when the program reports its model's size. It stays
 * for programs that never do.
 */
void planner_leave_open(struct plan *p);

/* A running job's measurements of one worker. */
struct planner_worker {
    int64_t batch; /* its batch from now on */
    double fixed_s, sample_s;
    enum time_source time;
    int64_t largest; /* largest batch measured, in samples; 0: none */
    int64_t piece;   /* as of struct plan_worker */
};

/* Make a plan for a running job: the same workers, mode and groups with these batches and times
 * [n], and new predictions. period: steps between exchanges; 0: unchanged. The caller frees the
 * plan.
 */
int planner_again(const struct job *job, const struct plan *p, const struct planner_worker *w,
                  int64_t period, const struct planner_history *history, struct plan **ret,
                  struct eddis_error *err);

/* Predict the samples per second of these batches under the plan's time models; a synchronous step
 * lasts as long as its slowest worker.
 */
double planner_throughput(const struct plan *p, const int64_t *batch);

/* Return the sum over workers of batch / (fixed_s + sample_s * batch): the devices' own speeds,
 * without waiting.
 */
double planner_ideal(const struct plan *p);

/* Check a plan from --plan against the job (global batch, seed, mode) and the present nodes: equal
 * number of nodes, its devices and cores present, emulated devices of equal speed. Fill in its node
 * names; on failure the plan is unchanged. -EINVAL.
 */
int planner_adopt(struct plan *p, const struct job *job, const struct node_profile *nodes,
                  int n_nodes, struct eddis_error *err);

#endif
