/* SPDX-License-Identifier: Apache-2.0 */
/* predictors.h - predicts how fast each algorithm of lib/model/algorithm is for a plan's workers
 *
 * The table of predictors has one row for each algorithm, with the algorithm's name; a test
 * compares it with the table in lib/model/algorithm.
 */
#ifndef EDDIS_SCHEDULER_PREDICTORS_H
#define EDDIS_SCHEDULER_PREDICTORS_H

#include "lib/base/error.h"
#include "lib/model/algorithm.h"
#include "scheduler/modes.h"

struct predictor_input {
    struct modes_setup setup;
    const int *group; /* [setup.n] group of each worker, for algorithms that have groups */
    int n_groups;
    /* the job's options; after a restart, with the wire format that the job began with */
    const struct sync_options *wanted;
};

struct prediction {
    /* [n] group of each worker, borrowed; NULL: each worker is a group, or there are no groups */
    const int *group;
    /* number of models that are trained; 0: all workers train one model */
    int writers;
    /* the job's options, with values for those that the job leaves open */
    struct sync_options options;
    /* period that would be chosen for a longer job; 0: the same as for this job */
    int64_t free_period;
    double samples_per_s;
    /* speedup by a 16-bit wire format that eddis chose; 0: eddis chose no such format */
    double wire_gain;
};

struct predictor {
    const char *name;
    int (*predict)(const struct predictor_input *in, struct prediction *ret,
                   struct eddis_error *err);
};

/* Borrow the rows of the table of predictors in *ret. Return the number of rows. */
size_t predictors(const struct predictor **ret);

/* Predict the speed of algorithm a, and fill *ret. If the job leaves the wire format open, and
 * bfloat16 between nodes is predicted to be faster by ALGORITHM_MARGIN, choose bfloat16. Return 0;
 * -ENOTSUP: the algorithm has no predictor; -ENOMEM.
 */
int predictors_run(const struct algorithm *a, const struct predictor_input *in,
                   struct prediction *ret, struct eddis_error *err);

#endif
