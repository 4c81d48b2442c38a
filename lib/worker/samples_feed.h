/* SPDX-License-Identifier: Apache-2.0 */
/* samples_feed.h - the sources of samples behind samples.h
 *
 * All functions are called with the lock of samples.h held; only `more` may release it meanwhile.
 */
#ifndef EDDIS_WORKER_SAMPLES_FEED_H
#define EDDIS_WORKER_SAMPLES_FEED_H

#include "samples.h"

struct samples_feed {
    const char *who; /* the agreeing workers, with a verb, for messages: "the workers have" */

    /* Write what this worker takes at a step.  Return 1, 0 after the last step, or -EAGAIN, without
     * a message, if it is not known yet.
     */
    int (*look)(struct samples *s, int64_t step, struct sampler_step *ret, struct eddis_error *err);

    /* After -EAGAIN: get more information.  Return 1, 0 if another thread does it, or -EAGAIN at
     * the deadline.  NULL: never called.
     */
    int (*more)(struct samples *s, int64_t deadline_ns, struct eddis_error *err);
};

extern const struct samples_feed samples_by_counter;
extern const struct samples_feed samples_alike;

/* Create the ranges of the samples that are left [n_left], or of all if left is NULL, from this
 * step on.
 */
int samples_counter_ranges(const struct samples *s, const struct samples_rest *rest,
                           struct ranges **ret, struct eddis_error *err);

/* Wait for an answer of the shared counter, requested now or before.  -EAGAIN, without a message:
 * none until the deadline; a later answer is kept for the next call.
 */
int samples_counter_draw(struct samples *s, int64_t deadline_ns, struct eddis_error *err);

/* Return the position in a value of the counter, without its count of stops. */
int64_t samples_counter_at(int64_t value);

/* Mark the counter to report a stop to the other groups; no other thread may wait for it.  Fails as
 * samples_counter_draw.
 */
int samples_counter_stop(struct samples *s, int64_t deadline_ns, struct eddis_error *err);

/* Prepare a request for the next range, unless enough is known, or one that marks a stop; the
 * caller then sends s->counter.ask.  Return 1 if there is something to send, 0, or a failure.
 */
int samples_counter_ahead(struct samples *s, struct eddis_error *err);

/* Reset the counter to 0 and let all groups take their first ranges.  Called without the lock.
 * Collective.
 */
int samples_counter_begin(struct samples *s, struct eddis_error *err);

#endif
