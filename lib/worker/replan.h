/* SPDX-License-Identifier: Apache-2.0 */
/* replan.h - from which step a new plan of the board holds, as all workers agree
 *
 * One lock, `lock`, guards all but the first block of members.  It is taken by the engine's hooks,
 * in whichever thread drives it; with it held the lock of samples.h and the phase's are taken.
 */
#ifndef EDDIS_WORKER_REPLAN_H
#define EDDIS_WORKER_REPLAN_H

#include "collectives.h"
#include "models.h"
#include "samples.h"

/* What a plan decides for the step from which it holds. */
struct replan_event {
    int64_t step;
    int64_t period;  /* from there on */
    unsigned flags;  /* EDDIS_STEP_... */
    int checkpoints; /* asked for by the plans that came together here */
};

struct replan {
    /* These do not change. */
    struct board *board; /* NULL without eddis-run: there is one plan */
    struct samples *samples;
    struct phase *phase;

    pthread_mutex_t lock;
    int64_t version; /* newest agreed */
    int64_t passing; /* newest agreed that has BOARD_FLAG_PASSING; 0: none */
    int64_t period;  /* between two averages of models, at the last step of replan_flags */
    /* Copies of the plans version + 1 .. read, made before they are reported, so that agreeing on
     * one cannot fail any more.
     */
    struct board_plan *plan; /* [BOARD_PLANS], plan v in v % BOARD_PLANS; NULL without a board */
    int64_t *batch;          /* [BOARD_PLANS, 2, n_ranks], their batches and pieces */
    int64_t read;
    bool stop;                  /* this worker wants the job to stop */
    int64_t stop_at;            /* the last step, as agreed; INT64_MAX: no stop is */
    struct replan_event *event; /* [n_events] in order of steps */
    int n_events;
    int64_t checkpoints;        /* that plans have asked for, up to the last step of replan_flags */
    struct models models;       /* every and rank are set by eddis_commit */
    struct eddis_error failure; /* to take a plan, or what was found of models; code 0: none */
    int fd;                     /* written to when a plan was agreed; -1: nobody wants it */
};

void replan_init(struct replan *r);
void replan_fini(struct replan *r);

/* Agree on the version of the first plan, r->version; 0: the job's mode is open.  Collective. */
int replan_begin(struct replan *r, struct collectives *all, struct eddis_error *err);

/* Give the first plan to the samples; without a board `batch` samples a step of all ranks (0: 64 a
 * rank) are shared equally.
 */
int replan_open(struct replan *r, int n_ranks, int64_t batch, struct eddis_error *err);

/* Have another plan, which all have, in the place of the first one; before the first step. */
int replan_settle(struct replan *r, int64_t version, struct eddis_error *err);

/* Fill in the tail of a step, and learn what all have filled in: the engine's hooks. */
void replan_report(struct replan *r, struct sync_tail *tail);
void replan_agree(struct replan *r, const struct sync_tail *tail);

/* Have the group agree with its next step that the one after it is the last. */
void replan_stop(struct replan *r);

/* Whether this worker wants that; whether anybody does, as far as is agreed, or a plan asks for it.
 */
bool replan_wants_stop(struct replan *r);
bool replan_stops(struct replan *r);

/* Show that this worker has found no step of the job left. */
void replan_show_trained(struct replan *r);

/* Show that this worker has ended its steps by itself and waits for the others; not any more. */
void replan_show_ended(struct replan *r, bool waits);

/* Whether the workers' models are compared behind this step, and tell this one's sums for that. */
bool replan_sums_due(struct replan *r, int64_t step, bool last);
void replan_tell_sums(struct replan *r, const double sum[MODEL_SUMS]);

/* Compare what no step's agreement was left for, once all have come to the end.  Collective. */
int replan_compare_last(struct replan *r, struct collectives *all, struct eddis_error *err);

/* Return the failure to take a plan or to keep one model, or 0. */
int replan_failure(struct replan *r, struct eddis_error *err);

/* Return the flags that plans have put on this step, and forget what was decided up to it. */
unsigned replan_flags(struct replan *r, int64_t step);

/* Go on at this step, between two steps: the newest plan holds from there, and flags that are still
 * to come are due there.
 */
void replan_resume(struct replan *r, int64_t step);

/* Borrows a descriptor that becomes readable when a plan was agreed, until replan_fini. */
int replan_fd(struct replan *r, struct eddis_error *err);

/* Return the newest version; whether this one is the newest that has BOARD_FLAG_PASSING. */
int64_t replan_version(struct replan *r);
bool replan_is_passing(struct replan *r, int64_t version);

/* Return the steps between two averages of models under the plan that holds at this step, the last
 * one of replan_flags or the next, which is agreed on two steps before; 0: the algorithm has one
 * model.
 */
int64_t replan_period(struct replan *r, int64_t step);

/* Count the checkpoints that plans have asked for, up to the last step of replan_flags. */
int64_t replan_checkpoints(struct replan *r);

#endif
