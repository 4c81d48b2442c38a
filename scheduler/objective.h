/* SPDX-License-Identifier: Apache-2.0 */
/* objective.h - predicts the progress of a training, the figure by which plans are compared
 *
 *     progress = samples per second (modes.h) * efficiency (efficiency.h)
 *
 * The efficiency is the progress per sample relative to synchronous training. The choice of a mode,
 * its groups, wire format and period, and of the period while a job runs, all go by this figure.
 */
#ifndef EDDIS_SCHEDULER_OBJECTIVE_H
#define EDDIS_SCHEDULER_OBJECTIVE_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "scheduler/efficiency.h"
#include "scheduler/modes.h"

#include <stdbool.h>
#include <stdint.h>

/* A way to train: all but the period between exchanges of models. Members are borrowed. */
struct objective_way {
    const struct modes_setup *setup; /* workers, network, model and wire format */
    const struct algorithm *algorithm;
    /* [setup->n] group of each worker; NULL: each worker is a group, or all train one model */
    const int *group;
    int writers; /* number of models that are trained; 0: all workers train one model */
    const struct efficiencies *measured; /* of this program; NULL: none */
};

/* What a way to train is predicted to give */
struct forecast {
    double samples_per_s;
    double efficiency; /* progress per sample, relative to synchronous training */
};

/* Return the samples per second of synchronous training that make as much progress. */
double forecast_progress(struct forecast p);

/* Predict the progress with this period, in steps; it has no effect if all workers train one model.
 * Return 0 or -ENOMEM.
 */
int objective_at(const struct objective_way *way, int64_t period, struct forecast *ret,
                 struct eddis_error *err);

/* Check whether each round of an epoch has more steps than the overlap, so that a round's result is
 * applied before the next round ends. The last two rounds of an epoch are shorter than the period,
 * so a longer period may not outlast an overlap that a shorter one does.
 */
bool objective_outlasts(const struct objective_way *way, int64_t period);

/* Find in *ret the period with the most progress, from 1 to the longest that leaves the job
 * MODES_LEAST_EXCHANGES exchanges, but at most MODES_MAX_PERIOD, and of rounds (ALGORITHM_ROUNDS)
 * at most an epoch and the longest whose round takes at most MODES_ROUND_S. Its rounds outlast the
 * overlap (objective_outlasts), or it is the longest if no period's do. Of such periods, neither
 * the next longer or shorter one nor half or double has more. If the size of the model is unknown,
 * the period is the first such one from MODES_PERIOD on, or the longest if that is shorter. The way
 * must train several models. Return 0 or -ENOMEM.
 */
int objective_best_period(const struct objective_way *way, int64_t *ret, struct eddis_error *err);

/* Groups into which an algorithm may put the workers */
struct objective_groups {
    const int *group; /* [setup.n] group of each worker */
    int n;            /* number of groups */
};

struct objective_input {
    struct modes_setup setup;              /* the wire format has no effect */
    const struct objective_groups *groups; /* [n_groups] choices for algorithms that have groups */
    int n_groups;
    const struct efficiencies *measured; /* of this program; NULL: none */
    /* the job's options, or those with which it goes on with this algorithm */
    const struct sync_options *wanted;
};

/* The best way to train by one algorithm */
struct objective_choice {
    /* [n] group of each worker, borrowed; NULL: each worker is a group, or there are no groups */
    const int *group;
    /* number of models that are trained; 0: all workers train one model */
    int writers;
    /* the job's options, with values for those that the job leaves open */
    struct sync_options options;
    struct forecast forecast;
    /* progress with a 16-bit wire format that eddis chose by that with float32; 0: eddis chose no
     * such format
     */
    double wire_gain;
};

/* Find the groups, the wire format and the period with which the algorithm makes the most progress,
 * as far as the job leaves them open. An exact algorithm sends float32 unless bfloat16 makes
 * ALGORITHM_MARGIN times its progress; float16 is never chosen, since its range is not that of
 * gradients. Return 0; -ENOTSUP: the algorithm has no predictor; -ENOMEM.
 */
int objective_best(const struct algorithm *a, const struct objective_input *in,
                   struct objective_choice *ret, struct eddis_error *err);

#endif
