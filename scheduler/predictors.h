/* SPDX-License-Identifier: Apache-2.0 */
/* predictors.h - predicts how fast each algorithm of lib/model/algorithm is for given workers
 *
 * The table of predictors has one row for each algorithm, with the algorithm's name; a test
 * compares it with the table in lib/model/algorithm.
 */
#ifndef EDDIS_SCHEDULER_PREDICTORS_H
#define EDDIS_SCHEDULER_PREDICTORS_H

#include "lib/base/error.h"
#include "scheduler/modes.h"

struct predictor {
    const char *name;
    /* Store the samples per second in *ret. group [s->n]: the group of each worker; NULL: there are
     * no groups. period: steps between exchanges of models, for algorithms that exchange models.
     * Return 0 or -ENOMEM.
     */
    int (*predict)(const struct modes_setup *s, const int *group, int64_t period, double *ret,
                   struct eddis_error *err);
};

/* Borrow the rows of the table of predictors in *ret. Return the number of rows. */
size_t predictors(const struct predictor **ret);

/* Predict the samples per second of the algorithm with this name, as struct predictor says. Return
 * 0; -ENOTSUP: the algorithm has no predictor; -ENOMEM.
 */
int predictors_run(const char *name, const struct modes_setup *s, const int *group, int64_t period,
                   double *ret, struct eddis_error *err);

#endif
