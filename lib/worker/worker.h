/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - what is behind a struct eddis: one worker, for the files of this folder
 *
 * Two locks.  announce_lock: the state of the step that announcing from any thread looks at, held
 * while mail is sent so that the order of mail is the order of calls.  plan_lock: sampler,
 * agreement and board, also taken by the engine's hooks, in whichever thread drives it.  Order:
 * announce_lock, the communication thread's own, plan_lock; no call of the communication thread
 * with plan_lock held.
 */
#ifndef EDDIS_WORKER_WORKER_H
#define EDDIS_WORKER_WORKER_H

#include "lib/eddis.h"

#include "centre.h"
#include "lib/board/board.h"
#include "lib/checkpoint/fence.h"
#include "lib/comm/tuner.h"
#include "lib/data/sampler.h"
#include "lib/sync/comm_thread.h"
#include "node_memory.h"
#include "phase.h"

#include <pthread.h>

/* Collectives without a timeout of their own: commit, initial broadcast, checkpoints. */
#define WORKER_TIMEOUT_NS (INT64_C(600) * CLOCK_S)

struct parameter_layer {
    char *name;
    enum eddis_layer_kind kind;
};

struct parameter {
    char *name;
    int layer;
    enum eddis_dtype dtype;
    int n_dims;
    int64_t dims[EDDIS_MAX_DIMS];
    size_t n;
    void *value;
    bool factored;
    bool announced; /* in this step; announce_lock */
    bool held;      /* announced, but an emulated device is not so far; announce_lock */
    struct mail_announce mail;
};

/* A step at which something is to be done, decided by a plan. */
struct replan_event {
    int64_t step;
    unsigned flags; /* EDDIS_STEP_... */
};

/* Steps that last as long as on the device that this worker emulates. */
struct emulation {
    int64_t until_ns;   /* when the current step's compute is over; 0: nothing to emulate */
    int64_t overrun_ns; /* by so much the real work of this step was longer */
    int64_t waited_ns;  /* when the last wait returned: the update behind it belongs to the */
    int64_t update_ns;  /* next step's compute, and lasted so long */
};

struct eddis {
    struct eddis_options options;
    struct comm_place place;
    int local_rank, n_local;
    int fork_count; /* process_forks() at open */
    struct eddis *next_open;
    struct board *board; /* NULL without eddis-run */
    char mode[16], algorithm[16];
    uint64_t seed;

    struct parameter_layer *layer;
    int n_layers;
    struct parameter *parameter;
    int n_parameters;

    struct comm_thread *comm_thread;
    struct comm_limits limits; /* of eddis_commit: place refers to them from then on */
    struct engine *engine;     /* NULL before eddis_commit */
    struct mail_begin begin;
    struct mail_weight weight;
    struct mail finish;
    struct eddis_request *requests; /* not yet waited for */
    int64_t timeout_ns;             /* of collectives_allreduce and the like */

    struct node_memory node_memory;
    struct smb *box; /* NULL before shared_buffers_open */
    struct mail leave_box;
    struct eddis_smb_request *boxed; /* not yet waited for */

    pthread_mutex_t announce_lock;
    bool in_step; /* between step_begin and step_end */
    int n_announced;
    bool finished;     /* no more announcements in this step */
    bool weight_fixed; /* set, or a gradient was announced */
    bool waited;       /* all results of this step are there */
    int64_t round;     /* steps begun, whatever their numbers */

    pthread_mutex_t plan_lock;
    pthread_cond_t plan_agreed;
    struct group group; /* does not change */
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
    struct phase_clock clock;
    bool stop; /* the step before was the last */
    struct sampler_step current;
    unsigned flags;  /* of the current step */
    bool waiting;    /* the board shows a wait, perhaps one that timed out and will go on */
    bool peer_shown; /* and for whom */
    struct emulation emulation;

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

/* 0, or -EINVAL for NULL, -EPERM in a forked child, or the failure that ended communication. */
int worker_check(const struct eddis *e, struct eddis_error *err);

/* Time belongs to this phase from now on; returns the one before. */
enum eddis_phase worker_phase(struct eddis *e, enum eddis_phase phase);

/* Around a wait that counts as such.  One that ends with -ETIMEDOUT counts too, but to the board it
 * goes on until something else happens, so that waiting in slices looks like one wait.
 */
enum eddis_phase worker_wait_enter(struct eddis *e);
void worker_wait_leave(struct eddis *e, enum eddis_phase before, int rc);

/* As comm_thread_wait; when it takes long the board tells for whom. */
int worker_wait(struct eddis *e, struct comm_wait *w, int64_t deadline_ns, struct eddis_error *err);

/* The three moments of a step that an emulated device needs.  emulate_wait sleeps, until
 * deadline_ns at most: -ETIMEDOUT then.
 */
void emulate_begin(struct eddis *e, int64_t now_ns);
int emulate_wait(struct eddis *e, int64_t deadline_ns, struct eddis_error *err);
void emulate_end(struct eddis *e, int64_t now_ns);

/* As the calls of eddis.h, for the library itself: a call that times out is the end of all
 * communication.
 */
int collectives_request_wait(struct eddis *e, struct eddis_request *q, struct eddis_error *err);
int collectives_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                          enum eddis_op op, struct eddis_error *err);
int collectives_broadcast(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_error *err);
int collectives_allgather(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_error *err);
int collectives_barrier(struct eddis *e, struct eddis_error *err);

/* Make all ranks return the same: rc and err of the lowest rank that failed, or 0.  Collective. */
int collectives_agree(struct eddis *e, int rc, struct eddis_error *err);

/* Copy the fields that both sides know between structs that begin with their size. */
void worker_copy_in(void *to, size_t to_size, const void *from);
int worker_copy_out(void *to, const void *from, size_t from_size);

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

/* Number the nodes of all ranks, [n_ranks], as the board does or else by name.  Collective. */
int shared_buffers_nodes(struct eddis *e, int *ret_node_of, struct eddis_error *err);

/* Open the Soft Memory Box, with so many servers (0: one a node), unless it is open.  Collective.
 */
int shared_buffers_open(struct eddis *e, int n_servers, struct eddis_error *err);

/* A request to the box, waited for; it has a deadline. */
int shared_buffers_ask(struct eddis *e, struct smb_request *r, struct eddis_error *err);

/* Leave the box in good order, when it is open.  Collective. */
int shared_buffers_leave(struct eddis *e, int64_t deadline_ns, struct eddis_error *err);

/* When the communication thread is closed. */
void shared_buffers_close(struct eddis *e);

/* Run a collective of this rank's group, which is taken, to its end.  `what` is named when it does
 * not come. */
int collectives_run(struct eddis *e, const char *what, struct collective *c,
                    struct eddis_error *err);

/* Measure what all-reduces of the groups cost, in some tens of ms; arena_bytes: of this rank in the
 * memory of its node, free to be used; 0: none.  The same result on all ranks.  Collective.
 */
int tuning_measure(struct eddis *e, size_t arena_bytes, struct tuner_result *ret,
                   struct eddis_error *err);

/* Free the requests that nobody waited for. */
void collectives_free_all(struct eddis *e);

#endif
