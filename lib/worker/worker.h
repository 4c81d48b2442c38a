/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - what is behind a struct eddis: one worker, put together of its subjects
 *
 * Only worker.c, which opens and closes it, step.c, announce.c, wait.c, commit.c and the functions
 * of eddis.h see all of it; a subject knows itself and what worker.c tells it of others.  Locks, in
 * the order in which they may be taken:
 *
 *     step.announce_lock > the communication thread's > replan.lock > samples.lock > phase.lock
 *
 * No call of the communication thread with one of the last three held.
 */
#ifndef EDDIS_WORKER_WORKER_H
#define EDDIS_WORKER_WORKER_H

#include "lib/eddis.h"

#include "centre.h"
#include "checkpoint_save.h"
#include "collectives.h"
#include "emulate.h"
#include "group.h"
#include "leave.h"
#include "lib/comm/tuner.h"
#include "node_memory.h"
#include "node_numbers.h"
#include "parameters.h"
#include "phase.h"
#include "process.h"
#include "replan.h"
#include "samples.h"
#include "shared_buffers.h"
#include "sized.h"
#include "step.h"
#include "tuning.h"

#include <errno.h>

struct eddis {
    struct process_worker process;
    struct eddis_options options;
    int local_rank, n_local;
    struct comm_hub *hub;          /* a share in the process's; NULL: the thread has its own */
    bool of_process;               /* the board is the process's */
    bool passes;                   /* signals of Slurm's, see slurm_signals.h */
    struct board *board;           /* NULL without eddis-run */
    const struct board_area *area; /* its set-up; NULL without eddis-run */
    char mode[16], algorithm[16];
    uint64_t seed;

    struct phase phase;
    struct comm_thread *comm_thread;
    struct collectives all;
    struct parameters parameters;
    struct group group;
    struct node_numbers nodes;
    struct node_memory node_memory;
    struct network_check network; /* what eddis_commit found it to be */
    struct comm_limits limits;    /* of eddis_commit: the places refer to them from then on */
    struct engine *engine;        /* NULL before eddis_commit */
    struct tuning tuning;
    struct shared_buffers box;
    struct emulation emulation;

    struct samples samples;
    struct replan replan;
    struct centre centre;
    struct checkpoint_save save;
    struct step step;
    struct leave leave;
};

/* How to open: eddis_open reads it from the environment, tests give it. */
struct worker_setup {
    comm_thread_open_fn open_transport; /* NULL: one rank */
    void *open_arg;
    bool mpi;        /* the process's hub, which stands on MPI, instead of these two */
    bool of_process; /* the page of the board is the process's, whose other workers use it too */
    const char *board_path; /* NULL: without eddis-run */
    int local_rank, n_local;
};

int worker_open(const struct worker_setup *s, const struct eddis_options *options,
                struct eddis **ret, struct eddis_error *err);

/* Whether the job's mode is open: eddis_commit brings it. */
static inline bool worker_is_open(struct eddis *e)
{
    return !samples_settled(&e->samples);
}

/* How long the job is, as far as the data and the first plan are known. */
void worker_show_length(const struct eddis *e, struct board_page *p);

/* Until eddis_commit all are one group, which has no samples. */
int worker_leave_open(struct eddis *e, struct eddis_error *err);

/* Take the mode, and with it the group, as the board has them now. */
int worker_settle(struct eddis *e, struct eddis_error *err);

/* What the program is told of a step. */
struct eddis_step step_public(const struct eddis *e, const struct sampler_step *s);

/* Whether the steps ended because none is left, and not because somebody wanted them to end. */
bool step_none_left(const struct eddis *e);

/* There is no step any more, unless the job goes back; none_left: and all are done. */
void step_over(struct eddis *e, bool none_left);

/* Whether an exit may end the steps, as far as this worker knows; do so, as eddis_finish does, with
 * a step that has begun, and with checkpoints that others write meanwhile.
 */
bool ending_may_finish(struct eddis *e);
int ending_finish(struct eddis *e, struct eddis_error *err);

/* Return 0, -EINVAL for NULL, or -EPERM: in a forked child, or an exit has closed the handle. */
static inline int worker_check(const struct eddis *e, struct eddis_error *err)
{
    return process_check(e ? &e->process : NULL, err);
}

/* The same for a call that writes its result, which is called so, to ret: -EINVAL for NULL too. */
static inline int worker_check_ret(const struct eddis *e, const void *ret, const char *what,
                                   struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 || ret ? rc : eddis_fail(err, -EINVAL, "the place for the %s is NULL", what);
}

#endif
