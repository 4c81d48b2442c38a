/* SPDX-License-Identifier: Apache-2.0 */
/* phase.h - where a step's time goes, and this worker's page of the progress board
 *
 * Time belongs to the phase that was set last.  A step's time is that of the phases input, compute
 * and wait; start, evaluation and checkpoints are outside of steps.  What was waited is split: the
 * least that any worker waited in the step before is what communication takes when nobody is late
 * (exposed), the rest was waiting for others.
 *
 * One lock guards all of struct phase and is held for every write to the page.  It is the last in
 * the order of locks: it may be taken with any other held, and none is taken with it held.
 */
#ifndef EDDIS_WORKER_PHASE_H
#define EDDIS_WORKER_PHASE_H

#include "lib/eddis.h"

#include "lib/board/board.h"

#include <pthread.h>

/* The arithmetic of phases, without lock and board. */
struct phase_clock {
    enum eddis_phase phase;
    int64_t since_ns;                       /* of the phase */
    int64_t spent_ns[EDDIS_PHASE_DONE + 1]; /* in this step */
    int64_t blocked_ns;                     /* in the step before; INT64_MAX: none yet */
    int64_t exposed_ns; /* least of all workers; INT64_MAX: not known, as good as 0 */
};

void phase_clock_init(struct phase_clock *c, int64_t now_ns);

/* Enter a phase; returns the one before. */
enum eddis_phase phase_clock_set(struct phase_clock *c, enum eddis_phase phase, int64_t now_ns);

/* End a step: returns its times, and begins with input again. */
struct board_times phase_clock_step(struct phase_clock *c, int64_t now_ns);

struct phase {
    pthread_mutex_t lock;
    struct board *board; /* NULL without eddis-run */
    struct phase_clock clock;
    bool waiting;    /* the board shows a wait, perhaps one that timed out and will go on */
    bool peer_shown; /* and for whom */
};

void phase_init(struct phase *p, int64_t now_ns);

/* Destroys the lock; the board is closed by whoever opened it. */
void phase_fini(struct phase *p);

/* Give all time from now on to this phase; returns the one before. */
enum eddis_phase phase_enter(struct phase *p, enum eddis_phase phase);

/* Whether the present phase is a part of a step: input or compute. */
bool phase_is_training(struct phase *p);

/* Around a wait that counts as such.  One that ends with -ETIMEDOUT counts too, but to the board it
 * goes on until something else happens, so that waiting in slices looks like one wait.
 */
enum eddis_phase phase_wait_enter(struct phase *p);
void phase_wait_leave(struct phase *p, enum eddis_phase before, int rc);

/* Show on the board which rank this one waits for (-1: nobody), and stop showing it. */
void phase_show_peer(struct phase *p, int rank);
void phase_hide_peer(struct phase *p);

/* Begin a step's compute; asked_step is the highest step whose samples were asked for. */
void phase_step_begin(struct phase *p, int64_t asked_step);

/* What the board shows of a step that ended. */
struct phase_step {
    int64_t step, count, plan;
    int64_t sent_bytes; /* of this rank so far */
    int64_t staleness;  /* of the algorithm */
};

/* End a step at end_ns and show it, with what the program reported. */
void phase_step_end(struct phase *p, const struct phase_step *s, int64_t end_ns,
                    const struct eddis_report *report);

/* Time that the step before waited, in ns; INT64_MAX before the second step. */
int64_t phase_blocked_ns(struct phase *p);

/* Note the least that any worker waited in the step before. */
void phase_set_exposed(struct phase *p, int64_t exposed_ns);

/* Show a number under a name of the program's.  -EINVAL: no name; -ENOSPC: too many. */
int phase_show_metric(struct phase *p, const char *name, double value, struct eddis_error *err);

/* Borrow the board for another write until phase_unlock_board.  NULL, and nothing is locked,
 * without a board.
 */
struct board *phase_lock_board(struct phase *p);
void phase_unlock_board(struct phase *p);

#endif
