/* SPDX-License-Identifier: Apache-2.0 */
/* samples.h - the one source of a worker's samples: which samples it takes at each step
 *
 *     the program's steps ---- take, finish ---.
 *     readers ahead of them -- peek ------------+-- one lock -- a feed
 *     agreement on plans ----- hold, release ---|                 by plan: the epoch's permutation
 *     checkpoints ------------ freeze, left ----|                 by counter: ranges of it, from a
 *     restores --------------- resume ----------'                   counter that all groups share
 *                                                                 alike: such ranges, counted by
 *                                                                   each worker for itself
 *                                                                 by round: likewise, in rounds
 *
 * Sync mode works by plan, local mode by round, the other modes with several models by counter.
 * Sync mode works "alike" after a checkpoint that those modes made.  An answer about a step never
 * changes, until the job goes back to a checkpoint: from then on only later answers count.
 *
 * One lock, `lock`, guards all but the first block of members; `changed` wakes all waiting threads.
 * It may be taken with the locks of the communication thread and of plan_switch.h held.  While it
 * is held, only the phase's lock is taken, and the communication thread is not called.  Only the
 * thread that makes steps writes `step`, so that thread may read it without the lock.
 */
#ifndef EDDIS_WORKER_SAMPLES_H
#define EDDIS_WORKER_SAMPLES_H

#include "collectives.h"
#include "group.h"
#include "lib/data/ranges.h"
#include "lib/data/sampler.h"
#include "samples_rounds.h"
#include "shared_buffers.h"

#include <pthread.h>

/* Most ranges that a root keeps for its members; it asks for one in each step */
enum { SAMPLES_UNSENT = 4 };

/* This worker's state of the counter.  A group's root adds to the counter and sends the ranges to
 * the members, one range in each step's trailer.
 */
struct samples_counter {
    smb_key key;
    bool stop_sent;  /* the counter has the mark of a stop, which this root has set or read */
    int64_t counted; /* with the feed samples_alike: this worker's own counter */
    struct range unsent[SAMPLES_UNSENT]; /* [n_unsent] on the root: ranges for the members */
    int n_unsent;
    struct command_queue ask;
    bool asking; /* `ask` is under way */
    bool busy;   /* a thread waits for the answer to `ask` */
};

/* How the program identifies a step's samples: by their numbers, or only by their count. */
enum samples_use { SAMPLES_BY_INDEX = 1, SAMPLES_BY_COUNT = 2 };

struct samples {
    /* These do not change. */
    struct collectives *all;
    struct shared_buffers *box;
    const struct group *group;
    struct sampler_options order; /* samples and epochs may be given later */
    int64_t global_batch;         /* samples of every full step */
    int read_ahead;               /* how many steps after the present one are answered */
    bool open; /* the plan is open until eddis_commit; requests before that get -EAGAIN */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct samples_feed *feed; /* NULL before eddis_commit unless mode is sync */
    bool settled;                    /* the group and its plan are known */
    bool given;                      /* the data set is known: it is in `order` */
    enum samples_use use;            /* 0: no call has shown it yet */
    struct sampler *sampler;         /* divides steps among the ranks, by plan */
    struct ranges *ranges;           /* ranges taken from the counter; NULL by plan */
    struct samples_counter counter;
    struct samples_rounds rounds;
    int64_t step;    /* the present step; between two steps the next one */
    int64_t horizon; /* if `held`: the last step that may be answered */
    bool over;       /* no step is left, even if one was answered before */
    bool spread;     /* the counter must be marked, to report a stop to the other groups */
    int64_t last;    /* last step that is answered; INT64_MAX: no stop is agreed */
    bool held;       /* agreement on a plan is under way that may divide later steps differently */
    bool frozen;     /* a checkpoint records the samples taken: none may be taken */
    struct eddis_error failure; /* failure of the communication; code 0: none */
};

/* Create the lock; the caller sets the first block of members. */
void samples_init(struct samples *s);

/* Create the sampler.  No step is answered before samples_settle and, if the order has no samples,
 * samples_give.  Return 0 or the failure of sampler_open.
 */
int samples_open(struct samples *s, const struct sampler_options *order, struct eddis_error *err);

/* Set the data set: samples of an epoch and number of epochs (0: unknown).  Return 0 or -EINVAL:
 * they are out of range.
 */
int samples_give(struct samples *s, int64_t samples, int64_t epochs, struct eddis_error *err);

/* Check whether the data set is known. */
bool samples_given(struct samples *s);

/* Note that the group and its plan are known: begin by plan, or with several models wait for
 * samples_start.
 */
void samples_settle(struct samples *s);

/* Check whether samples_settle was called. */
bool samples_settled(struct samples *s);

/* Free the sampler and the ranges, and destroy the lock. */
void samples_close(struct samples *s);

/* Note a failure of the communication and wake all threads that wait for samples.  For
 * comm_thread_on_failure; arg is a struct samples.
 */
void samples_fail(void *arg, const struct eddis_error *why);

/* Begin to take samples by round, or by the counter `key`.  Collective.  Return 0 or negative. */
int samples_start(struct samples *s, smb_key key, struct eddis_error *err);

/* ---- steps ---- */

/* Write the samples of the present step to *ret and forget earlier steps.  Return 1, or 0 if
 * nothing is left.  May wait.  -ETIMEDOUT: no answer within COLLECTIVES_TIMEOUT_NS.
 */
int samples_take(struct samples *s, struct sampler_step *ret, struct eddis_error *err);

/* Write the samples of any step that is not forgotten and at most read_ahead after the present one,
 * from any thread.  Before eddis_commit: -EAGAIN if `open` is set, otherwise -EINVAL, as without a
 * data set.  -ENOBUFS: the step is beyond read_ahead.  -ETIMEDOUT, with a timeout of 0 -EAGAIN: not
 * known yet; the counter's answer is kept for the next call.
 */
int samples_peek(struct samples *s, int64_t step, int64_t timeout_ns, struct sampler_step *ret,
                 struct eddis_error *err);

/* Check whether this step, the present or the next one, exists.  Return and fail as samples_peek.
 */
int samples_has(struct samples *s, int64_t step, int64_t timeout_ns, struct eddis_error *err);

/* Write how many samples each rank of the group takes at a step that samples_peek accepts, if that
 * is known now, to ret [n of the group].  Return the number of ranks, or 0 after the last step.
 */
int samples_counts(struct samples *s, int64_t step, int64_t *ret, struct eddis_error *err);

/* Note how the program identifies its samples.  Return 0 or -EINVAL: the program has used the other
 * way.
 */
int samples_use(struct samples *s, enum samples_use use, struct eddis_error *err);

/* Take the samples of a later step from the counter while the present one computes, on a group's
 * root; elsewhere do nothing.  Return 0 or a negative errno.
 */
int samples_ahead(struct samples *s, struct eddis_error *err);

/* Check whether a step follows the present one, in a group that takes samples from the counter. */
bool samples_follow(struct samples *s);

/* End the present step and go to the next. */
void samples_finish(struct samples *s);

/* End a step without samples.  Samples already taken from the counter for it move to the next step.
 */
void samples_pass(struct samples *s);

/* Make this step the last one, unless an earlier one is.  Samples taken for later steps count as
 * not done.
 */
void samples_stop(struct samples *s, int64_t step);

/* Note that no more steps are done until the job goes back, and wake threads that ask for one. */
void samples_end(struct samples *s);

/* Let this group's root report a stop to the other groups, through the counter, in a coming step.
 */
void samples_spread_stop(struct samples *s);

/* Report the stop of samples_spread_stop now, after the steps, unless that is done.  Return 0 or a
 * negative errno; -ETIMEDOUT: the counter has not answered before the deadline; the next call
 * continues.
 */
int samples_send_stop(struct samples *s, int64_t deadline_ns, struct eddis_error *err);

/* Return the highest step that any thread asked for. */
int64_t samples_asked(struct samples *s);

/* ---- plans ---- */

/* Return the last step that may be answered: all that were asked for, and `ahead` steps after the
 * present one.  If hold is set, no later step is answered until samples_release.  In rounds: return
 * the number of rounds that are opened; if hold is set, no other is opened until samples_release.
 */
int64_t samples_hold(struct samples *s, int64_t ahead, bool hold);

/* Allow steps after those of samples_hold again, and wake waiting threads. */
void samples_release(struct samples *s);

/* The part of a driver's plan that says which samples a worker gets. */
struct samples_plan {
    int64_t version, from_step;
    const int64_t *batch; /* [n_ranks] samples of each rank in a step */
    int64_t piece;        /* micro-batch size, as in sampler_set_piece */
    int64_t period;       /* global batches of a round; other modes: any number */
};

/* Add a plan, as sampler_add_plan; -EINVAL also if a group with its own model would get no samples.
 * In rounds p->from_step is a number of rounds, after which the plan divides; it is set to a step.
 */
int samples_add_plan(struct samples *s, struct samples_plan *p, struct eddis_error *err);

/* Write the root's next range to the trailer, and whether the counter reports a stop. */
void samples_report(struct samples *s, struct sync_trailer *tail);

/* Add the range in the combined trailer to this member's ranges.  Return 0 or -ENOMEM. */
int samples_learn(struct samples *s, const struct sync_trailer *tail, struct eddis_error *err);

/* ---- checkpoints ---- */

/* Check whether a checkpoint must list samples; false by plan, since the step implies them. */
bool samples_listed(struct samples *s);

/* Stop taking samples from the shared counter until samples_thaw, and wait for requests under way.
 * Return 0 or a negative errno.
 */
int samples_freeze(struct samples *s, struct eddis_error *err);

/* Allow taking samples again after samples_freeze, and wake waiting threads. */
void samples_thaw(struct samples *s);

/* Return the ranges of samples not yet done, in order, on rank 0 (the caller frees *ret), and none
 * on other ranks.  Collective; with a shared counter all workers must have called samples_freeze.
 */
int samples_left(struct samples *s, struct range **ret, size_t *ret_n, struct eddis_error *err);

/* Return the samples of all epochs; INT64_MAX: unlimited. */
int64_t samples_total(const struct samples *s);

/* The position from which a restored worker continues. */
struct samples_rest {
    int64_t step;
    const struct range *left; /* [n_left] samples not yet done, in order; NULL: by plan, all from
                               * `step` on */
    size_t n_left;
};

/* Continue from the position *rest, whatever the present step is, with the newest plan; waiting
 * readers check again.  Called between two steps.  With several models collective, and rest->left
 * must be set.  Return 0 or a negative errno.
 */
int samples_resume(struct samples *s, const struct samples_rest *rest, struct eddis_error *err);

#endif
