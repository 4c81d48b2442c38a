/* SPDX-License-Identifier: Apache-2.0 */
/* samples_feed.h - what is behind samples.h: where samples come from
 *
 * All functions are called with the lock of samples.h held; only `more` may release it meanwhile.
 */
#ifndef EDDIS_WORKER_SAMPLES_FEED_H
#define EDDIS_WORKER_SAMPLES_FEED_H

#include "samples.h"

struct samples_feed {
    const char *who; /* agrees on plans, with its verb: "the workers have" */

    /* Say what this worker takes at a step.  Returns 1, 0 behind the last one, or -EAGAIN, without
     * a sentence, when it is not known yet.
     */
    int (*look)(struct samples *s, int64_t step, struct sampler_step *ret, struct eddis_error *err);

    /* After -EAGAIN: find out more.  Returns 1, 0 when somebody else does, or -EAGAIN at the
     * deadline.  NULL: never.
     */
    int (*more)(struct samples *s, int64_t deadline_ns, struct eddis_error *err);
};

extern const struct samples_feed samples_by_counter;
extern const struct samples_feed samples_alike;

/* Make ranges of what is left [n_left], everything when left is NULL, from this step on. */
int samples_counter_ranges(const struct samples *s, const struct samples_rest *rest,
                           struct ranges **ret, struct eddis_error *err);

/* Have the answer of the shared counter, asked for now or before.  -EAGAIN, without a sentence: it
 * has not come until the deadline, and is for the next call.
 */
int samples_counter_draw(struct samples *s, int64_t deadline_ns, struct eddis_error *err);

/* Where the counter is when it shows this value, which may tell of a stop, too. */
int64_t samples_counter_at(int64_t value);

/* Have the counter tell of a stop; no other thread waits for it.  Fails as samples_counter_draw. */
int samples_counter_stop(struct samples *s, int64_t deadline_ns, struct eddis_error *err);

/* Ask the counter for the next range, unless enough is known, or, when the job stops, have it tell
 * so; s->counter.ask is to be sent then.
 * Returns whether, or a failure.
 */
int samples_counter_ahead(struct samples *s, struct eddis_error *err);

/* Without the lock.  Set the counter to 0 and have all groups take their first ranges.
 * Collective.
 */
int samples_counter_begin(struct samples *s, struct eddis_error *err);

#endif
