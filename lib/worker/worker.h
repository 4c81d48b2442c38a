/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - what is behind a struct eddis: one worker, put together of its subjects
 *
 * Locks, in the order in which they may be taken: announce_lock (the state of the step that
 * announcing from any thread looks at, held while mail is sent so that the order of mail is the
 * order of calls), the communication thread's own, plan_lock (sampler and agreement, also taken by
 * the engine's hooks, in whichever thread drives it), the phase's.  No call of the communication
 * thread with plan_lock held.
 */
#ifndef EDDIS_WORKER_WORKER_H
#define EDDIS_WORKER_WORKER_H

#include "lib/eddis.h"

#include "centre.h"
#include "collectives.h"
#include "emulate.h"
#include "lib/board/board.h"
#include "lib/checkpoint/fence.h"
#include "lib/comm/tuner.h"
#include "lib/data/sampler.h"
#include "lib/sync/comm_thread.h"
#include "node_memory.h"
#include "parameters.h"
#include "phase.h"
#include "process.h"
#include "shared_buffers.h"
#include "sized.h"
#include "tuning.h"

#include <pthread.h>

/* A step at which something is to be done, decided by a plan. */
struct replan_event {
    int64_t step;
    unsigned flags; /* EDDIS_STEP_... */
};

struct eddis {
    struct process_worker process;
    struct eddis_options options;
    int local_rank, n_local;
    struct board *board;           /* NULL without eddis-run */
    const struct board_area *area; /* its set-up; NULL without eddis-run */
    char mode[16], algorithm[16];
    uint64_t seed;

    struct phase phase;
    struct comm_thread *comm_thread;
    struct collectives all;
    struct parameters parameters;
    struct group group; /* does not change */
    struct node_memory node_memory;
    struct comm_limits limits; /* of eddis_commit: the places refer to them from then on */
    struct engine *engine;     /* NULL before eddis_commit */
    struct tuning tuning;
    struct shared_buffers box;
    struct emulation emulation;

    struct mail_begin begin;
    struct mail_weight weight;
    struct mail finish;
    pthread_mutex_t announce_lock;
    bool in_step; /* between step_begin and step_end */
    int n_announced;
    bool finished;     /* no more announcements in this step */
    bool weight_fixed; /* set, or a gradient was announced */
    bool waited;       /* all results of this step are there */
    int64_t round;     /* steps begun, whatever their numbers */

    pthread_mutex_t plan_lock;
    pthread_cond_t plan_agreed;
    struct samples samples;
    struct centre centre;
    struct sampler *sampler;
    int64_t step;         /* the next one, or the present one */
    int64_t global_batch; /* of every whole step */
    int64_t plan_version; /* newest agreed */
    int64_t plan_passing; /* newest agreed that has BOARD_FLAG_PASSING; 0: none */
    /* Copies of the plans plan_version + 1 .. plan_read, made before they are reported, so that
     * agreeing on one cannot fail any more.
     */
    struct board_plan *plan; /* [BOARD_PLANS], plan v in v % BOARD_PLANS; NULL without a board */
    int64_t plan_read;
    bool frozen; /* steps beyond horizon must not be asked for until agreed */
    int64_t horizon;
    struct replan_event *event; /* [n_events] in order of steps */
    int n_events;
    struct eddis_error plan_failure; /* code 0: none */
    bool stop;                       /* the step before was the last */
    struct sampler_step current;
    unsigned flags; /* of the current step */

    char *fenced; /* rank 0: the folder that it writes checkpoints to; NULL: none so far */
    struct fence fence;
};

/* How to open: eddis_open reads it from the environment, tests give it. */
struct worker_setup {
    comm_thread_open_fn open_transport; /* NULL: one rank */
    void *open_arg;
    const char *board_path; /* NULL: without eddis-run */
    int local_rank, n_local;
};

int worker_open(const struct worker_setup *s, const struct eddis_options *options,
                struct eddis **ret, struct eddis_error *err);

/* Return 0, -EINVAL for NULL, or -EPERM in a forked child. */
static inline int worker_check(const struct eddis *e, struct eddis_error *err)
{
    return process_check(e ? &e->process : NULL, err);
}

/* -EINVAL after eddis_commit; else as worker_check. */
int parameters_check(const struct eddis *e, struct eddis_error *err);

/* The engine's hooks; arg is the handle. */
void replan_report(void *arg, struct sync_tail *tail);
void replan_agree(void *arg, int64_t round, const struct sync_tail *tail);

/* Make the sampler with its first plan.  Collective. */
int replan_open(struct eddis *e, struct eddis_error *err);

/* Flags that plans have put on this step; forgets those before it.  With plan_lock held. */
unsigned replan_flags(struct eddis *e, int64_t step);

/* Rank 0 of a restarted job: from now on no older generation can complete a checkpoint in the job's
 * folder.  -ESTALE: we are the older one.
 */
int checkpoint_save_open(struct eddis *e, struct eddis_error *err);

#endif
