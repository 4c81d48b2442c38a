/* SPDX-License-Identifier: Apache-2.0 */
/* sample_rounds.h - divides the samples of local training into rounds, and a round among groups
 *
 * Groups of workers train models of their own, which they combine at the end of a round.  A round
 * has `period` global batches of samples, B each.  An epoch's end is a round's end: if it does not
 * have a whole number of rounds, the last two are shorter than a round and nearly equal.
 *
 *     a round of 16 samples       |-- group 0: 10 ------------|-- group 1: 6 --|
 *     batches 5 and 3, period 2   | step 3 | step 3 | step 4  | step 3 | step 3|
 *
 * Each group gets samples in proportion to its batch, so all groups end a round at the same time.
 * A step of a group has at most the samples of an equal share of B, and at most those of the
 * group's batch.  So a fast group makes more steps than a slow one, not larger ones, and no step
 * needs more memory than the plan allows.  With a period of 1 each group makes one step.  A step is
 * larger only where min_count forbids to divide it.
 *
 * In a short round a group gets at least min_count samples, or 1, if there are as many for each;
 * the last two rounds of an epoch are divided so that there are.
 *
 * Pure arithmetic: equal arguments give equal results on all workers.
 */
#ifndef EDDIS_DATA_SAMPLE_ROUNDS_H
#define EDDIS_DATA_SAMPLE_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* How samples are divided. */
struct rounds_plan {
    const int64_t *batch; /* [n_groups] samples of each group in a global batch */
    int n_groups;
    int64_t period;    /* global batches of a round, at least 1 */
    int64_t min_count; /* fewest samples of a group in a step; a group may get none in a round */
};

/* A group's part of a round. */
struct rounds_part {
    int64_t first, count; /* samples first .. first + count - 1 of the round */
    int64_t steps;        /* steps that the group makes; 0: it has no samples */
};

/* Return the samples of the next round if `left`, at least 1, are left of the epoch. */
int64_t rounds_size(const struct rounds_plan *p, int64_t left);

/* Check whether every group gets samples in a round of `size` samples. */
bool rounds_feed_all(const struct rounds_plan *p, int64_t size);

/* Return a group's part of a round of `size` samples. */
struct rounds_part rounds_part(const struct rounds_plan *p, int64_t size, int group);

/* Return the first sample of step i of a part, from the part's first one; for i equal to the number
 * of steps, the part's count.
 */
int64_t rounds_step(const struct rounds_part *p, int64_t i);

#endif
