/* SPDX-License-Identifier: Apache-2.0 */
/* phase.h - account for a step's time by phase, and write this worker's progress page
 *
 * Time counts for the newest phase that was set.  A step's time is that of the phases input,
 * compute and wait; start, evaluation and checkpoints are outside of steps.  Waiting is split in
 * two.  The shortest wait of any worker in the step before is the time that communication takes if
 * nobody is late (exposed).  The rest was waiting for other workers.
 *
 * One lock guards all of struct phase and is held for every write to the page.  It is the last in
 * the order of locks: it may be taken while any other lock is held, and no lock is taken while it
 * is held.
 */
#ifndef EDDIS_WORKER_PHASE_H
#define EDDIS_WORKER_PHASE_H

#include "lib/eddis.h"

#include "lib/board/board.h"

#include <pthread.h>

/* The clock of phases, without lock and board. */
struct phase_clock {
    enum eddis_phase phase;
    int64_t since_ns;                       /* time when the phase began */
    int64_t spent_ns[EDDIS_PHASE_DONE + 1]; /* time in each phase in this step */
    int64_t blocked_ns; /* time blocked in the step before, less its reported_ns; INT64_MAX: no step
                         * yet */
    int64_t
        reported_ns; /* time blocked in this step that phase_clock_blocked has already returned */
    int64_t exposed_ns; /* least time blocked of all workers; INT64_MAX: not known, treated as 0 */
};

/* Start the clock in EDDIS_PHASE_START. */
void phase_clock_init(struct phase_clock *c, int64_t now_ns);

/* Enter a phase; return the previous one. */
enum eddis_phase phase_clock_set(struct phase_clock *c, enum eddis_phase phase, int64_t now_ns);

/* End a step: return its times and enter the input phase.  compute_ns, input_ns: the program's
 * measurements; 0: use the phases' times.  read_ns: time that reading the step's samples ahead
 * took; the part above compute counts as input; 0: unknown.  Compute and input are limited to the
 * step's whole time; the rest of it counts as blocked.  With the program's measurements the wait
 * for a device does not look like a wait for other workers.
 */
struct board_times phase_clock_step(struct phase_clock *c, int64_t now_ns, int64_t compute_ns,
                                    int64_t input_ns, int64_t read_ns);

/* Return how long this worker was blocked since the previous call, which was in the previous step.
 * That is the blocked time of this step so far, such as an exchange of models at its beginning,
 * plus the blocked time of the previous step after that call.  INT64_MAX before the first step has
 * ended.
 */
int64_t phase_clock_blocked(struct phase_clock *c);

struct phase {
    pthread_mutex_t lock;
    struct board *board; /* NULL without eddis-run */
    struct phase_clock clock;
    bool waiting;     /* the board shows a wait, possibly one that timed out and will be repeated */
    bool peer_shown;  /* the board shows the rank for which this one waits */
    bool stepped;     /* a step has begun since the opening */
    pthread_t thread; /* if `stepped`: thread that began the newest step; the page has its number */
};

/* Start the clock and create the lock.  There is no board yet. */
void phase_init(struct phase *p, int64_t now_ns);

/* Destroy the lock.  The board is closed by its opener. */
void phase_fini(struct phase *p);

/* Count all time from now on for this phase; return the previous one. */
enum eddis_phase phase_enter(struct phase *p, enum eddis_phase phase);

/* Check whether the present phase is a part of a step: input or compute. */
bool phase_is_training(struct phase *p);

/* Check whether the whole worker waits if the calling thread does.  During a step a thread other
 * than the one that began the step may wait while that one computes.
 */
bool phase_is_own(struct phase *p);

/* Begin a wait that counts as waiting time, and show it on the board; return the previous phase. */
enum eddis_phase phase_wait_enter(struct phase *p);

/* End a wait with result rc and return to phase `before`.  After -ETIMEDOUT the board keeps showing
 * the wait until the next phase or wait begins, so that repeated short waits look like one.
 */
void phase_wait_leave(struct phase *p, enum eddis_phase before, int rc);

/* Show on the board which rank this one waits for; -1: nobody. */
void phase_show_peer(struct phase *p, int rank);

/* Stop showing on the board a rank for which this one waits. */
void phase_hide_peer(struct phase *p);

/* Begin a step's compute, in the thread that makes the steps.  asked_step: highest step whose
 * samples were asked for.  at_once: samples of this step that are in memory at the same time.
 */
void phase_step_begin(struct phase *p, int64_t asked_step, int64_t at_once);

/* Show that the present step has n samples, all in memory at the same time. */
void phase_show_held(struct phase *p, int64_t n);

/* Values of a finished step for the board. */
struct phase_step {
    int64_t step, count, plan;
    int64_t sent_bytes;  /* bytes that this rank has sent so far */
    int64_t staleness;   /* staleness of the algorithm's model, in steps */
    int64_t exchange_ns; /* time that an exchange of models took; 0: none */
};

/* End a step at end_ns and show it on the board, with the program's report. */
void phase_step_end(struct phase *p, const struct phase_step *s, int64_t end_ns,
                    const struct eddis_report *report);

/* Return for how many ns this worker was blocked since the call in the previous step, and record
 * the value, so that the next step's call leaves it out.  INT64_MAX: no step has ended yet.
 */
int64_t phase_blocked_ns(struct phase *p);

/* Set the least time that any worker has got from phase_blocked_ns for the same step. */
void phase_set_exposed(struct phase *p, int64_t exposed_ns);

/* Show a value under a name given by the program.  Return 0, also without a board; -EINVAL: invalid
 * name; -ENOSPC: too many names.
 */
int phase_show_metric(struct phase *p, const char *name, double value, struct eddis_error *err);

/* Show that the job continues after this many samples of all workers; 0 if the step implies them.
 */
void phase_show_restored(struct phase *p, int64_t done);

/* Show the result of a checkpoint of this step.  why: reason why writing it failed; NULL: the
 * checkpoint was written.
 */
void phase_show_checkpoint(struct phase *p, int64_t step, const char *why);

/* Borrow the board for another write, locked until phase_unlock_board.  Return NULL, without
 * locking, if there is no board.
 */
struct board *phase_lock_board(struct phase *p);

/* Give back and unlock the board of phase_lock_board. */
void phase_unlock_board(struct phase *p);

#endif
