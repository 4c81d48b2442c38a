/* SPDX-License-Identifier: Apache-2.0 */
/* samples_rounds.h - the rounds of local training, as a part of samples.h
 *
 * A round is opened, so that its steps are queued, when a reader asks for one of them.  A group
 * that has no samples in a round makes no step in it, but takes part in its end.  The lock of
 * samples.h guards the structs; the functions take it.
 */
#ifndef EDDIS_WORKER_SAMPLES_ROUNDS_H
#define EDDIS_WORKER_SAMPLES_ROUNDS_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct samples;

/* A round that is opened. */
struct samples_round {
    int64_t end;    /* number of the step after this group's last one in the round */
    int64_t passed; /* samples of the job up to the end of the round */
    bool fed;       /* every group makes a step */
};

/* This worker's rounds (lib/data/sample_rounds.h). */
struct samples_rounds {
    int64_t *batch;  /* [n_groups] samples of each group in a global batch, by the newest plan */
    int64_t period;  /* of that plan */
    int64_t counter; /* samples in the rounds that are opened */
    int64_t opened;  /* rounds that are opened, those that are over included */
    struct samples_round *queue; /* [n] opened rounds, from the present one on */
    size_t n, room;
};

/* Check whether all steps of the present round are over. */
bool samples_round_is_over(struct samples *s);

/* Check whether the steps are over because of a stop. */
bool samples_are_stopped(struct samples *s);

/* Check whether the present step is the last one before the round's end, by the round or by a stop.
 * *ret_passed: samples of the job up to that end, the same on all workers; -1: some group makes no
 * step in the round.
 */
bool samples_round_ends(struct samples *s, int64_t *ret_passed);

/* Return the samples of a whole round by the newest plan, the same on all workers between two
 * rounds' ends.
 */
double samples_round_whole(struct samples *s);

/* Check whether another round follows the present one.  Return 1, 0 or -ENOMEM. */
int samples_round_follows(struct samples *s, struct eddis_error *err);

/* Go to the next round. */
void samples_round_finish(struct samples *s);

#endif
