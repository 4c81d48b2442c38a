/* SPDX-License-Identifier: Apache-2.0 */
/* predictors.h - how fast each algorithm of lib/model/algorithm would be for a plan's workers
 *
 * One row an algorithm, of the same name as its row there; a test compares the two tables.
 */
#ifndef EDDIS_SCHEDULER_PREDICTORS_H
#define EDDIS_SCHEDULER_PREDICTORS_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "scheduler/modes.h"

struct predictor_input {
    struct modes_setup setup;
    const int *group; /* [setup.n] groups of workers, for algorithms that have some */
    int n_groups;
    const struct sync_options *wish; /* of the job; its wire may be of what it has begun with */
};

struct prediction {
    const int *group;            /* borrowed [n]; NULL: each worker is one, or there are none */
    int writers;                 /* of models of their own; 0: there is one model */
    struct sync_options options; /* the job's, and what was left open */
    int64_t free_period;         /* that a longer job would have had; 0: the same */
    double samples_per_s;
    /* Where the wire was left open and is not float32: times as many samples. */
    double wire_gain;
};

struct predictor {
    const char *name;
    int (*predict)(const struct predictor_input *in, struct prediction *ret,
                   struct eddis_error *err);
};

/* Borrows the rows; returns their number. */
size_t predictors(const struct predictor **ret);

/* Predict the algorithm, with bfloat16 between nodes where the wish leaves that open and it is
 * ALGORITHM_MARGIN ahead.  -ENOTSUP: nothing predicts it.
 */
int predictors_run(const struct algorithm *a, const struct predictor_input *in,
                   struct prediction *ret, struct eddis_error *err);

#endif
