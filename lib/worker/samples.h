/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - the one source of a worker's samples: what it takes at each step
 *
 *     the program's steps ---- take, finish ---.
 *     readers ahead of them -- peek ------------+-- one lock -- a feed
 *     agreement on plans ----- hold, release ---|                 by plan: the epoch's permutation
 *     checkpoints ------------ freeze, left ----|                 by counter: ranges of it, from a
 *     restores --------------- resume ----------'                   counter that all groups share
 *                                                                 alike: such ranges, counted by
 *                                                                   each worker for itself
 *
 * Sync mode goes by plan, the modes with several models by counter; sync mode goes on alike after
 * a checkpoint that they made.  What was said about a step never changes, until the job goes back
 * to a checkpoint: from then on only what is asked for after it counts.
 *
 * One lock, `lock`, guards all but the first block of members; `changed` wakes whoever waits.  It
 * may be taken with the communication thread's and replan's held; with it held only the phase's is
 * taken, and no call of the communication thread is made.  Only the thread that makes steps writes
 * `step`, so that it may read it without the lock.
 */
#ifndef EDDIS_WORKER_SAMPLES_H
#define EDDIS_WORKER_SAMPLES_H

#include "collectives.h"
#include "group.h"
#include "lib/data/ranges.h"
#include "lib/data/sampler.h"
#include "shared_buffers.h"

#include <pthread.h>

enum { SAMPLES_TOLD = 4 }; /* more than a root ever has: it asks for a range a step */

/* The counter's end here.  A group's root adds to it and tells the members, one range with each
 * step's tail.
 */
struct samples_counter {
    smb_key key;
    bool stop_told;  /* it says that the job stops: this root has told it, or was told */
    int64_t counted; /* alike: the counter itself */
    struct range told[SAMPLES_TOLD]; /* [n_told] of the root: the members do not know them yet */
    int n_told;
    struct mail_box ask;
    bool asking; /* `ask` is under way */
    bool busy;   /* a thread waits for it */
};

/* How the program knows what a step's samples are. */
enum samples_use { SAMPLES_BY_INDEX = 1, SAMPLES_BY_COUNT = 2 };

struct samples {
    /* These do not change. */
    struct collectives *all;
    struct shared_buffers *box;
    const struct group *group;
    struct sampler_options order; /* samples and epochs may be given later */
    int64_t global_batch;         /* of every whole step */
    int read_ahead;               /* steps behind the present one that are told */
    bool open; /* the mode is, until eddis_commit: who asks before is to ask again */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct samples_feed *feed; /* NULL: of several models, or they may be, before commit */
    bool settled;                    /* the group and its plan are known */
    bool given;                      /* the data are known: `order` has them */
    enum samples_use use;            /* 0: not known yet */
    struct sampler *sampler;         /* which part of a step is whose, by plan */
    struct ranges *ranges;           /* of the counter; NULL by plan */
    struct samples_counter counter;
    int64_t step;               /* the next one, or the present one */
    int64_t horizon;            /* while held: the last step that may be told */
    bool over;                  /* no step is left, whatever somebody was told */
    bool spread;                /* the counter is to tell the other groups of a stop */
    int64_t last;               /* nothing is told of steps behind it; INT64_MAX: no stop is near */
    bool held;                  /* a plan is agreed on that may share later steps otherwise */
    bool frozen;                /* a checkpoint notes what is taken: nothing may be */
    struct eddis_error failure; /* of the communication; code 0: none */
};

/* Make the lock; the first block of members is the caller's to set. */
void samples_init(struct samples *s);

/* Begin.  Nothing is told before samples_settle and, where the order has no samples, samples_give.
 */
int samples_open(struct samples *s, const struct sampler_options *order, struct eddis_error *err);

/* Say which data there are; whether that is known. */
int samples_give(struct samples *s, int64_t samples, int64_t epochs, struct eddis_error *err);
bool samples_given(struct samples *s);

/* The group and its plan are known now: begin by plan; where there are several models nothing is
 * told before samples_start.
 */
void samples_settle(struct samples *s);
bool samples_settled(struct samples *s);
void samples_close(struct samples *s);

/* For comm_thread_on_failure, arg a struct samples: nobody waits for samples any more. */
void samples_fail(void *arg, const struct eddis_error *why);

/* Begin by counter, with everything.  Collective. */
int samples_start(struct samples *s, smb_key key, struct eddis_error *err);

/* ---- steps ---- */

/* Say what is to be done at the present step; those before it are forgotten.  Returns 1, or 0 when
 * nothing is left.  May wait.  -ETIMEDOUT: not told within COLLECTIVES_TIMEOUT_NS.
 */
int samples_take(struct samples *s, struct sampler_step *ret, struct eddis_error *err);

/* The same for any step that is not forgotten and at most read_ahead behind the present one, from
 * any thread.  Before there are samples -EAGAIN where `open` is set, otherwise -EINVAL: that is
 * before eddis_commit then, or without data.  -ENOBUFS: a later step; -ETIMEDOUT, with a timeout of
 * 0 -EAGAIN: it is not known yet; what was asked of the counter is for the next call.
 */
int samples_peek(struct samples *s, int64_t step, int64_t timeout_ns, struct sampler_step *ret,
                 struct eddis_error *err);

/* Whether there is such a step, the present one or the one behind it.  Returns and fails as
 * samples_peek.
 */
int samples_has(struct samples *s, int64_t step, int64_t timeout_ns, struct eddis_error *err);

/* Write what each rank of the group takes at such a step, if it is known now, to ret [as many].
 * Returns how many, or 0 behind the last step.
 */
int samples_counts(struct samples *s, int64_t step, int64_t *ret, struct eddis_error *err);

/* The program does it this way.  -EINVAL: it has done it the other way. */
int samples_use(struct samples *s, enum samples_use use, struct eddis_error *err);

/* Have a group's root take the samples of a later step while the present one computes. */
int samples_ahead(struct samples *s, struct eddis_error *err);

/* Whether a step follows the present one, which was told, in a group that takes samples from the
 * counter.
 */
bool samples_follow(struct samples *s);

/* End the present step: the next one is the present one from now on. */
void samples_finish(struct samples *s);

/* The same for a step without samples: what was taken for it already is for the next one, or left.
 */
void samples_pass(struct samples *s);

/* The job stops: nothing is left behind this step, or an earlier one that was said before.  What
 * was taken for later steps is not done.
 */
void samples_stop(struct samples *s, int64_t step);

/* All steps are done that will be, until the job goes back: say so to whoever asks for another. */
void samples_end(struct samples *s);

/* It stops because a worker wants it to, of which the other groups know nothing: have the counter
 * tell them of it, the root of this group, in a step; or now, after its steps, if it has not.
 * -ETIMEDOUT: it has not answered until the deadline; the next call goes on.
 */
void samples_spread_stop(struct samples *s);
int samples_tell_stop(struct samples *s, int64_t deadline_ns, struct eddis_error *err);

/* Return the highest step that anybody asked for. */
int64_t samples_asked(struct samples *s);

/* ---- plans ---- */

/* Return the step up to which samples may be told: all that were asked for, and `ahead` steps
 * behind the present one.  With hold set no later step is told until samples_release.
 */
int64_t samples_hold(struct samples *s, int64_t ahead, bool hold);
void samples_release(struct samples *s);

struct samples_plan {
    int64_t version, from_step;
    const int64_t *batch; /* [n_ranks] */
    int64_t piece;        /* as of sampler_set_piece */
};

/* As sampler_add_plan; -EINVAL too when one of several models would get no samples. */
int samples_add_plan(struct samples *s, const struct samples_plan *p, struct eddis_error *err);

/* Write a root's next range into the tail, and whether the counter tells of a stop; learn it as a
 * member.
 */
void samples_report(struct samples *s, struct sync_tail *tail);
int samples_learn(struct samples *s, const struct sync_tail *tail, struct eddis_error *err);

/* ---- checkpoints ---- */

/* Whether a checkpoint has to list samples; false by plan, where the step says it all. */
bool samples_listed(struct samples *s);

/* Stop taking samples from the shared counter until samples_thaw, and wait for those asked for. */
int samples_freeze(struct samples *s, struct eddis_error *err);
void samples_thaw(struct samples *s);

/* Return the ranges that are left, in order, on rank 0, and nothing elsewhere.  Collective; by
 * counter while all are frozen.
 */
int samples_left(struct samples *s, struct range **ret, size_t *ret_n, struct eddis_error *err);

/* Count the samples of all epochs; INT64_MAX: without end. */
int64_t samples_total(const struct samples *s);

/* Where a restored worker goes on. */
struct samples_rest {
    int64_t step;
    const struct range *left; /* [n_left], in order; NULL: by plan, from the step on */
    size_t n_left;
};

/* Go on there, wherever the present step is, by the newest plan; readers look again.  Between two
 * steps.  Collective where there are several models, which need a list.
 */
int samples_resume(struct samples *s, const struct samples_rest *rest, struct eddis_error *err);

#endif
