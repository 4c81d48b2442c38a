/* SPDX-License-Identifier: Apache-2.0 */
/* predictors.h - predicts how fast each algorithm of lib/model/algorithm is for a plan's workers
 *
 * The table has one row per algorithm, with the name of its row there; a test compares the two
 * tables.
 */
#ifndef EDDIS_SCHEDULER_PREDICTORS_H
#define EDDIS_SCHEDULER_PREDICTORS_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "scheduler/modes.h"

struct predictor_input {
    struct modes_setup setup;
    const int *group; /* [setup.n] groups of workers, for grouped algorithms */
    int n_groups;
    const struct sync_options *wish; /* of the job; its wire may be that which the job began with */
};

struct prediction {
    const int *group;            /* borrowed [n]; NULL: each worker is a group, or there are none */
    int writers;                 /* number of models; 0: all workers train one */
    struct sync_options options; /* the job's, with open ones filled in */
    int64_t free_period;         /* period that a longer job would use; 0: the same */
    double samples_per_s;
    double wire_gain; /* speedup of a 16-bit wire format that eddis chose; 0: it did not */
};

struct predictor {
    const char *name;
    int (*predict)(const struct predictor_input *in, struct prediction *ret,
                   struct eddis_error *err);
};

/* Borrow the rows of the table. Return their number. */
size_t predictors(const struct predictor **ret);

/* Predict the algorithm. If the wire format is open, choose bfloat16 between nodes if it is
 * ALGORITHM_MARGIN ahead. -ENOTSUP: no predictor.
 */
int predictors_run(const struct algorithm *a, const struct predictor_input *in,
                   struct prediction *ret, struct eddis_error *err);

#endif
