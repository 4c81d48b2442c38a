/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - struct eddis: one worker, composed of its modules
 *
 * Only worker.c, which opens and closes it, step.c, announce.c, wait.c, commit.c and the functions
 * of eddis.h use all of it.  Each module knows only itself and the pointers to others that worker.c
 * sets.  Locks, in the order in which they may be taken:
 *
 *     step.announce_lock > the communication thread's > plan_switch.lock > samples.lock >
 * phase.lock
 *
 * The communication thread is not called while one of the last three locks is held.
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
#include "plan_switch.h"
#include "process.h"
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
    struct comm_hub *hub; /* reference to the process's hub; NULL: the thread has its own */
    bool of_process;      /* the board belongs to the process */
    bool passes;          /* signals of Slurm are ignored, see slurm_signals.h */
    struct board *board;  /* NULL without eddis-run */
    const struct board_area *area; /* set-up of the board; NULL without eddis-run */
    char mode[16], algorithm[16];
    char gradients[EDDIS_GRADIENTS_SIZE]; /* eddis_options.gradients; "": libeddis combines them */
    uint64_t seed;

    struct phase phase;
    struct comm_thread *comm_thread;
    struct collectives all;
    struct parameters parameters;
    struct group group;
    struct node_numbers nodes;
    struct node_memory node_memory;
    struct network_check network; /* as measured by eddis_commit */
    struct comm_limits limits;    /* set by eddis_commit; each struct comm_place refers to them from
                                   * then on */
    struct engine *engine;        /* NULL before eddis_commit */
    struct tuning tuning;
    struct shared_buffers box;
    struct emulation emulation;

    struct samples samples;
    struct plan_switch plan_switch;
    struct centre centre;
    struct checkpoint_save save;
    struct step step;
    struct leave leave;
};

/* How to open a worker: eddis_open reads it from the environment, tests set it. */
struct worker_setup {
    comm_thread_open_fn open_transport; /* NULL: one rank */
    void *open_arg;
    bool mpi;        /* use the process's hub over MPI instead of open_transport and open_arg */
    bool of_process; /* the page of the board belongs to the process, which uses it for its other
                      * workers too */
    const char *board_path; /* NULL: without eddis-run */
    int local_rank, n_local;
};

/* Open a worker, as eddis_open does, with this setup.  Collective.  Return 0 or a negative errno,
 * and then nothing is left of the worker.
 */
int worker_open(const struct worker_setup *s, const struct eddis_options *options,
                struct eddis **ret, struct eddis_error *err);

/* Check whether the job's mode or its options are still open; eddis_commit sets them. */
static inline bool worker_is_open(struct eddis *e)
{
    return !samples_settled(&e->samples);
}

/* Check whether the program combines its gradients itself. */
static inline bool worker_is_external(const struct eddis *e)
{
    return e->gradients[0] != '\0';
}

/* Write the job's length to the page, as far as the data set and the first plan are known. */
void worker_show_length(const struct eddis *e, struct board_page *p);

/* Until eddis_commit, set the mode to the one that the job names; without one to "auto", with all
 * workers in one group.  Return 0 or a negative errno.
 */
int worker_leave_open(struct eddis *e, struct eddis_error *err);

/* Take the mode, and so the group, from the board; without one: "sync".  Return 0 or a negative
 * errno.
 */
int worker_settle(struct eddis *e, struct eddis_error *err);

/* Return the program's description of a step. */
struct eddis_step step_public(const struct eddis *e, const struct sampler_step *s);

/* Check whether the steps have ended because none is left, not because of a requested stop. */
bool step_none_left(const struct eddis *e);

/* Note that there are no more steps, unless the job goes back.  none_left: all steps are done,
 * which the board then shows.
 */
void step_over(struct eddis *e, bool none_left);

/* Check that no exit leaves rounds of local mode to the others, in which the program combines the
 * models, as it cannot at an exit.  Return 0, or -EINVAL if it would.
 */
int ending_check_rounds(const struct eddis *e, struct eddis_error *err);

/* Check whether an exit may end the steps, as far as this worker knows. */
bool ending_may_finish(struct eddis *e);

/* End the steps at an exit, as eddis_finish does: complete a step that has begun, and take part in
 * checkpoints that others write.  Return 0 or a negative errno.
 */
int ending_finish(struct eddis *e, struct eddis_error *err);

/* Return 0, -EINVAL for NULL, or -EPERM: in a forked child, or after an exit has closed the handle.
 */
static inline int worker_check(const struct eddis *e, struct eddis_error *err)
{
    return process_check(e ? &e->process : NULL, err);
}

/* Check e as worker_check does, for a call that writes a result to ret; -EINVAL also if ret is
 * NULL.  what: name of the result in the message.
 */
static inline int worker_check_ret(const struct eddis *e, const void *ret, const char *what,
                                   struct eddis_error *err)
{
    int rc = worker_check(e, err);

    return rc < 0 || ret ? rc : eddis_fail(err, -EINVAL, "the place for the %s is NULL", what);
}

/* Check e as worker_check does, for a call about gradients; -EINVAL also if the program combines
 * them itself.
 */
static inline int worker_check_gradients(const struct eddis *e, struct eddis_error *err)
{
    int rc = worker_check(e, err);

    if (rc < 0 || !worker_is_external(e))
        return rc;
    return eddis_fail(
        err, -EINVAL,
        "gradients of this program are combined by %s, as its eddis_options say: none "
        "can be announced, weighted or waited for",
        e->gradients);
}

#endif
