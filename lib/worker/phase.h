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
    int64_t blocked_ns; /* in the step before, but for told_ns; INT64_MAX: none yet */
    int64_t told_ns;    /* blocked in this step, as phase_clock_blocked has told already */
    int64_t exposed_ns; /* least of all workers; INT64_MAX: not known, as good as 0 */
};

void phase_clock_init(struct phase_clock *c, int64_t now_ns);

/* Enter a phase; returns the one before. */
enum eddis_phase phase_clock_set(struct phase_clock *c, enum eddis_phase phase, int64_t now_ns);

/* End a step: returns its times, and begins with input again.  compute_ns, input_ns: as the program
 * measured them; 0: those of the phases.  read_ns: of samples that were read ahead, which are input
 * where they took longer than compute; 0: unknown.  They count up to the step's whole time; the
 * rest of it was spent blocked, or else the wait for a device would be one for other workers.
 */
struct board_times phase_clock_step(struct phase_clock *c, int64_t now_ns, int64_t compute_ns,
                                    int64_t input_ns, int64_t read_ns);

/* What is told of how long this worker was blocked, from one call to the next, one a step: in this
 * step so far, as in an exchange of models at its beginning, and in the one before since it was
 * told.
 */
int64_t phase_clock_blocked(struct phase_clock *c);

struct phase {
    pthread_mutex_t lock;
    struct board *board; /* NULL without eddis-run */
    struct phase_clock clock;
    bool waiting;     /* the board shows a wait, perhaps one that timed out and will go on */
    bool peer_shown;  /* and for whom */
    bool stepped;     /* a step has begun ... */
    pthread_t thread; /* ... and the last one by this thread; the page has its number */
};

void phase_init(struct phase *p, int64_t now_ns);

/* Destroys the lock; the board is closed by whoever opened it. */
void phase_fini(struct phase *p);

/* Give all time from now on to this phase; returns the one before. */
enum eddis_phase phase_enter(struct phase *p, enum eddis_phase phase);

/* Whether the present phase is a part of a step: input or compute. */
bool phase_is_training(struct phase *p);

/* Whether the worker waits when the caller does: in a step's phases another thread than the one
 * that began it may wait while that one computes.
 */
bool phase_is_own(struct phase *p);

/* Around a wait that counts as such.  One that ends with -ETIMEDOUT counts too, but to the board it
 * goes on until something else happens, so that waiting in slices looks like one wait.
 */
enum eddis_phase phase_wait_enter(struct phase *p);
void phase_wait_leave(struct phase *p, enum eddis_phase before, int rc);

/* Show on the board which rank this one waits for (-1: nobody), and stop showing it. */
void phase_show_peer(struct phase *p, int rank);
void phase_hide_peer(struct phase *p);

/* Begin a step's compute, in the thread that does the steps; asked_step is the highest step whose
 * samples were asked for; at_once samples of this one are held at a time. */
void phase_step_begin(struct phase *p, int64_t asked_step, int64_t at_once);

/* Show that the present step's samples, all held at once, are so many. */
void phase_show_held(struct phase *p, int64_t n);

/* What the board shows of a step that ended. */
struct phase_step {
    int64_t step, count, plan;
    int64_t sent_bytes;  /* of this rank so far */
    int64_t staleness;   /* of the algorithm */
    int64_t exchange_ns; /* waited for an exchange of models; 0: there was none */
};

/* End a step at end_ns and show it, with what the program reported. */
void phase_step_end(struct phase *p, const struct phase_step *s, int64_t end_ns,
                    const struct eddis_report *report);

/* As phase_clock_blocked. */
int64_t phase_blocked_ns(struct phase *p);

/* Note the least that any worker has told so of the same step. */
void phase_set_exposed(struct phase *p, int64_t exposed_ns);

/* Show a number under a name of the program's.  -EINVAL: no name; -ENOSPC: too many. */
int phase_show_metric(struct phase *p, const char *name, double value, struct eddis_error *err);

/* Show that the job goes on behind so many samples of all workers; 0 where steps tell it. */
void phase_show_restored(struct phase *p, int64_t done);

/* Show what became of a checkpoint of this step; why: of a failure, NULL: it was written. */
void phase_show_checkpoint(struct phase *p, int64_t step, const char *why);

/* Borrow the board for another write until phase_unlock_board.  NULL, and nothing is locked,
 * without a board.
 */
struct board *phase_lock_board(struct phase *p);
void phase_unlock_board(struct phase *p);

#endif
