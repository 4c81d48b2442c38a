/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h - decides which workers form a group in hybrid and local mode, and how its batch is
 * divided
 *
 * Members of a group wait for each other at every step; one group never waits for another. So
 * members should be close to each other in the network, or equally fast. If the job lists groups,
 * its groups are used. Otherwise there are several choices, and the planner takes the one that it
 * predicts to make the most progress. In local mode, whose groups all wait for each other at the
 * end of a round, groups need not be of equal speed, so the first choice is another. Pure: equal
 * input gives equal groups.
 */
#ifndef EDDIS_SCHEDULER_GROUPS_H
#define EDDIS_SCHEDULER_GROUPS_H

#include "lib/base/error.h"
#include "lib/model/job.h"
#include "scheduler/split.h"

#include <stdint.h>

enum { GROUPS_CHOICES = 64 };

struct group_worker {
    /* index of the worker's node, from 0; never smaller than that of the previous worker */
    int node;
    double samples_per_s; /* the worker's speed with a large batch */
};

/* Choices of groups for the same workers */
struct groups_choices {
    int n;                      /* number of choices, at most GROUPS_CHOICES */
    int n_workers;              /* number of workers */
    int groups[GROUPS_CHOICES]; /* [n] number of groups of each choice */
    int *group;                 /* [n * n_workers] group of each worker, choice by choice */
    int *rounds;                /* [n_workers] first choice with ALGORITHM_ROUNDS; part of
                                 * the memory of `group` */
    int n_rounds;               /* number of groups in `rounds` */
};

/* List in *ret the ways to group n workers, at least one; groups are numbered from 0 without gaps.
 * If the job lists groups or sets their number, there is one way. Otherwise the first way has a
 * group for each node; or, if each node has one worker or there is only one node, it sorts the
 * workers by speed and cuts them into about sqrt(n) sequences of equal length. The other ways join
 * whole nodes of similar speed, or cut the sorted workers into another number of sequences; none
 * has more than `most` groups. ret->rounds has a group for each node; or, if each node has one
 * worker or there is only one node, a group for each worker.
 *
 * wanted: the groups that the job lists. began_as [n]: the ranks that these workers had when the
 * job began (NULL: it begins now); lost ranks are removed from the listed groups, and empty groups
 * vanish. Return 0; -EINVAL: the job's groups do not fit n workers; -ENOMEM. groups_fini frees *ret
 * in each case.
 */
int groups_list(const struct group_worker *w, int n, const struct job_groups *wanted,
                const int *began_as, int64_t most, struct groups_choices *ret,
                struct eddis_error *err);

/* Borrow the groups [n_workers] of choice i. */
const int *groups_choice(const struct groups_choices *c, int i);

void groups_fini(struct groups_choices *c);

#define cleanup_groups __attribute__((cleanup(groups_fini)))

/* Divide the sum of each group's batches in batch [n] again among the members of the group, so that
 * the members finish as nearly at the same time as possible. Bounds, grain and result are as for
 * split_optimal.
 */
int groups_balance(const struct split_worker *w, const int *group, int n, int64_t grain,
                   int64_t *batch, struct eddis_error *err);

#endif
