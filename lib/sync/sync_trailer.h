/* SPDX-License-Identifier: Apache-2.0 */
/* sync_trailer.h - what workers agree on in a step: the trailer that follows a buffer of gradients
 *
 * In local training the trailer follows the sum at a round's end instead.
 */
#ifndef EDDIS_SYNC_SYNC_TRAILER_H
#define EDDIS_SYNC_SYNC_TRAILER_H

#include "lib/base/error.h"
#include "model_sums.h"

#include <stdbool.h>
#include <stdint.h>

/* The trailer that follows every buffer.  Each member has its own combining rule. */
struct sync_trailer {
    double weight;   /* sum: number of samples that the gradients stand for */
    int64_t version; /* smallest: newest plan version on a worker's board */
    int64_t asked;   /* largest: newest step whose samples a worker was asked for */
    int64_t blocked; /* smallest: ns for which a worker was blocked in the previous step */
    uint32_t flags;  /* or: SYNC_... */
    /* Largest: rank for which this is the first round of its step (leads), or a later one
     * (follows); 0 on all other ranks.
     */
    uint16_t leads, follows;
    /* Sum: a range of samples for a later step, which only the group's root takes from the counter.
     * range_count 0: no range; -1: no samples are left.
     */
    int64_t range_first, range_count;
    struct model_sums models; /* combined by model_sums_combine; sums after an earlier step */
};

enum {
    SYNC_NO_PLAN = 1, /* a worker cannot read the newest plan */
    SYNC_STOP = 2,    /* a worker wants the job to stop */
    SYNC_LEADS = 4,   /* for some worker this is the first round of its step */
    SYNC_FOLLOWS = 8, /* for some worker this is a later round of its step */
    /* at the end of a round of local training: */
    SYNC_GOES_ON = 16,   /* some worker has steps left */
    SYNC_SAVES = 32,     /* some worker begins a checkpoint */
    SYNC_SAVES_NOT = 64, /* some worker does not */
};

/* Combine two trailers member by member and store the result in acc.  The order of the arguments
 * does not matter.
 */
void sync_trailer_combine(void *acc, const void *in);

/* Check whether all workers of a combined trailer made the same number of rounds in their previous
 * step.
 */
bool sync_trailer_alike(const struct sync_trailer *t);

/* Fill err with the two ranks whose numbers of rounds differ, and return -EPROTO. */
int sync_trailer_fail(const struct sync_trailer *t, struct eddis_error *err);

#endif
