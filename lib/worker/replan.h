/* SPDX-License-Identifier: Apache-2.0 */
/* replan.h - agree among all workers from which step a new plan version of the board applies
 *
 * One lock, `lock`, guards all but the first block of members.  The engine's hooks take it, in
 * whichever thread drives the engine.  With it held the locks of samples.h and of the phase may be
 * taken.
 */
#ifndef EDDIS_WORKER_REPLAN_H
#define EDDIS_WORKER_REPLAN_H

#include "collectives.h"
#include "models.h"
#include "samples.h"

/* What a plan requests from the step on at which it begins. */
struct replan_event {
    int64_t step;
    int64_t period;  /* period of averages from there on */
    unsigned flags;  /* EDDIS_STEP_... */
    int checkpoints; /* checkpoints requested by the plans that take effect here */
};

struct replan {
    /* These do not change. */
    struct board *board; /* NULL without eddis-run: there is one plan */
    struct samples *samples;
    struct phase *phase;

    pthread_mutex_t lock;
    int64_t version; /* newest version agreed on */
    int64_t passing; /* newest agreed version with BOARD_FLAG_PASSING; 0: none */
    int64_t period;  /* steps between two averages of models, at the last step of replan_flags */
    /* Copies of the plans version + 1 .. read, made before they are reported, so that agreeing on
     * one cannot fail later.
     */
    struct board_plan *plan; /* [BOARD_PLANS], plan v in v % BOARD_PLANS; NULL without a board */
    int64_t *batch; /* [BOARD_PLANS, 2, n_ranks], the plans' batches and micro-batch sizes */
    int64_t read;
    bool stop;                  /* this worker has requested a stop of the job */
    int64_t stop_at;            /* last step, as agreed; INT64_MAX: no stop is agreed */
    struct replan_event *event; /* [n_events] in order of steps */
    int n_events;
    int64_t checkpoints;  /* checkpoints requested by plans, up to the last step of replan_flags */
    struct models models; /* every and rank are set by eddis_commit */
    struct eddis_error failure; /* to take a plan, or of the models' check; code 0: none */
    int fd;                     /* eventfd, written when a plan was agreed; -1: not requested */
};

/* Initialize without a plan. */
void replan_init(struct replan *r);

/* Free everything and destroy the lock. */
void replan_fini(struct replan *r);

/* Agree on the version of the first plan, r->version; 0: the job's mode is still open.  Collective.
 */
int replan_begin(struct replan *r, struct collectives *all, struct eddis_error *err);

/* Give the first plan to the samples.  Without a board, `batch` samples a step of all ranks (0: 64
 * a rank) are divided equally.
 */
int replan_open(struct replan *r, int n_ranks, int64_t batch, struct eddis_error *err);

/* Replace the first plan by this version, which all workers have; before the first step. */
int replan_settle(struct replan *r, int64_t version, struct eddis_error *err);

/* Fill in this worker's part of a step's trailer; a hook of the engine. */
void replan_report(struct replan *r, struct sync_tail *tail);

/* Apply the combined trailer of all workers: take a new plan, a stop, a range of samples and the
 * comparison of models.  A hook of the engine; a failure is kept for replan_failure.
 */
void replan_agree(struct replan *r, const struct sync_tail *tail);

/* Request a stop: in its next step the group agrees that the step after it is the last. */
void replan_stop(struct replan *r);

/* Check whether this worker has requested a stop. */
bool replan_wants_stop(struct replan *r);

/* Check whether this worker has requested a stop, or a stop is agreed on or requested by a plan. */
bool replan_stops(struct replan *r);

/* Show on the board that this worker has found no step of the job left. */
void replan_show_trained(struct replan *r);

/* Show on the board whether this worker has ended its steps by itself and waits for the others. */
void replan_show_ended(struct replan *r, bool waits);

/* Check whether the workers' models are compared after this step. */
bool replan_sums_due(struct replan *r, int64_t step, bool last);

/* Set this worker's sums for the next comparison of models. */
void replan_tell_sums(struct replan *r, const double sum[MODEL_SUMS]);

/* Compare the models after the last step, for which no further step's agreement follows.
 * Collective.
 */
int replan_compare_last(struct replan *r, struct collectives *all, struct eddis_error *err);

/* Return the failure to take a plan or of the comparison of models, or 0. */
int replan_failure(struct replan *r, struct eddis_error *err);

/* Return the flags that plans have set for this step, and forget events up to it. */
unsigned replan_flags(struct replan *r, int64_t step);

/* Continue at this step, between two steps: the newest plan applies from there, and pending flags
 * become due there.
 */
void replan_resume(struct replan *r, int64_t step);

/* Borrow a descriptor that becomes readable when a plan was agreed on, until replan_fini. */
int replan_fd(struct replan *r, struct eddis_error *err);

/* Return the newest agreed plan version. */
int64_t replan_version(struct replan *r);

/* Check whether this version is the newest agreed one with BOARD_FLAG_PASSING. */
bool replan_is_passing(struct replan *r, int64_t version);

/* Return the steps between two averages of models under the plan that applies at this step; 0: the
 * algorithm has one model.  The step is the last one of replan_flags or the next one, which is
 * known since plans are agreed on two steps before they apply.
 */
int64_t replan_period(struct replan *r, int64_t step);

/* Return how many checkpoints plans have requested, up to the last step of replan_flags. */
int64_t replan_checkpoints(struct replan *r);

#endif
