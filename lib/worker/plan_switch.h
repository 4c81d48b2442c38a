/* SPDX-License-Identifier: Apache-2.0 */
/* plan_switch.h - agree among all workers from which step a new plan version of the board applies
 *
 * One lock, `lock`, guards all but the first block of members.  The engine's hooks take it, in
 * whichever thread drives the engine.  While it is held, the locks of samples.h and of the phase
 * may be taken.
 */
#ifndef EDDIS_WORKER_REPLAN_H
#define EDDIS_WORKER_REPLAN_H

#include "collectives.h"
#include "models.h"
#include "samples.h"

/* Settings of a plan, valid from the first step under it. */
struct plan_switch_event {
    int64_t step;
    int64_t period;  /* steps between two averages of models from this step on */
    unsigned flags;  /* EDDIS_STEP_... */
    int checkpoints; /* checkpoints requested by the plans that take effect here */
};

struct plan_switch {
    /* These do not change. */
    struct board *board; /* NULL without eddis-run: there is one plan */
    struct samples *samples;
    struct phase *phase;

    pthread_mutex_t lock;
    int64_t version; /* newest version agreed on */
    int64_t passing; /* newest agreed version with BOARD_FLAG_PASSING; 0: none */
    int64_t
        period; /* steps between two averages of models, at the last step of plan_switch_flags */
    /* Copies of the plans version + 1 .. read, made before they are reported, so that agreeing on
     * one cannot fail later.
     */
    struct board_plan *plan; /* [BOARD_PLANS], plan v in v % BOARD_PLANS; NULL without a board */
    int64_t *batch;  /* [BOARD_PLANS, 2, n_ranks], the plans' batches and micro-batch sizes */
    int64_t read;    /* newest version copied to `plan` */
    bool stop;       /* this worker has requested a stop of the job */
    int64_t stop_at; /* last step, as agreed; INT64_MAX: no stop is agreed */
    struct plan_switch_event *event; /* [n_events] in order of steps */
    int n_events;
    int64_t
        checkpoints; /* checkpoints requested by plans, up to the last step of plan_switch_flags */
    struct models models;       /* every and rank are set by eddis_commit */
    struct eddis_error failure; /* failure to read a plan, or of the comparison of models; code 0:
                                 * none */
    int fd;                     /* eventfd, written when the workers have agreed on a plan; -1: not
                                 * requested */
};

/* Initialize without a plan. */
void plan_switch_init(struct plan_switch *r);

/* Free everything and destroy the lock. */
void plan_switch_fini(struct plan_switch *r);

/* Agree among all workers on the version of the first plan, and set r->version; 0: the job's mode
 * is still open.  Collective.  Return 0 or a negative errno.
 */
int plan_switch_begin(struct plan_switch *r, struct collectives *all, struct eddis_error *err);

/* Give the first plan to the samples.  Without a board, `batch` samples a step of all ranks (0: 64
 * a rank) are divided equally.  Return 0 or a negative errno.
 */
int plan_switch_open(struct plan_switch *r, int n_ranks, int64_t batch, struct eddis_error *err);

/* Replace the first plan by this version, which all workers have; before the first step.  Return 0
 * or a negative errno; -EAGAIN: the board cannot be read.
 */
int plan_switch_settle(struct plan_switch *r, int64_t version, struct eddis_error *err);

/* Write this worker's part of a step's trailer to *tail; a hook of the engine. */
void plan_switch_report(struct plan_switch *r, struct sync_trailer *tail);

/* Apply the combined trailer of all workers, of a step or of a round's end in local mode: take a
 * new plan, a stop, a range of samples and the comparison of models.  A hook of the engine; a
 * failure is kept for plan_switch_failure.
 */
void plan_switch_agree(struct plan_switch *r, const struct sync_trailer *tail);

/* Request a stop, and show on the board that this worker has: in its next step the group agrees
 * that the step after it is the last.
 */
void plan_switch_stop(struct plan_switch *r);

/* Check whether this worker has requested a stop. */
bool plan_switch_wants_stop(struct plan_switch *r);

/* Check whether this worker has requested a stop, or a stop is agreed on or requested by a plan. */
bool plan_switch_stops(struct plan_switch *r);

/* Show on the board that this worker has found no step of the job left. */
void plan_switch_show_trained(struct plan_switch *r);

/* Show on the board whether this worker has ended its steps by itself and waits for the other
 * workers of its model.
 */
void plan_switch_show_ended(struct plan_switch *r, bool waits);

/* Check whether the workers' models are compared after this step. */
bool plan_switch_sums_due(struct plan_switch *r, int64_t step, bool last);

/* Set this worker's sums for the next comparison of models. */
void plan_switch_tell_sums(struct plan_switch *r, const double sum[MODEL_SUMS]);

/* Compare the models after the last step, for which no further step's agreement follows.
 * Collective.  Return 0, also if models are not compared; -EPROTO: they differ, or are not finite;
 * or another negative errno.
 */
int plan_switch_compare_last(struct plan_switch *r, struct collectives *all,
                             struct eddis_error *err);

/* Return the failure to take a plan or of the comparison of models, or 0. */
int plan_switch_failure(struct plan_switch *r, struct eddis_error *err);

/* Return the flags that plans have set for this step, and forget events up to it. */
unsigned plan_switch_flags(struct plan_switch *r, int64_t step);

/* Let training go on at this step, which may be an earlier one.  The newest plan applies from it
 * on.  Flags and a stop that the workers have agreed on for steps not yet done become due at this
 * step.  Call it between two steps.
 */
void plan_switch_resume(struct plan_switch *r, int64_t step);

/* Borrow, until plan_switch_fini, a descriptor that becomes readable when the workers agree on a
 * plan.  Return it or a negative errno.
 */
int plan_switch_fd(struct plan_switch *r, struct eddis_error *err);

/* Return the newest agreed plan version. */
int64_t plan_switch_version(struct plan_switch *r);

/* Check whether this version is the newest agreed version with BOARD_FLAG_PASSING. */
bool plan_switch_is_passing(struct plan_switch *r, int64_t version);

/* Return the steps between two averages of models under the plan that applies at this step; 0: the
 * algorithm has one model.  The step is the last one of plan_switch_flags or the next one, which is
 * known since plans are agreed on two steps before they apply.
 */
int64_t plan_switch_period(struct plan_switch *r, int64_t step);

/* Return how many checkpoints plans have requested, up to the last step of plan_switch_flags. */
int64_t plan_switch_checkpoints(struct plan_switch *r);

#endif
