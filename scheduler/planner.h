/* SPDX-License-Identifier: Apache-2.0 */
/* planner.h - makes a plan from a job and its nodes' profiles
 *
 * Pure: no clock, file or socket. Equal jobs and profiles give equal plans, byte for byte.
 */
#ifndef EDDIS_SCHEDULER_PLANNER_H
#define EDDIS_SCHEDULER_PLANNER_H

#include "efficiency.h"
#include "lib/base/error.h"
#include "lib/model/job.h"
#include "lib/model/plan.h"
#include "lib/model/profile.h"
#include "modes.h"

enum { PLANNER_KEY = 1536 };

/* A worker's time model, measured in earlier runs or in this run. */
struct planner_time {
    char key[PLANNER_KEY];    /* key of the worker, from planner_key */
    double fixed_s, sample_s; /* time model, as in struct plan_worker */
    int64_t largest;          /* largest batch measured, in samples */
    enum time_source source;  /* TIME_LEARNT or TIME_MEASURED */
    int64_t learnt_s;         /* wall-clock time of the measurement, in seconds */
};

/* The most samples that a worker's memory can hold, measured earlier. */
struct planner_bound {
    char key[PLANNER_KEY]; /* key of the worker, from planner_key */
    int64_t samples;       /* most samples that the worker can hold at the same time */
    /* Most samples of a finished step, and fewest samples of a step that failed for lack of memory;
     * 0: none. The bound may be raised to fewer than `failed`.
     */
    int64_t fitted, failed;
    /* computed from memory peaks; false: from a failure for lack of memory */
    bool measured;
    int64_t learnt_s; /* wall-clock time of the measurement, in seconds */
};

/* How a worker's memory on a kind of card grows with the samples that it holds at the same time. */
struct planner_line {
    char key[PLANNER_KEY];            /* key of the card, from planner_card_key */
    double fixed_bytes, sample_bytes; /* memory peak: fixed_bytes + sample_bytes * samples */
    int64_t learnt_s;                 /* wall-clock time of the measurement, in seconds */
};

/* Measurements of earlier runs and of the network; 0: unknown */
struct planner_history {
    int64_t model_bytes;           /* size of the model's parameters */
    double latency_s, bytes_per_s; /* latency and bandwidth of the slowest node's link */
    /* Algorithm with which the job has trained; other modes cannot use its checkpoints. NULL: the
     * job has not trained.
     */
    const char *algorithm;
    /* wire format with which the job began; SYNC_WIRE_AUTO: it is not chosen yet */
    enum sync_wire wire;
    /* options of the plan in force, which replace the job's for `algorithm`; NULL: there are none.
     * Other algorithms are predicted with the job's.
     */
    const struct sync_options *kept;
    /* [n_nodes] rank that each node's first worker had when the job began; NULL: the job begins
     * now.
     */
    const int *began_as;
    const struct planner_time *time; /* [n_times] times of workers, in any order */
    int n_times;
    const struct planner_bound *bound; /* [n_bounds] memory bounds of workers, in any order */
    int n_bounds;
    const struct planner_line *line; /* [n_lines] memory of cards without a bound */
    int n_lines;
    bool takes_pieces;   /* the program splits batches into micro-batches of the planned size */
    int64_t n_gradients; /* number of gradients that an earlier run had in buckets */
    int64_t samples;     /* number of samples of the whole job, all epochs together */
    int64_t samples_in_epoch;
    /* [n_efficiencies] efficiencies of algorithms, measured with this program */
    const struct efficiency_row *efficiency;
    int n_efficiencies;
    /* what the program reported of its model; known if model_bytes is known */
    struct program program;
};

/* Return the precision by whose rates GPUs are compared: what the job sets, else what the program
 * has reported, else PRECISION_FP32.
 */
enum precision planner_precision(const struct job *job, const struct program *program);

/* Format in ret the key under which a worker's measurements are stored. The key contains all on
 * which speed and memory depend: the node, the device and its driver, the worker's processors, its
 * index among the node's workers, the node's limits, and the software that the job names for it.
 */
void planner_key(const char *host, const struct node_profile *node, const struct plan_worker *w,
                 char ret[PLANNER_KEY]);

/* Format in ret the key under which the memory of a program on cards of this kind is stored: the
 * card's name, and the software that the job names for the node.
 */
void planner_card_key(const struct node_profile *node, const struct device *card,
                      char ret[PLANNER_KEY]);

/* Enter what the job sets for this host into the node's profile: name, number of workers, maximum
 * batch and devices; devices that the job does not list are removed. Return 0, or -EINVAL: the node
 * lacks a listed device, and its profile is unchanged.
 */
int planner_host(const struct job_host *host, struct node_profile *node, struct eddis_error *err);

/* Return how many workers run on a node if none is left out: as the job asks, or one per device.
 * -EINVAL: the node cannot have them.
 */
int planner_count(const struct job *job, const struct node_profile *node);

/* Make a plan of generation 1, version 1, in *ret; the caller frees it with plan_free. A node has
 * one worker per emulated device, else per GPU, else per NUMA node. If the node or the job sets a
 * number of workers, they divide the cores of a CPU node. Workers that the nodes' profiles leave
 * out (drop.h), and nodes without a worker, are not in the plan. history may be NULL. Return 0;
 * -EINVAL: the nodes cannot give what the job asks for; or another negative errno.
 */
int planner_plan(const struct job *job, const struct node_profile *nodes, int n_nodes,
                 const struct planner_history *history, struct plan **ret, struct eddis_error *err);

/* Make a plan in *ret that has all workers of the nodes, with their time models, and nothing else;
 * the caller frees it. Return as planner_plan.
 */
int planner_workers(const struct job *job, const struct node_profile *nodes, int n_nodes,
                    const struct planner_history *history, struct plan **ret,
                    struct eddis_error *err);

/* Complete a plan of planner_workers, from which workers may have been removed: limits, batches,
 * mode and predictions. Nodes without a worker are removed. Return as planner_plan; after a failure
 * the caller can only free the plan.
 */
int planner_complete(const struct job *job, const struct node_profile *nodes,
                     const struct planner_history *history, struct plan *p,
                     struct eddis_error *err);

/* Return the nodes, network and model of a plan for a prediction of its steps, without workers. */
struct modes_setup planner_network(const struct plan *p, const struct planner_history *history);

/* Check whether p, a plan for a new job, may still change when the program reports the size of its
 * model: its mode, or the wire format, period or groups that the job leaves open.
 */
bool planner_is_open(const struct job *job, const struct plan *p);

/* Write into the reason of p, a plan that is open (planner_is_open), what will be chosen when the
 * program reports the size of its model. For programs that never report the size the reason stays.
 */
void planner_leave_open(const struct job *job, struct plan *p);

/* A running job's measurements of one worker. */
struct planner_worker {
    int64_t batch; /* batch of the worker in the new plan, in samples */
    double fixed_s, sample_s;
    enum time_source time;
    int64_t largest; /* largest batch measured, in samples; 0: none */
    int64_t piece;   /* size of a micro-batch, as in struct plan_worker */
};

/* Make a new plan in *ret from plan p of a running job: workers, mode and groups are those of p,
 * batches and times those of w [p->n_workers], predictions are new. period: steps between
 * exchanges; 0: that of p. The caller frees the plan. Return 0 or a negative errno.
 */
int planner_again(const struct job *job, const struct plan *p, const struct planner_worker *w,
                  int64_t period, const struct planner_history *history, struct plan **ret,
                  struct eddis_error *err);

/* Return the predicted samples per second of the job with these batches and the plan's time models;
 * a synchronous step lasts as long as its slowest worker. 0: there are no samples.
 */
double planner_throughput(const struct plan *p, const int64_t *batch);

/* Return the samples per second that the devices would reach if no worker waited for another: the
 * sum over workers of batch / (fixed_s + sample_s * batch).
 */
double planner_ideal(const struct plan *p);

/* Check a plan given with --plan against the job (global batch, seed, mode) and the present nodes:
 * they must be as many, have the plan's devices and cores, and their emulated devices the same
 * speed. Fill in the plan's node names, and the length of the job's epoch, from history, which may
 * be NULL. -EINVAL: it does not fit; err says why, and the plan is unchanged.
 */
int planner_adopt(struct plan *p, const struct job *job, const struct node_profile *nodes,
                  int n_nodes, const struct planner_history *history, struct eddis_error *err);

#endif
