/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.h - samples that workers take from a shared counter instead of a fixed share
 *
 * N samples an epoch.  Positions run through all epochs: position p is sample p mod N of the
 * permutation of epoch p / N.  Whoever wants samples adds their number to a counter that all share
 * and owns the positions that the counter passed, so every position belongs to one, a fast worker
 * takes more, and the job is over when the counter has passed the last one:
 *
 *     counter        0 ............ 40 ....... 64 ............ 104
 *     taken by       worker 0       worker 2   worker 0        worker 1
 *                                        |
 *                                        an epoch ends inside: two steps
 *
 * A range is done as one step, or as several when an epoch ends inside of it; of these, the ones
 * that are too short are left out.  After a restart only
 * what was left is handed out: the counter begins at 0 again and counts through the list of the
 * ranges that were not finished (property 51 of sampling: every sample exactly once an epoch,
 * whatever happens to the split).
 *
 * One worker's end, or one group's: pure arithmetic on what the counter said.  Threads: as
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

struct ranges_options {
    int64_t samples;          /* N */
    int64_t min_count;        /* a shorter step is left out; 0: none is */
    int64_t epochs;           /* 0: without end */
    const struct range *left; /* [n_left], in order, copied; n_left 0: everything */
    size_t n_left;
    int64_t first_step; /* number of the first step that will be queued */
    /* Samples that were done before: what the counter shows is behind them. */
    int64_t done_before;
};

/* Make the ranges, nothing queued.  The options' list is copied. */
int ranges_open(const struct ranges_options *o, struct ranges **ret, struct eddis_error *err);

/* Accepts NULL. */
void ranges_close(struct ranges *r);

/* Tell that the counter was at `counter` when `count` were added: queue the steps of that range,
 * one or more, none where all are too short, or learn that nothing is left, which ranges_exhausted
 * tells.  A count of 0 tells nothing.
 */
int ranges_add(struct ranges *r, int64_t counter, int64_t count, struct eddis_error *err);

/* Tell that nothing is left. */
void ranges_exhaust(struct ranges *r);

/* Whether the counter has passed the last sample. */
bool ranges_exhausted(const struct ranges *r);

/* Return the number of the step after the last one queued. */
int64_t ranges_end(const struct ranges *r);

struct ranges_step {
    int64_t epoch, first, count; /* positions in the epoch's permutation */
    int64_t step_in_epoch;       /* counts the own steps */
    bool last_of_epoch;          /* the next own step is of a later epoch, or there is none */
    int64_t passed;              /* samples of the job up to the end of its range */
};

/* Say what is to be done at a step.  Returns 1, or 0 behind the last step once nothing is left.
 * -EAGAIN, without a sentence in err: it, or the one after it, is not taken yet, so wait; -ESTALE:
 * it is over.
 */
int ranges_look(const struct ranges *r, int64_t step, struct ranges_step *ret,
                struct eddis_error *err);

/* Drop the steps up to this one, which are done. */
void ranges_finish(struct ranges *r, int64_t step);

/* Make the steps that are queued one later, as this one, the first, has no samples. */
void ranges_delay(struct ranges *r, int64_t step);

/* Count the samples of all epochs; INT64_MAX: without end. */
int64_t ranges_total(const struct ranges *r);

/* Count the queued steps that are not done, and write their ranges to ret [that many]. */
size_t ranges_n_unfinished(const struct ranges *r);
void ranges_unfinished(const struct ranges *r, struct range *ret);

/* Write what nobody has taken while the counter is at `counter` to ret, which has room for
 * ranges_n_rest ranges.  Returns how many they are.
 */
size_t ranges_n_rest(const struct ranges *r);
size_t ranges_rest(const struct ranges *r, int64_t counter, struct range *ret);

/* Sort r [n] and join neighbours.  Returns how many are left of n. */
size_t ranges_join(struct range *r, size_t n);

#endif
