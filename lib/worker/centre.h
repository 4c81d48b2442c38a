/* SPDX-License-Identifier: Apache-2.0 */
/* centre.h - async, hybrid and local mode: groups of workers with their own models, and the centre
 * variable that they exchange with (EASGD), or the common model that they combine in rounds (local)
 *
 * struct centre has no lock: only the thread that makes steps uses it.  The functions are called
 * without any lock held.  Exchanges and collectives take the locks of the communication thread and
 * the phase; functions of samples.h take their own lock.
 */
#ifndef EDDIS_WORKER_CENTRE_H
#define EDDIS_WORKER_CENTRE_H

#include "collectives.h"
#include "group.h"
#include "parameters.h"
#include "samples.h"
#include "shared_buffers.h"

/* Stages of ending the job; after a timeout the next call continues at the stage reached. */
enum centre_end { END_NOT, END_LAST, END_MET, END_ADOPT, END_LEAVE, END_OVER };

struct centre {
    /* Borrowed; these do not change. */
    struct collectives *all;
    struct shared_buffers *box;
    struct samples *samples;
    const struct group *group;
    const struct parameters *parameters;
    const struct board_area *area;

    struct sync_value *value;  /* the parameters as the algorithm uses them */
    struct sync_halves halves; /* float32 copies of the 16-bit parameters; n 0: there are none, or
                                * this worker is no group root */
    smb_key key[SYNC_TYPES];
    struct command_exchange command;
    int64_t timeout_ns; /* longest wait for communication of other workers; not for their steps */
    int64_t exchanges;  /* number of exchanges begun */
    int64_t hidden_ns;  /* how long steps have hidden the read of the newest SYNC_STEP; written by
                         * the thread that drives the engine while it is under way */
    bool exchanging;    /* the newest exchange is not done */
    bool started;       /* the centre exists */
    enum centre_end end;
    struct eddis_request *met; /* barrier of the start or of END_MET that timed out; NULL: none */
    int64_t where[2];          /* { x, -x }, x AT_CHECKPOINT or AT_END; then the minimum over all
                                * workers */
    struct eddis_request *say; /* all-reduce of `where` that timed out; NULL: none */
    bool finished;             /* the parameters are the centre, and all workers have left it */
    void *local;               /* own parameters from a checkpoint, with which this group begins;
                                * NULL: none */
    int64_t due_before;        /* checkpoints due by samples when this generation began */
    int64_t planned_before;    /* checkpoints requested by plans when this generation began */
    int64_t flagged;           /* steps of this generation that had EDDIS_STEP_CHECKPOINT */
    bool owed; /* the previous step was only for a checkpoint, which has not begun */

    /* Local mode */
    void *momentum[SYNC_TYPES]; /* of the outer optimizer, for each type; NULL: it has none */
    double weight;              /* sum of this rank's weights in the present round */
    int64_t steps;              /* steps that were done in the present round */
    unsigned flags;             /* SYNC_... of all workers at the newest round's end, SYNC_GOES_ON
                                 * before the first; written by the thread that drives the engine */
    bool lands;                 /* the result of the newest round's end is not applied */
    bool wrote;                 /* a round's end has written parameter values since the last step */
    bool outside;               /* the program combines the models itself */
    bool ended;                 /* a round has ended, whose models it has not combined yet */
};

/* Free the memory that m owns. */
void centre_close(struct centre *m);

/* Create the centre and the shared counter of samples in the Soft Memory Box, and draw the first
 * samples.  Called before the engine exists.  Collective.  Return 0 or a negative errno.
 */
int centre_commit(struct centre *m, struct eddis_error *err);

/* Return the options for engine_new; they borrow the centre's values. */
struct sync_models centre_setup(struct centre *m);

/* Allocate halves.centre, if there are 16-bit parameters, for the next SYNC_ADOPT to fill in for a
 * checkpoint.  At the end of the job centre_finish allocates it.  Return 0 or -ENOMEM.
 */
int centre_halves_want(struct centre *m, struct eddis_error *err);

/* Set the float32 numbers [halves.n] with which the centre begins, where the parameters still equal
 * the rounded numbers.  Take ownership of centre_taken; NULL: derive all numbers from the
 * parameters.  `kept` [halves.n] are the group's own numbers and are copied; NULL: they are the
 * centre's.
 */
void centre_halves_give(struct centre *m, float *centre_taken, const float *kept);

/* Set the address of a parameter's value.  Return 0 or -EBUSY: an exchange is under way, the
 * address is unchanged.
 */
int centre_move(struct centre *m, int parameter, void *value, struct eddis_error *err);

/* Check whether an exchange is due before this step, which is not the first. */
bool centre_step_is_due(const struct centre *m, int64_t step, int64_t period);

/* Exchange with the centre between two steps if it is due, every `period` steps.  Return 0, also if
 * it is not due, or a negative errno; -ETIMEDOUT: repeat the call to continue.
 */
int centre_step(struct centre *m, int64_t period, struct eddis_error *err);

/* Local mode: end the round if its last step, or a stop, is over: combine the models of all groups.
 * With overlap the result is applied by a later call, after as many steps, and at the latest at the
 * next round's end.
 * Waits for the other groups' steps without a limit, as a step in sync mode does: the board shows
 * for whom.  Collective.  Return 0, also if there is nothing to do; EDDIS_ROUND_ENDED: the program
 * combines the models of the round, and then calls again; or a negative errno.
 */
int centre_round(struct centre *m, struct eddis_error *err);

/* Local mode: check whether the first call of centre_round after one more step applies the result
 * of a round's end.
 */
bool centre_lands_next(const struct centre *m);

/* Exchange with the centre now, for a reason other than SYNC_STEP.  Return 0 or a negative errno;
 * -ETIMEDOUT: repeat the call to continue.
 */
int centre_exchange(struct centre *m, enum sync_exchange what, struct eddis_error *err);

/* Wait for an exchange that timed out, and apply a round's result that is not applied yet, so that
 * nothing writes to the parameters any more.  Return 0, also if there is none, or a negative errno;
 * -ETIMEDOUT: the exchange is still under way.
 */
int centre_rest(struct centre *m, struct eddis_error *err);

/* Detach from the centre, so that the next step creates it again from the parameters at that time.
 * Call it between two steps, or at the end.  Collective.  Return 0 or, on all workers, a negative
 * errno.
 */
int centre_go_back(struct centre *m, struct eddis_error *err);

/* Make the first group's parameters the centre, before the first step.  Collective.  Return 0 or a
 * negative errno; -ETIMEDOUT: the next call continues.
 */
int centre_start(struct centre *m, int64_t deadline_ns, struct eddis_error *err);

/* Wait until no worker has steps left.  Return 0 if the parameters are the centre, or 1 if a worker
 * writes a checkpoint that this one must take part in.  EDDIS_ROUND_ENDED: as centre_round.
 * -EINVAL: the previous call returned 1, and this worker has not taken part in that checkpoint.
 * -ETIMEDOUT: the next call continues.
 */
int centre_finish(struct centre *m, int64_t deadline_ns, struct eddis_error *err);

/* Check whether the start or the end has timed out and must be continued before any other call. */
bool centre_is_amidst(const struct centre *m);

/* Wait until all workers are at a checkpoint and none is at the end.  Collective.  Return 0,
 * EDDIS_ROUND_ENDED as centre_round, or a negative errno.
 */
int centre_meet(struct centre *m, struct eddis_error *err);

/* Return how many checkpoints are due when the job has done this many samples. */
int64_t centre_due(const struct centre *m, int64_t samples);

#endif
