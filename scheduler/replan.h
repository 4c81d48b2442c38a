/* SPDX-License-Identifier: Apache-2.0 */
/* replan.h - decides when to change the batches of a running job, and to what
 *
 *     measurements of each worker -> learners -> best split -> gain -> proposal
 *                               publish -> agreed -> in force -> measurements ...
 *
 * A proposal is made if all of this holds:
 *     - Every worker that has samples follows the last plan, and has done so for a gap:
 *       max(gap_s, gap_steps steps).  All workers have agreed on every published plan version.
 *     - The step is predicted to become shorter by more than the change costs, and by more than
 *       noise explains.  Noise is estimated from the quartiles of the workers' times, so the
 *       threshold falls as steps under the plan add up.
 *
 * If the first plan was made by a probe's rates of GPUs, the first proposal by times waits for no
 * gap, only for times of every worker that has samples: rates may be wrong by a factor.
 *
 * If a plan gives less than a quarter of the promised gain, the speeds from which it was made did
 * not last, as on a machine that others use. Then the gap doubles, so that the next plan is made
 * from more steps. If steps are longer than under the previous plan, the plan is undone after one
 * gap, whatever the models predict. The time of some devices is not linear, for example if a quota
 * throttles them: from steps with few samples they look faster than they are with many.
 *
 * If speeds change sooner than plans can follow, as on shared cores, the batches are chosen that
 * would have been best over the last seconds together. A plan that was made from a single moment,
 * before the speeds were known to change, is undone if over those seconds it is no better than the
 * last plan that held for long.
 *
 * If a speed wanders (step_window.h), plans follow the newest speeds, but only every 25 steps, and
 * the gain must pay for a step in these. Promises are not checked and the gap does not double,
 * since shares go back and forth for a reason. A worker whose speed wanders gets slightly fewer
 * samples than its speed allows: if it becomes slower, all others wait for it.
 *
 * No worker gets more than twice the largest batch measured on it. If a worker's share moves back
 * and forth, moves are halved and the gap doubles, until a plan has held for long.
 *
 * If workers or groups train models of their own, batches are chosen to give equal intervals
 * between exchanges. No worker waits for another then, so this promises no throughput, and a
 * larger gain is required. In rounds (ALGORITHM_ROUNDS) groups do wait, and the gain is as for one
 * model. Batches and period of a round are those of the plan in force when it begins.
 *
 * The measurement of the network is used until exposed communication contradicts it; waiting for
 * others' compute does not count. Then the measured latency and bandwidth are scaled until the
 * predicted communication is the measured one. The period between exchanges follows the network
 * and the workers' speeds.
 *
 * Pure: time comes with each call, in seconds since any moment. Equal calls give equal answers.
 */
#ifndef EDDIS_SCHEDULER_REPLAN_H
#define EDDIS_SCHEDULER_REPLAN_H

#include "efficiency.h"
#include "learner.h"
#include "modes.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct replan_worker {
    struct time_model first;
    enum time_source source;
    int64_t batch, min, max; /* samples; min and max as in split.h */
    int node, group;         /* node and group of the worker, from 0, as in the plan */
};

struct replan_setup {
    const struct replan_worker *worker; /* [n] by rank; copied */
    int n;
    int64_t version, grain;       /* of the plan in force; as in split.h */
    const char *algorithm;        /* its name */
    int64_t period;               /* steps between exchanges; 0: the algorithm has none */
    bool keep_period;             /* the job sets the period */
    struct modes_setup network;   /* without workers; 0: unknown, then the period stays */
    struct efficiencies measured; /* of the program; copied */
    double gap_s;                 /* 0: 1 */
    int64_t gap_steps;            /* 0: 5 */
    double least_gain; /* relative gain that a change must promise without noise; 0: 0.01 */
    bool
        early; /* the first plan is by rates of a probe: the first plan by times waits for no gap */
};

struct replan_proposal {
    const int64_t *batch; /* [n] new batches, borrowed until the next call */
    int64_t period;       /* new steps between exchanges; 0: unchanged */
    /* predicted relative gain: 0.25 is a step of 1 / 1.25 of the present time; if only the period
     * changes, the relative gain of progress
     */
    double gain;
    double wanted; /* threshold that the gain had to exceed */
    /* rank that is the reason for the change: the slowest worker, or a worker whose batch is out of
     * bounds; -1: only the period changes
     */
    int rank;
    /* the changes of batches were halved, since shares moved back and forth */
    bool halved;
    char reason[256]; /* reason for the change, one sentence */
};

struct replan;

/* Create a re-planning policy in *ret for the plan that s describes and that is in force. The
 * caller frees it with replan_free. Return 0, -EINVAL or -ENOMEM.
 */
int replan_new(const struct replan_setup *s, struct replan **ret, struct eddis_error *err);
void replan_free(struct replan *r);

/* Add a report of a worker's steps. Reports with too few points are ignored; now_s is unused. */
void replan_metrics(struct replan *r, int rank, const struct step_metrics *f, double now_s);

/* Change the least and the most samples of a worker, for example from measured memory. If the
 * worker's batch is out of these bounds, the next decision changes the plan even without a gain.
 */
void replan_bounds(struct replan *r, int rank, int64_t min, int64_t max);

/* How long a worker's steps have waited for communication, summed since its process started */
struct replan_exposed {
    int64_t plan;      /* plan version of the last step */
    int64_t steps;     /* number of steps */
    int64_t exchanges; /* number of steps that began with an exchange of models */
    double exposed_s;  /* exposed communication of these steps, in seconds */
    double exchange_s; /* time of exchanges of models: part of exposed_s, and what steps hid */
};

/* Add a report of a worker's exposed communication. */
void replan_exposed(struct replan *r, int rank, const struct replan_exposed *e);

/* A contradiction between the network's measurement and the exposed communication of steps */
struct replan_contradiction {
    double measured_s, predicted_s; /* exposed communication of a step */
    double times; /* factor on the network's times; below 1: it is faster than measured */
    struct modes_setup network; /* network assumed from now on, without workers */
};

/* Return whether the exposed communication of at least 20 steps and two exchanges contradicts the
 * measured network; the first and the second half of these steps must both contradict it. If so,
 * scale the network's times to fit, allow a new choice of the period, fill *ret, and require more
 * steps for the next contradiction.
 */
bool replan_contradicted(struct replan *r, struct replan_contradiction *ret);

/* Enter new measurements of the network or the model, without workers; if they differ, the period
 * is chosen again.
 */
void replan_network(struct replan *r, const struct modes_setup *n);

/* Begin to learn worker `rank` from another first model, until steps of it are measured. */
void replan_first(struct replan *r, int rank, const struct time_model *first,
                  enum time_source source);

/* Record that a plan version with these batches and this period was published, no matter who
 * proposed it. batch [n] is copied; period 0: unchanged.
 */
void replan_published(struct replan *r, int64_t version, const int64_t *batch, int64_t period);

/* Record that all workers have agreed on the step at which they change to this plan version. */
void replan_agreed(struct replan *r, int64_t version, double now_s);

/* Return whether another plan is worth the change, and fill *ret with it. Until replan_published is
 * called, the caller may ask again, and the answer is computed from the newest measurements.
 */
bool replan_decide(struct replan *r, double now_s, struct replan_proposal *ret);

/* Return whether steps under the plan in force take more than 2.5 % more or less than predicted_s,
 * and fill *ret with their time. This time is the longest learnt own time, plus the rest of the
 * step of the worker that waits least. At least 20 steps of the plan are needed, and another 20
 * after each result of true. False if workers or groups train models of their own, since then no
 * worker's time is that of the step.
 */
bool replan_predicts(struct replan *r, double predicted_s, double *ret);

/* Return whether communication takes so long that one worker with all samples would be 1.2 times as
 * fast as any split. If so, fill *ret_rank with this worker and *ret_times with the speedup over
 * the present steps. This needs 20 steps of the plan in force, and must hold for another 20. False
 * if no worker may have so many samples, or if workers or groups train models of their own.
 */
bool replan_alone(struct replan *r, int *ret_rank, double *ret_times);

/* Borrow the learner of worker `rank`. */
const struct learner *replan_learner(const struct replan *r, int rank);

/* A worker's time model and its source. */
struct replan_time {
    struct time_model t;
    enum time_source source;
};

/* Fill ret [n] with the workers' time models. If a worker's model is only a ratio and no step of it
 * was measured, convert the ratio to seconds by the measured workers, as a guess.
 */
void replan_times(const struct replan *r, struct replan_time *ret);

#endif
