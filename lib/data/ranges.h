/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.h - samples that workers take from a shared counter instead of fixed shares
 *
 * An epoch has N samples.  Positions run through all epochs: position p is sample p mod N of the
 * permutation of epoch p / N.  A worker that wants samples adds their number to a shared counter
 * and owns the positions by which it advanced the counter.  So each position belongs to one worker,
 * and a fast worker takes more.  The job is over once the counter has passed the last position:
 *
 *     counter        0 ............ 40 ....... 64 ............ 104
 *     taken by       worker 0       worker 2   worker 0        worker 1
 *                                        |
 *                                        an epoch ends inside: two steps
 *
 * A range is one step, or several if an epoch ends inside it; steps that are too short are left
 * out.  After a restart only the remaining positions are handed out: the counter begins at 0 again
 * and counts through the list of unfinished ranges.  So every sample occurs exactly once in an
 * epoch, even if the split changes.
 *
 * This is the part of one worker or group: pure arithmetic on the counter's values.  Threads: like
 * sampler.h.
 */
#ifndef EDDIS_DATA_RANGES_H
#define EDDIS_DATA_RANGES_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ranges;

/* Positions first .. first + count - 1. */
struct range {
    int64_t first, count;
};

/* The options of ranges_open. */
struct ranges_options {
    int64_t samples;   /* N, the samples of an epoch */
    int64_t min_count; /* shorter steps are left out; 0: none */
    int64_t epochs;    /* 0: unlimited */
    /* [n_left] ranges to hand out, in order, copied; n_left 0: all positions */
    const struct range *left;
    size_t n_left;
    int64_t first_step; /* number of the first step */
    /* Samples that the job did before; they are not part of the counter's value. */
    int64_t done_before;
};

/* Make an empty queue of ranges of samples, one for each step.  Return 0 or a negative errno; the
 * caller frees *ret by ranges_close.
 */
int ranges_open(const struct ranges_options *o, struct ranges **ret, struct eddis_error *err);

/* Free r.  Accept NULL. */
void ranges_close(struct ranges *r);

/* Queue the steps of the range that was taken by adding `count` to the counter when its value was
 * `counter`.  That may be several steps, or none if all are too short.  If the counter is past the
 * end, record that nothing is left, for ranges_exhausted.  A count of 0 does nothing.  Return 0 or
 * -ENOMEM.
 */
int ranges_add(struct ranges *r, int64_t counter, int64_t count, struct eddis_error *err);

/* Return how many samples of an epoch are left to take: of the one in which the sample is at which
 * the counter is.  0: the counter is past the end.
 */
int64_t ranges_epoch_left(const struct ranges *r, int64_t counter);

/* Return how many samples the job has done when all up to this value of the counter are. */
int64_t ranges_passed(const struct ranges *r, int64_t counter);

/* Record whether the step that was queued last is the last of its epoch, so that ranges_look need
 * not wait for the step after it.
 */
void ranges_seal(struct ranges *r, bool ends_epoch);

/* Record that no samples are left. */
void ranges_exhaust(struct ranges *r);

/* Check whether no samples are left to take: the counter has passed the last sample. */
bool ranges_exhausted(const struct ranges *r);

/* Return the number of the step after the last queued one. */
int64_t ranges_end(const struct ranges *r);

/* The samples of one step. */
struct ranges_step {
    int64_t epoch, first, count; /* epoch, and positions first .. first + count - 1 in its
                                  * permutation */
    int64_t step_in_epoch;       /* number of the step in the epoch, from 0, counting this worker's
                                  * own steps */
    bool last_of_epoch;          /* this worker's next step is in a later epoch, or there is none */
    int64_t passed;              /* samples of the job up to the end of the step's range */
};

/* Store the samples of a step in *ret, and leave the step queued.  Return 1, or 0 if no samples are
 * left and the step is after the last one.  -EAGAIN, with err unchanged: wait, since no range has
 * been added yet for this step or for the next one, on which last_of_epoch depends; -ESTALE: the
 * step is over.
 */
int ranges_look(const struct ranges *r, int64_t step, struct ranges_step *ret,
                struct eddis_error *err);

/* Remove the steps up to this one, which are done. */
void ranges_finish(struct ranges *r, int64_t step);

/* Give the queued steps the numbers after `step`, because `step` itself has no samples. */
void ranges_delay(struct ranges *r, int64_t step);

/* Return the number of queued steps that are not done. */
size_t ranges_n_unfinished(const struct ranges *r);

/* Write the ranges of the queued steps to ret [ranges_n_unfinished]. */
void ranges_unfinished(const struct ranges *r, struct range *ret);

/* Return the most ranges that ranges_rest can write. */
size_t ranges_n_rest(const struct ranges *r);

/* Write the ranges that nobody has taken, if the counter is at `counter`, to ret [ranges_n_rest].
 * Return their number.
 */
size_t ranges_rest(const struct ranges *r, int64_t counter, struct range *ret);

/* Sort r [n] and join adjacent ranges.  Return the number of ranges left. */
size_t ranges_join(struct range *r, size_t n);

#endif
