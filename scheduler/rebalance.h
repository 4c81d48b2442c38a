/* SPDX-License-Identifier: Apache-2.0 */
/* rebalance.h - when a running job's batches are worth changing, and to what
 *
 *     figures of each worker -> learners -> the best split -> gain -> proposal
 *                                                  publish -> agreed -> in force -> figures ...
 *
 * A proposal is made when all of this holds:
 *   - the plan before it is in force on every worker that has samples, and has been for
 *     max(gap_s, gap_steps steps); nothing is published that is not yet agreed on
 *   - the step is predicted to become shorter by more than the change costs and more than the
 *     figures' own noise explains; the noise is that of the workers' quartiles, so that the
 *     threshold falls as steps of a plan add up
 * A plan that gives less than a quarter of the gain that it promised was made of figures that did
 * not last, as on a machine that others use: the gap doubles then, so that the next one is made of
 * more steps.  One under which steps are longer than before is undone after one gap, whatever the
 * models say: a device whose time is no line, as one that is throttled behind a quota, looks faster
 * with few samples than it is with many.
 *
 * Where speeds change sooner than plans can follow, as on cores that others use, the plan is kept
 * that would have been the best one in the last seconds, all of them.  One that a single moment has
 * made, before that was known, goes where it is no better by these than the last that held for
 * long.
 *
 * No worker gets more than twice the largest batch it was measured with.  When a part moves back
 * and forth, moves are halved and the gap doubles, until a plan has held for long.
 *
 * Where workers or groups train models of their own, batches serve equal intervals between
 * exchanges: nobody waits there, so throughput is not promised by it, and a larger gain is wanted.
 *
 * The network is believed until exposed communication contradicts it (what waits for others'
 * compute is none): then all that is known of its wires is scaled, so that the prediction is what
 * was measured.  The period between exchanges follows the network and the workers' speeds.
 *
 * Pure: time comes with each call, in seconds since any moment.  Equal calls, equal answers.
 */
#ifndef EDDIS_SCHEDULER_REBALANCE_H
#define EDDIS_SCHEDULER_REBALANCE_H

#include "learner.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct rebalance_worker {
    struct time_model first;
    enum time_source source;
    int64_t batch, min, max; /* samples; min and max as in split.h */
    int node, group;         /* from 0, as in the plan */
};

/* What joins the nodes; 0: unknown, the period stays then. */
struct rebalance_network {
    int n_nodes;
    int64_t model_bytes, bucket_bytes, n_gradients; /* as in modes.h */
    struct program program;                         /* likewise */
    double latency_s, bytes_per_s;
    enum sync_wire wire; /* of gradients */
    int64_t steps;       /* as in modes.h */
};

struct rebalance_setup {
    const struct rebalance_worker *worker; /* [n] by rank; copied */
    int n;
    int64_t version, grain; /* of the plan in force; as in split.h */
    const char *algorithm;  /* its name */
    int64_t period;         /* steps between exchanges; 0: the algorithm has none */
    bool keep_period;       /* it is the job's wish */
    struct rebalance_network network;
    double gap_s;      /* 0: 1 */
    int64_t gap_steps; /* 0: 5 */
    double least_gain; /* what a change must promise without any noise; 0: 0.01 */
};

struct rebalance_proposal {
    const int64_t *batch; /* [n], borrowed until the next call */
    int64_t period;       /* 0: as before */
    double gain;          /* predicted: 0.25 is a step of 1 / 1.25; of a period alone, so many more
                           * samples per second, or less */
    double wanted;        /* the threshold that it had to pass */
    int rank;             /* whose share changes most, relatively */
    bool halved;          /* moves were, for shares went back and forth */
    char reason[256];     /* one sentence */
};

struct rebalance;

/* Returns a policy for a plan whose batches are in force.  -EINVAL, -ENOMEM. */
int rebalance_new(const struct rebalance_setup *s, struct rebalance **ret, struct eddis_error *err);
void rebalance_free(struct rebalance *r);

/* A report of a worker's steps. */
void rebalance_figures(struct rebalance *r, int rank, const struct step_figures *f, double now_s);

/* A worker's bounds have changed, as by the memory that it was seen to use.  A plan out of bounds
 * is changed whatever it gains.
 */
void rebalance_bounds(struct rebalance *r, int rank, int64_t min, int64_t max);

/* What a worker's steps have waited for communication, all that its process has done. */
struct rebalance_exposed {
    int64_t plan;      /* version of the last of them */
    int64_t steps;     /* how many */
    int64_t exchanges; /* of models, with which so many of them began */
    double exposed_s;  /* sum */
    double exchange_s; /* the part of these exchanges, as the worker itself has seen it */
};

void rebalance_exposed(struct rebalance *r, int rank, const struct rebalance_exposed *e);

/* A network that is not what it was believed to be. */
struct rebalance_contradiction {
    double measured_s, predicted_s; /* exposed communication of a step */
    double times; /* as long as was believed all takes on the wire; below 1: less long */
    struct rebalance_network network; /* as it is believed to be from now on */
};

/* Returns whether what was exposed of 20 steps and two exchanges, or more, contradicts the network,
 * both halves of them alike; then the network is refitted, the period weighed again, and *ret
 * filled.  The next time more steps are wanted.
 */
bool rebalance_contradicted(struct rebalance *r, struct rebalance_contradiction *ret);

/* More is known of the network, or of the model, than before: the period is weighed again. */
void rebalance_network(struct rebalance *r, const struct rebalance_network *n);

/* A plan was published, this policy's or anybody's; batch [n] is copied, period 0: as before. */
void rebalance_published(struct rebalance *r, int64_t version, const int64_t *batch,
                         int64_t period);

/* All workers have agreed on the step from which that plan holds. */
void rebalance_agreed(struct rebalance *r, int64_t version, double now_s);

/* Returns whether another plan is worth it, and fills *ret.  Until rebalance_published it may be
 * asked again, and answers from what it knows by then.
 */
bool rebalance_decide(struct rebalance *r, double now_s, struct rebalance_proposal *ret);

/* Returns whether steps of the plan in force take another time than predicted_s, by 2.5 % or more,
 * and fills *ret: the longest own time as it was learnt, and what the worker that waits least waits
 * beside its own, for communication and for others whose times vary.  It wants 20 steps, and 20
 * more whenever it was true.  Where workers or groups train models of their own nobody's time is
 * the step's, and it is false.
 */
bool rebalance_predicts(struct rebalance *r, double predicted_s, double *ret);

/* Returns whether exchanges take so long that a worker by itself, with the samples of all, would be
 * 1.2 times as fast as all together by whatever split; fills *ret_rank and *ret_times, how many
 * times as fast as the steps that are made.  It wants 20 steps of the plan in force, and to stay
 * true for 20 more.  False where no worker may have so many samples, and where workers or groups
 * train models of their own.
 */
bool rebalance_alone(struct rebalance *r, int *ret_rank, double *ret_times);

/* Borrows what was learnt of a worker. */
const struct learner *rebalance_learner(const struct rebalance *r, int rank);

/* What a plan is predicted by. */
struct rebalance_time {
    struct time_model t;
    enum time_source source;
};

/* Fill ret [n] with the workers' times.  The ratio of one that was not measured yet is set beside
 * those that were, and is a guess in seconds then.
 */
void rebalance_times(const struct rebalance *r, struct rebalance_time *ret);

#endif
