/* SPDX-License-Identifier: Apache-2.0 */
/* replan.h - when a running job's batches are worth changing, and to what
 *
 *     measurements of each worker -> learners -> best split -> gain -> proposal
 *                               publish -> agreed -> in force -> measurements ...
 *
 * A proposal is made if all of this holds:
 *     - Every worker that has samples follows the last plan, and has done so for max(gap_s,
 *       gap_steps steps).  No published plan version is still to be agreed on.
 *     - The step is predicted to become shorter by more than the change costs, and by more than
 *       noise explains.  Noise is estimated from the quartiles of the workers' times, so the
 *       threshold falls as steps under the plan add up.
 * If a plan gives less than a quarter of the promised gain, its measurements did not last, as on a
 * machine that others use. Then the gap doubles, so the next plan is made from more steps. If steps
 * are longer than before a plan, it is undone after one gap, whatever the models predict. Some
 * devices have no linear time, for example if throttled by a quota: they look faster with few
 * samples than they are with many.
 *
 * If speeds change sooner than plans can follow, as on shared cores, the plan is kept that
 * would have been best over the last seconds together. A plan made from a single moment, before
 * this was known, is undone if it is no better over those seconds than the last plan that held for
 * long.
 *
 * No worker gets more than twice the largest batch measured on it. If a share moves back and forth,
 * moves are halved and the gap doubles, until a plan has held for long.
 *
 * If workers or groups train models of their own, batches give equal intervals between exchanges.
 * Nobody waits there, so this promises no throughput, and a larger gain is required.
 *
 * The network measurement is believed until exposed communication contradicts it; waiting for
 * others' compute does not count. Then its latency and bandwidth are scaled until the prediction is
 * what was measured. The period between exchanges follows the network and the workers' speeds.
 *
 * Pure: time comes with each call, in seconds since any moment. Equal calls give equal answers.
 */
#ifndef EDDIS_SCHEDULER_REPLAN_H
#define EDDIS_SCHEDULER_REPLAN_H

#include "learner.h"
#include "modes.h"

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct replan_worker {
    struct time_model first;
    enum time_source source;
    int64_t batch, min, max; /* samples; min and max as in split.h */
    int node, group;         /* from 0, as in the plan */
};

struct replan_setup {
    const struct replan_worker *worker; /* [n] by rank; copied */
    int n;
    int64_t version, grain;     /* of the plan in force; as in split.h */
    const char *algorithm;      /* its name */
    int64_t period;             /* steps between exchanges; 0: the algorithm has none */
    bool keep_period;           /* the job sets the period */
    struct modes_setup network; /* without workers; 0: unknown, then the period stays */
    double gap_s;               /* 0: 1 */
    int64_t gap_steps;          /* 0: 5 */
    double least_gain; /* relative gain that a change must promise without noise; 0: 0.01 */
};

struct replan_proposal {
    const int64_t *batch; /* [n], borrowed until the next call */
    int64_t period;       /* 0: as before */
    double gain;          /* predicted: 0.25 is a step of 1 / 1.25; if only the period changes, the
                           * relative change of samples per second, which may be negative */
    double wanted;        /* threshold that the gain had to pass */
    int rank;             /* slowest worker, or a worker out of bounds: the reason for the change;
                           * -1: none, if only the period changes */
    bool halved;          /* moves were halved, since shares went back and forth */
    char reason[256];     /* one sentence */
};

struct replan;

/* Return a policy for a plan whose batches are in force in *ret; free it with replan_free.
 * -EINVAL, -ENOMEM.
 */
int replan_new(const struct replan_setup *s, struct replan **ret, struct eddis_error *err);
void replan_free(struct replan *r);

/* Add a report of a worker's steps. Reports with too few points are ignored; now_s is unused. */
void replan_metrics(struct replan *r, int rank, const struct step_metrics *f, double now_s);

/* Change a worker's bounds, for example from measured memory. If its batch is out of bounds, the
 * plan is changed whatever it gains.
 */
void replan_bounds(struct replan *r, int rank, int64_t min, int64_t max);

/* How long a worker's steps have waited for communication, summed over its process. */
struct replan_exposed {
    int64_t plan;      /* plan version of the last step */
    int64_t steps;     /* number of steps */
    int64_t exchanges; /* number of steps that began with an exchange of models */
    double exposed_s;  /* sum over the steps */
    double exchange_s; /* the part of exchanges, as the worker measured it */
};

/* Add a report of a worker's exposed communication. */
void replan_exposed(struct replan *r, int rank, const struct replan_exposed *e);

/* A network that differs from its measurement. */
struct replan_contradiction {
    double measured_s, predicted_s; /* exposed communication of a step */
    double times; /* factor on the network's times; below 1: it is faster than measured */
    struct modes_setup network; /* network assumed from now on, without workers */
};

/* Return whether the exposed communication of at least 20 steps and two exchanges contradicts the
 * network, both halves alike. If so, refit the network, let the period be chosen again, and fill
 * *ret. The next time more steps are required.
 */
bool replan_contradicted(struct replan *r, struct replan_contradiction *ret);

/* Enter new measurements of the network or the model, without workers; if they differ, the period
 * is chosen again.
 */
void replan_network(struct replan *r, const struct modes_setup *n);

/* Record that a plan version was published, by this policy or anyone. batch [n] is copied; period
 * 0: unchanged.
 */
void replan_published(struct replan *r, int64_t version, const int64_t *batch, int64_t period);

/* Record that all workers have agreed on the step from which this plan version holds. */
void replan_agreed(struct replan *r, int64_t version, double now_s);

/* Return whether another plan is worth it, and fill *ret. Until replan_published it may be
 * called again, and answers from the newest measurements.
 */
bool replan_decide(struct replan *r, double now_s, struct replan_proposal *ret);

/* Return whether steps under the plan in force differ from predicted_s by 2.5 % or more, and fill
 * *ret with their time. That is the longest own time as learnt, plus the rest of the step of the
 * worker that waits least. It needs 20 steps, and 20 more after each time it was true. False if
 * workers or groups train models of their own, since then no worker's time is the step's.
 */
bool replan_predicts(struct replan *r, double predicted_s, double *ret);

/* Return whether exchanges take so long that one worker alone, with all samples, would be 1.2 times
 * as fast as any split. Fill *ret_rank and *ret_times, the speedup over the present steps. It needs
 * 20 steps of the plan in force, and must hold for 20 more. False if no worker may have so many
 * samples, and if workers or groups train models of their own.
 */
bool replan_alone(struct replan *r, int *ret_rank, double *ret_times);

/* Borrow the learner of a worker. */
const struct learner *replan_learner(const struct replan *r, int rank);

/* A worker's time model and its source. */
struct replan_time {
    struct time_model t;
    enum time_source source;
};

/* Fill ret [n] with the workers' times. A ratio not yet measured is converted to seconds by those
 * that were measured, as a guess.
 */
void replan_times(const struct replan *r, struct replan_time *ret);

#endif
