/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - which workers form a group in hybrid mode, and how a group shares its batch
 *
 * Members of a group wait for each other at every step, groups never do. So members should be close
 * to each other in the network, or equally fast. Pure: equal input gives equal groups. If the job
 * lists groups, they are used. Otherwise the workers of each node form a group. If each node has
 * one worker, or there is one node, the workers are sorted by speed and cut into about sqrt(n) runs
 * of equal length.
 */
#ifndef EDDIS_SCHEDULER_GROUPS_H
#define EDDIS_SCHEDULER_GROUPS_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "scheduler/split.h"

#include <stdint.h>

struct group_worker {
    int node;             /* index from 0; never smaller than the previous worker's */
    double samples_per_s; /* for a large batch */
};

/* Write the group of each of n workers to ret [n], numbered from 0 without gaps. Return the number
 * of groups. began_as [n]: the workers' ranks when the job began; ranks lost since leave their
 * groups, and empty groups vanish. NULL: the job begins now. -EINVAL: the job's groups do not fit n
 * workers.
 */
int groups_form(const struct group_worker *w, int n, const struct job_groups *wish,
                const int *began_as, int *ret, struct eddis_error *err);

/* Split each group's sum of batch [n] among its members again, so that they finish as nearly
 * together as possible. Bounds and grain are as for split_optimal.
 */
int groups_balance(const struct split_worker *w, const int *group, int n, int64_t grain,
                   int64_t *batch, struct eddis_error *err);

#endif
