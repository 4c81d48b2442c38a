/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - which workers train as one group in hybrid mode, and how they share its batch
 *
 * Members of a group wait for each other at every step, groups never: so members should be near
 * each other or alike.  A pure function, the same on every call: groups given by the job are taken;
 * else the workers of a node are one group; else, where nodes have one worker each or there is one
 * node, workers are sorted by speed and cut into runs of equal count, about as many runs as each is
 * long.
 */
#ifndef EDDIS_SCHEDULER_GROUPS_H
#define EDDIS_SCHEDULER_GROUPS_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "scheduler/split.h"

#include <stdint.h>

struct group_worker {
    int node;             /* from 0, not falling from worker to worker */
    double samples_per_s; /* of a large batch */
};

/* Write the group of each of n workers to ret [n]: numbers from 0 without a gap.  Returns how many
 * groups there are.  began_as [n]: their ranks when the job began, of which some may be gone since:
 * groups lose these, and a group that has no more members vanishes; NULL: it begins now.  -EINVAL:
 * the job's wish does not fit n workers.
 */
int groups_form(const struct group_worker *w, int n, const struct job_groups *wish,
                const int *began_as, int *ret, struct eddis_error *err);

/* Split each group's sum of batch [n] again among its members, so that they finish together as
 * nearly as may be; bounds and grain as in split_optimal.
 */
int groups_balance(const struct split_worker *w, const int *group, int n, int64_t grain,
                   int64_t *batch, struct eddis_error *err);

#endif
