/* SPDX-License-Identifier: Apache-2.0 */
/* replan.h - from which step a new plan of the board holds, as all workers agree
 *
 * One lock, `lock`, guards all but the first block of members.  It is taken by the engine's hooks,
 * in whichever thread drives it; with it held the lock of samples.h and the phase's are taken.
 */
#ifndef EDDIS_WORKER_REPLAN_H
#define EDDIS_WORKER_REPLAN_H

#include "collectives.h"
#include "samples.h"

/* A step at which something is to be done, decided by a plan. */
struct replan_event {
    int64_t step;
    unsigned flags; /* EDDIS_STEP_... */
};

struct replan {
    /* These do not change. */
    struct board *board; /* NULL without eddis-run: there is one plan */
    struct samples *samples;
    struct phase *phase;

    pthread_mutex_t lock;
    int64_t version; /* newest agreed */
    int64_t passing; /* newest agreed that has BOARD_FLAG_PASSING; 0: none */
    /* Copies of the plans version + 1 .. read, made before they are reported, so that agreeing on
     * one cannot fail any more.
     */
    struct board_plan *plan; /* [BOARD_PLANS], plan v in v % BOARD_PLANS; NULL without a board */
    int64_t *batch;          /* [BOARD_PLANS, n_ranks], theirs */
    int64_t read;
    struct replan_event *event; /* [n_events] in order of steps */
    int n_events;
    int64_t checkpoints;        /* that plans have asked for */
    struct eddis_error failure; /* to take a plan; code 0: none */
};

void replan_init(struct replan *r);
void replan_fini(struct replan *r);

/* Agree on the first plan and give it to the samples; without a board `batch` samples a step of all
 * ranks (0: 64 a rank) are shared equally.  Collective.
 */
int replan_open(struct replan *r, struct collectives *all, int64_t batch, struct eddis_error *err);

/* Fill in the tail of a step, and learn what all have filled in: the engine's hooks. */
void replan_report(struct replan *r, struct sync_tail *tail);
void replan_agree(struct replan *r, const struct sync_tail *tail);

/* Return the failure to take a plan, or 0. */
int replan_failure(struct replan *r, struct eddis_error *err);

/* Return the flags that plans have put on this step, and forget those before it. */
unsigned replan_flags(struct replan *r, int64_t step);

/* Go on at this step, between two steps: the newest plan holds from there, and flags that are still
 * to come are due there.
 */
void replan_resume(struct replan *r, int64_t step);

/* Return the newest version; whether this one is the newest that has BOARD_FLAG_PASSING. */
int64_t replan_version(struct replan *r);
bool replan_is_passing(struct replan *r, int64_t version);

/* Count the checkpoints that plans have asked for. */
int64_t replan_checkpoints(struct replan *r);

#endif
