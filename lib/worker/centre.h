/* SPDX-License-Identifier: Apache-2.0 */
/* centre.h - a part of handle.h: async and hybrid mode, where groups of workers have models of
 * their own (models.c), take their samples from a shared counter (take.c) and have more to keep in
 * a checkpoint (kept.c)
 */
#ifndef EDDIS_WORKER_CENTRE_H
#define EDDIS_WORKER_CENTRE_H

#include "lib/checkpoint/checkpoint.h"
#include "lib/data/ranges.h"
#include "lib/data/sampler.h"
#include "lib/sync/comm_thread.h"

struct eddis;

/* The ranks that train one model: all of them in sync mode. */
struct group {
    bool several; /* models, one a group; false: sync mode */
    int number, n_groups;
    int *member; /* [place.n_ranks] */
    struct comm_place place;
};

enum {
    SAMPLES_AHEAD = 4, /* steps from the present one on whose ranges a group's root has taken */
    SAMPLES_TOLD = 64,
};

/* Samples from a shared counter, in the modes with several models.  The group's root adds to the
 * counter and tells its members, one range with each step's tail.  In sync mode, after a checkpoint
 * of the other modes, every worker counts for itself: all come to the same.
 */
struct samples {
    struct ranges *ranges; /* NULL in sync mode from a beginning of its own */
    smb_key counter;
    int64_t counted;                 /* sync mode: the counter */
    struct range told[SAMPLES_TOLD]; /* [n_told] of the root: the members do not know them yet */
    int n_told;
    struct mail_box ask;
    bool asking; /* `ask` is under way */
    bool busy;   /* a thread waits for it */
    bool frozen; /* a checkpoint notes what is taken: nothing may be */
};

/* How far the end has come; a call that timed out goes on there. */
enum centre_end { END_NOT, END_LAST, END_MET, END_ADOPT, END_LEAVE, END_OVER };

/* What the modes with several models keep besides. */
struct centre {
    smb_key centre[SYNC_TYPES];
    struct mail_exchange mail;
    int64_t timeout_ns; /* of a wait for the others' communication, not for their steps */
    int64_t exchanges;  /* begun */
    bool exchanging;    /* the last of them is not over */
    bool taken;         /* the step's samples and flags are known, but it has not begun */
    bool started;       /* the centre is there */
    enum centre_end end;
    bool finished;      /* parameters are the centre, all workers have left */
    void *local;        /* own parameters to begin with, of a checkpoint; NULL: none */
    int64_t planned;    /* checkpoints that plans asked for */
    int64_t due_before; /* ... and that were due by samples when this generation began */
    int64_t flagged;    /* checkpoints that steps were flagged with */
    bool owed;          /* the step before was for a checkpoint alone, which was not begun */
};

/* ---- models.c ---- */

/* Whether groups of workers have models of their own: async and hybrid mode. */
bool centre_several(const struct eddis *e);

/* Find the group; nothing is sent. */
int centre_open(struct eddis *e, struct eddis_error *err);
void centre_close(struct eddis *e);

/* Make the centre and the counter, before the engine.  Collective. */
int centre_commit(struct eddis *e, struct eddis_error *err);

/* The parameters, returned as a list; NULL without memory. */
struct sync_value *centre_values(const struct eddis *e);

/* What engine_new wants to know; borrows value [n_parameters]. */
struct sync_models centre_setup(const struct eddis *e, const struct sync_value *value);

/* Between two steps: exchange when it is due.  -ETIMEDOUT: the same call goes on with it. */
int centre_exchange(struct eddis *e, enum sync_exchange what, struct eddis_error *err);

/* Before the first step.  Collective. */
int centre_start(struct eddis *e, struct eddis_error *err);

/* Nothing is left: 0 when all workers have come here, and parameters are the centre; 1 when one of
 * them writes a checkpoint that this one has to take part in.  -EINVAL: it did not, the last time.
 */
int centre_finish(struct eddis *e, struct eddis_error *err);

/* All workers are at a checkpoint, none at the end. */
int centre_meet(struct eddis *e, struct eddis_error *err);

/* Sync mode: begin with what is left. */
int samples_begin_alike(struct eddis *e, const struct range *left, size_t n_left, int64_t done,
                        struct eddis_error *err);

/* Begin to take samples: everything, or what is left [n_left] of an earlier generation that had
 * done `done`.  Collective.
 */
int samples_begin(struct eddis *e, const struct range *left, size_t n_left, int64_t done,
                  struct eddis_error *err);
void samples_end(struct eddis *e);

/* What is to be done at a step.  Returns 1, or 0 when nothing is left.  May wait, with plan_lock
 * held outside of the wait; so do the next two.
 */
int samples_step(struct eddis *e, int64_t step, struct sampler_step *ret, struct eddis_error *err);

/* The present step begins: have the samples of a later one taken meanwhile. */
int samples_ahead(struct eddis *e, struct eddis_error *err);

/* Until samples_thaw nothing is taken, and what was is known. */
int samples_freeze(struct eddis *e, struct eddis_error *err);
void samples_thaw(struct eddis *e);

/* The hooks' part: the root's next range goes with the tail, the members learn it. */
void samples_report(struct eddis *e, struct sync_tail *tail);
int samples_learn(struct eddis *e, const struct sync_tail *tail, struct eddis_error *err);

/* Checkpoints due when so many samples of the job are done. */
int64_t samples_due(const struct eddis *e, int64_t samples);

/* What is left, in order; returns a list on rank 0, nothing elsewhere.  Collective, while all are
 * frozen.
 */
int samples_left(struct eddis *e, struct range **ret, size_t *ret_n, struct eddis_error *err);

/* A request to the box, waited for. */
int centre_ask(struct eddis *e, struct smb_request *r, struct eddis_error *err);

/* What a checkpoint keeps besides what the program puts into it; nothing but the step in sync mode.
 * With several models the centre is in the place of the parameters until checkpoint_models_release.
 */
struct checkpoint_models {
    int64_t step; /* of the checkpoint: the farthest of any worker */
    void *local;  /* this worker's own parameters; NULL: they were the centre */
    size_t local_bytes;
    struct range *left; /* [n_left] samples that were not done, rank 0 */
    size_t n_left;
};

/* Wait until all workers are at it.  Collective. */
int checkpoint_models_take(struct eddis *e, struct checkpoint_models *ret, struct eddis_error *err);
int checkpoint_models_put(struct eddis *e, const struct checkpoint_models *k,
                          struct checkpoint *files, struct eddis_error *err);
void checkpoint_models_release(struct eddis *e, struct checkpoint_models *k);

/* Whether it was made with several models. */
bool checkpoint_models_has(const struct checkpoint *files);

/* Go on with the samples that are left and, where groups are as they were, with their own models.
 * Collective.
 */
int checkpoint_models_restore(struct eddis *e, const struct checkpoint *files,
                              struct eddis_error *err);

#endif
