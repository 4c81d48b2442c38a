/* SPDX-License-Identifier: Apache-2.0 */
/* samples_feed.h - the sources of samples behind samples.h
 *
 * All functions are called with the lock of samples.h held; only `more` may release it meanwhile.
 */
#ifndef EDDIS_WORKER_SAMPLES_FEED_H
#define EDDIS_WORKER_SAMPLES_FEED_H

#include "samples.h"

struct samples_feed {
    const char *who; /* the workers that must agree, with a verb, for messages: "the workers
                      * have" */

    /* Write the samples that this worker takes at a step to *ret.  Return 1, 0 after the last step,
     * or -EAGAIN, without a message, if the samples are not known yet.
     */
    int (*look)(struct samples *s, int64_t step, struct sampler_step *ret, struct eddis_error *err);

    /* After -EAGAIN of look: wait for more information.  Return 1 if there is some, 0 if another
     * thread gets it, or -EAGAIN at the deadline.  NULL: never called.
     */
    int (*more)(struct samples *s, int64_t deadline_ns, struct eddis_error *err);
};

extern const struct samples_feed samples_by_counter;
extern const struct samples_feed samples_alike;
extern const struct samples_feed samples_by_round;

/* Store in *ret what this worker takes at a step, from the group's ranges; a `look`. */
int samples_ranges_look(struct samples *s, int64_t step, struct sampler_step *ret,
                        struct eddis_error *err);

/* Note the batches of all ranks, batch [n_ranks], and the period for rounds that are opened later.
 * Do nothing in other modes.  Return 0 or -ENOMEM.
 */
int samples_rounds_plan(struct samples *s, const int64_t *batch, int64_t period,
                        struct eddis_error *err);

/* Open rounds until so many are opened, or no samples are left.  Return 0 or -ENOMEM. */
int samples_rounds_level(struct samples *s, int64_t opened, struct eddis_error *err);

/* Open as many rounds as any worker has.  Called without the lock.  Collective.  Return 0 or a
 * negative errno.
 */
int samples_rounds_level_all(struct samples *s, struct eddis_error *err);

/* Open rounds until the samples of so many steps after the present one are known, as far as there
 * is memory.
 */
void samples_rounds_ahead(struct samples *s, int64_t ahead);

/* Forget all rounds: the next one that is opened is the first. */
void samples_rounds_begin(struct samples *s);

/* Free the memory of r. */
void samples_rounds_free(struct samples_rounds *r);

/* Create in *ret the ranges of the samples not yet done, rest->left [n_left], or of all samples if
 * that is NULL, from rest->step on.  The caller frees *ret by ranges_close.  Return 0 or a negative
 * errno.
 */
int samples_counter_ranges(const struct samples *s, const struct samples_rest *rest,
                           struct ranges **ret, struct eddis_error *err);

/* Send a request to the shared counter, unless one is under way, wait for its answer and add the
 * range in it to s->ranges.  Return 0 or a negative errno; -EAGAIN, without a message: no answer
 * before the deadline; a later answer is kept for the next call.
 */
int samples_counter_draw(struct samples *s, int64_t deadline_ns, struct eddis_error *err);

/* Return the position in a value of the counter, without its count of stops. */
int64_t samples_counter_at(int64_t value);

/* Mark the counter to report a stop to the other groups; no other thread may wait for it.  Fails as
 * samples_counter_draw.
 */
int samples_counter_stop(struct samples *s, int64_t deadline_ns, struct eddis_error *err);

/* Prepare a request for the next range, unless enough ranges are known, or a request that marks a
 * stop; the caller then sends s->counter.ask.  Return 1 if there is something to send, 0, or a
 * failure.
 */
int samples_counter_ahead(struct samples *s, struct eddis_error *err);

/* Reset the counter to 0 and let all groups take their first ranges.  Called without the lock.
 * Collective.  Return 0 or a negative errno.
 */
int samples_counter_begin(struct samples *s, struct eddis_error *err);

#endif
