/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - computes integer batch sizes that minimize the time of the worker that finishes last
 *
 * Give the next grain of samples to the worker that would finish earliest with it: this is optimal
 * for any non-decreasing t_i (Ibaraki and Katoh 1988; Beaumont et al. 2001, Alg. 3.1). The same
 * result is found by bisection on the finish time. Ties go to the lower rank and the arithmetic has
 * a fixed order, so equal input gives equal output everywhere.
 */
#ifndef EDDIS_SCHEDULER_SPLIT_H
#define EDDIS_SCHEDULER_SPLIT_H

#include "lib/base/error.h"
#include "scheduler/time_model.h"

#include <stdint.h>

struct split_worker {
    struct time_model t;
    int64_t min, max; /* least and most samples, min <= max; max INT64_MAX: no upper bound */
};

/* Write the batch b of each of n workers to ret [n]. The batches add up to total exactly, and min
 * <= b <= max for each worker. b - min is a multiple of grain, except for one worker if total is no
 * such sum. Return 0; -ERANGE: total is less than the sum of min or more than the sum of max, and
 * err names the bound; -EINVAL: an argument is out of range; -ENOMEM.
 */
int split_optimal(const struct split_worker *w, int n, int64_t total, int64_t grain, int64_t *ret,
                  struct eddis_error *err);

/* Write the equal split to ret [n]: total / n each, and one more for the first total % n. */
void split_equal(int n, int64_t total, int64_t *ret);

#endif
