/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - decides which workers form a group in hybrid mode, and how a group's batch is divided
 *
 * Members of a group wait for each other at every step; one group never waits for another. So
 * members should be close to each other in the network, or equally fast. If the job lists groups,
 * its groups are used. Otherwise the workers of each node form a group. If each node has one
 * worker, or there is only one node, the workers are sorted by speed and cut into about sqrt(n)
 * sequences of equal length. Pure: equal input gives equal groups.
 */
#ifndef EDDIS_SCHEDULER_GROUPS_H
#define EDDIS_SCHEDULER_GROUPS_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "scheduler/split.h"

#include <stdint.h>

struct group_worker {
    /* index of the worker's node, from 0; never smaller than that of the previous worker */
    int node;
    double samples_per_s; /* the worker's speed with a large batch */
};

/* Write the number of each worker's group to ret [n]; groups are numbered from 0 without gaps.
 * Return the number of groups. wanted: the groups that the job lists. began_as [n]: the ranks that
 * these workers had when the job began (NULL: it begins now); lost ranks are removed from the
 * listed groups, and empty groups vanish. -EINVAL: the job's groups do not fit n workers.
 */
int groups_form(const struct group_worker *w, int n, const struct job_groups *wanted,
                const int *began_as, int *ret, struct eddis_error *err);

/* Divide the sum of each group's batches in batch [n] again among the members of the group, so that
 * the members finish as nearly at the same time as possible. Bounds, grain and result are as for
 * split_optimal.
 */
int groups_balance(const struct split_worker *w, const int *group, int n, int64_t grain,
                   int64_t *batch, struct eddis_error *err);

#endif
