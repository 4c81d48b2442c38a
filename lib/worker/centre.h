/* SPDX-License-Identifier: Apache-2.0 */
/* centre.h - async and hybrid mode: groups of workers with models of their own, and the centre that
 * they exchange with
 *
 * No lock: the thread that makes steps uses it.  Called without any lock held; exchanges and what
 * workers agree on take the communication thread's and the phase's, samples their own.
 */
#ifndef EDDIS_WORKER_CENTRE_H
#define EDDIS_WORKER_CENTRE_H

#include "collectives.h"
#include "group.h"
#include "parameters.h"
#include "samples.h"
#include "shared_buffers.h"

/* How far the end has come; a call that timed out goes on there. */
enum centre_end { END_NOT, END_LAST, END_MET, END_ADOPT, END_LEAVE, END_OVER };

struct centre {
    /* Borrowed; these do not change. */
    struct collectives *all;
    struct shared_buffers *box;
    struct samples *samples;
    const struct group *group;
    const struct parameters *parameters;
    const struct board_area *area;

    struct sync_value *value;  /* [parameters->n], where the algorithm finds them */
    struct sync_halves halves; /* of them; n 0: none is of 16 bits, or this is no group's root */
    smb_key key[SYNC_TYPES];
    struct mail_exchange mail;
    int64_t timeout_ns; /* of a wait for the others' communication, not for their steps */
    int64_t exchanges;  /* begun */
    bool exchanging;    /* the last of them is not over */
    bool started;       /* the centre is there */
    enum centre_end end;
    struct eddis_request *met; /* the barrier of the start or of END_MET, when it timed out */
    int64_t where[2]; /* told to all others that this worker is at a checkpoint or the end, */
    struct eddis_request *say; /* and what has not been answered when that timed out */
    bool finished;             /* parameters are the centre, all workers have left */
    void *local;               /* own parameters to begin with, of a checkpoint; NULL: none */
    int64_t due_before;     /* checkpoints that were due by samples when this generation began, */
    int64_t planned_before; /* and that plans had asked for */
    int64_t flagged;        /* checkpoints that steps were flagged with since */
    bool owed;              /* the step before was for a checkpoint alone, which was not begun */
};

void centre_close(struct centre *m);

/* Make the centre and the counter, and begin to take samples, before the engine.  Collective. */
int centre_commit(struct centre *m, struct eddis_error *err);

/* Say what engine_new wants to know; what is returned borrows the centre's values. */
struct sync_models centre_setup(struct centre *m);

/* Have the next SYNC_ADOPT fill in halves.centre, for a checkpoint; the end does so itself. */
int centre_halves_want(struct centre *m, struct eddis_error *err);

/* Have the centre begin with these float32 numbers [halves.n], as far as the parameters are still
 * what they are rounded to, and this group with its own, NULL: with the same.  NULL for the centre:
 * all are made of the parameters.
 */
void centre_halves_give(struct centre *m, float *centre_taken, const float *kept);

/* The parameter's value is in another place from now on.  -EBUSY: an exchange is under way. */
int centre_move(struct centre *m, int parameter, void *value, struct eddis_error *err);

/* Return whether an exchange is due before this step, which is not the first. */
bool centre_step_is_due(const struct centre *m, int64_t step, int64_t period);

/* Exchange with the centre between two steps: where one is due before the next, `period` steps
 * being between two of them; or for another reason than SYNC_STEP.  -ETIMEDOUT: the same call goes
 * on with it.
 */
int centre_step(struct centre *m, int64_t period, struct eddis_error *err);
int centre_exchange(struct centre *m, enum sync_exchange what, struct eddis_error *err);

/* Wait for an exchange that was given up, so that nothing writes to the parameters any more. */
int centre_rest(struct centre *m, struct eddis_error *err);

/* Let go of the centre: the next step begins anew, with the parameters as they are then.  Between
 * two steps, or at the end.  Collective.
 */
int centre_go_back(struct centre *m, struct eddis_error *err);

/* Make the first group's parameters the centre, before the first step.  Collective.  -ETIMEDOUT:
 * the next call goes on.
 */
int centre_start(struct centre *m, int64_t deadline_ns, struct eddis_error *err);

/* Wait for all workers to have nothing left to do.  Returns 0 when parameters are the centre, or 1
 * when one of them writes a checkpoint that this one has to take part in.  -EINVAL: this one did
 * not take part, the last time that 1 was returned.  -ETIMEDOUT: the next call goes on.
 */
int centre_finish(struct centre *m, int64_t deadline_ns, struct eddis_error *err);

/* Whether the start or the end has timed out, and has to be gone on with before all else. */
bool centre_is_amidst(const struct centre *m);

/* Wait until all workers are at a checkpoint, none at the end. */
int centre_meet(struct centre *m, struct eddis_error *err);

/* Count the checkpoints due when the job has done this many samples. */
int64_t centre_due(const struct centre *m, int64_t samples);

#endif
