/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - open and close a worker */
#include "worker.h"
#include "environment.h"
#include "lib/eddis.h"
#include "open_options.h"
#include "process.h"
#include "slurm_signals.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"

#include <string.h>

#define LEAVE_TELL_NS (INT64_C(60) * CLOCK_S) /* interval of messages of leave_wait */

_Static_assert((int)EDDIS_FLOAT32 == COMM_FLOAT32 && (int)EDDIS_FLOAT64 == COMM_FLOAT64 &&
                   (int)EDDIS_INT32 == COMM_INT32 && (int)EDDIS_INT64 == COMM_INT64 &&
                   (int)EDDIS_UINT8 == COMM_UINT8 && (int)EDDIS_FLOAT16 == COMM_FLOAT16 &&
                   (int)EDDIS_BFLOAT16 == COMM_BFLOAT16 && (int)EDDIS_SUM == COMM_SUM &&
                   (int)EDDIS_MIN == COMM_MIN && (int)EDDIS_MAX == COMM_MAX,
               "lib/comm repeats the public numbers");

/* Let the worker use this board: write what the program can do to the page, and let the modules
 * refer to the board and the job's set-up.
 */
static void worker_set_board(struct eddis *e, struct board *board)
{
    board_begin(board)->takes_pieces = e->options.pieces != 0;
    board_begin(board)->steps_source = 0;
    board_end(board);
    e->board = e->phase.board = e->plan_switch.board = board;
    e->area = e->centre.area = e->save.area = board_setup(board);
    e->leave.tells = false;
}

/* With a board, open this worker's page of it, and take the job's seed, emulation and bucket size
 * from it; otherwise use the options.  Return 0 or the failure of board_open or process_board_take.
 */
static int worker_read_board(struct eddis *e, const struct worker_setup *s, struct eddis_error *err)
{
    const struct board_area *a;
    struct board *board;
    int rc;

    e->seed = e->options.seed;
    if (s->board_path) {
        rc = s->of_process ? process_board_take(s->board_path, s->local_rank, &board, err)
                           : board_open(s->board_path, s->local_rank, &board, err);
        if (rc < 0)
            return rc;
        worker_set_board(e, board);
        a = e->area;
        e->seed = a->seed;
        e->n_local = a->n_local;
        if (!e->options.bucket_bytes)
            e->options.bucket_bytes = a->bucket_bytes;
        e->options.measure = 1; /* the plan keeps the result */
        if (a->emulated)
            e->emulation =
                (struct emulation){ .emulated = !e->options.own_pace,
                                    .fixed_s = a->fixed_s[s->local_rank],
                                    .sample_s = a->sample_s[s->local_rank],
                                    .jitter = a->jitter[s->local_rank],
                                    .seed = random_mix(a->seed,
                                                       (uint64_t)(a->first_rank + s->local_rank)) };
    }
    return 0;
}

/* Check that MPI and the agent agree on rank and size of the job.  Return 0, also without a board,
 * or -EPROTO if not.
 */
static int worker_check_place(const struct eddis *e, struct eddis_error *err)
{
    const struct board_area *a = e->area;

    if (!a)
        return 0;
    if (e->all.place.n_ranks != a->n_ranks || e->all.place.rank != a->first_rank + e->local_rank)
        return eddis_fail(
            err, -EPROTO,
            "MPI reports rank %d of %d, but the job's progress board has rank %d of %d",
            e->all.place.rank, e->all.place.n_ranks, a->first_rank + e->local_rank, a->n_ranks);
    return 0;
}

/* Connect this worker to a communication thread: its own, or with MPI that of the process.
 * Collective.  Return 0 or a negative errno.
 */
static int worker_join(struct eddis *e, const struct worker_setup *s, struct eddis_error *err)
{
    int rc;

    if (!s->mpi)
        return comm_thread_open(s->open_transport, s->open_arg, &e->comm_thread, err);
    rc = process_hub_take(&e->hub, err);
    return rc < 0 ? rc : comm_thread_join(e->hub, &e->comm_thread, err);
}

/* Disconnect this worker from the communication thread.  orderly: all workers have come to the end.
 * Return 0 or the failure of closing.
 */
static int worker_part(struct eddis *e, bool orderly, struct eddis_error *err)
{
    int rc = comm_thread_close(e->comm_thread, orderly, err);

    if (e->hub)
        process_hub_put(orderly && rc == 0);
    return rc;
}

/* Wait for all workers and disconnect.  Unless at_exit, remove the worker from the process's list:
 * at an exit other threads may still use the handle.  e is not freed.  Return the first failure.
 * Collective.
 */
static int worker_leave(struct eddis *e, bool at_exit, struct eddis_error *err)
{
    int rc, rc2;

    phase_enter(&e->phase, EDDIS_PHASE_DONE);
    rc = leave_wait(&e->leave, err);
    if (!at_exit)
        process_remove(&e->process);
    rc2 = worker_part(e, rc == 0, rc == 0 ? err : NULL);
    return rc < 0 ? rc : rc2;
}

/* Leave the job at an exit of the process; process_worker.leave, in the exiting thread.  Return the
 * result of worker_leave.
 */
static int leave_at_exit(struct process_worker *w, struct eddis_error *err)
{
    int rc = worker_leave((struct eddis *)((char *)w - offsetof(struct eddis, process)), true, err);

    w->thread = NULL; /* the thread has ended */
    return rc;
}

/* Check whether an exit may end the steps; process_worker.may_finish, in the exiting thread. */
static bool may_finish_at_exit(struct process_worker *w, struct eddis_error *err)
{
    struct eddis *e = (struct eddis *)((char *)w - offsetof(struct eddis, process));

    return ending_check_rounds(e, err) == 0 && ending_may_finish(e);
}

/* End the steps at an exit; process_worker.finish, in the exiting thread.  Return the result of
 * ending_finish.
 */
static int finish_at_exit(struct process_worker *w, struct eddis_error *err)
{
    return ending_finish((struct eddis *)((char *)w - offsetof(struct eddis, process)), err);
}

/* Set in e->process what an exit of the process does, as eddis_options.close_at_exit says. */
static void worker_set_exit(struct eddis *e)
{
    if (e->options.close_at_exit)
        e->process.leave = leave_at_exit;
    if (e->options.close_at_exit == EDDIS_EXIT_FINISH) {
        e->process.may_finish = may_finish_at_exit;
        e->process.finish = finish_at_exit;
    }
    process_may_leave(&e->process, LEAVE_ORDER);
}

/* Free the worker and everything that it owns, except the communication thread. */
static void worker_free(struct eddis *e)
{
    collectives_fini(&e->all);
    shared_buffers_close(&e->box);
    engine_free(e->engine);
    node_memory_close(&e->node_memory);
    centre_close(&e->centre);
    plan_switch_fini(&e->plan_switch);
    samples_close(&e->samples);
    group_close(&e->group);
    node_numbers_close(&e->nodes);
    checkpoint_save_close(&e->save);
    parameters_free(&e->parameters);
    phase_fini(&e->phase);
    if (!e->of_process)
        board_close(e->board);
    else if (e->board)
        process_board_put();
    free(e->step.set);
    pthread_mutex_destroy(&e->step.announce_lock);
    free(e);
}

/* Set the pointers between the modules. */
static void worker_wire(struct eddis *e)
{
    e->all.waiter.phase = &e->phase;
    e->all.timeout_ns = COLLECTIVES_TIMEOUT_NS;
    e->all.group = &e->group.place;
    e->all.numbers = e->box.numbers = e->node_memory.numbers = &e->nodes;
    e->box.all = &e->all;
    e->node_memory.all = &e->all;
    e->node_memory.group = &e->group.place;
    e->tuning.phase = &e->phase;
    e->samples.all = &e->all;
    e->samples.box = &e->box;
    e->samples.group = &e->group;
    e->plan_switch.samples = &e->samples;
    e->plan_switch.phase = &e->phase;
    e->centre.all = &e->all;
    e->centre.box = &e->box;
    e->centre.samples = &e->samples;
    e->centre.group = &e->group;
    e->centre.parameters = &e->parameters;
    e->centre.timeout_ns = COLLECTIVES_TIMEOUT_NS;
    e->save.all = &e->all;
    e->save.centre = &e->centre;
    e->save.plan_switch = &e->plan_switch;
    e->leave = (struct leave){
        .all = &e->all, .box = &e->box, .plan_switch = &e->plan_switch, .tells = true
    };
    e->leave.report_ns = LEAVE_TELL_NS;
}

/* Let the modules use the communication thread and this worker's place among all ranks. */
static void worker_connect(struct eddis *e)
{
    e->all.waiter.thread = e->comm_thread;
    e->all.place = comm_thread_place(e->comm_thread);
    e->all.place.channel = COMM_REQUESTS;
    e->process.thread = e->all.place.n_ranks > 1 ? e->comm_thread : NULL;
    e->tuning.rank = e->all.place.rank;
    comm_thread_on_failure(e->comm_thread, samples_fail, &e->samples);
}

/* Return a new worker, for worker_free, with initialized locks and connected modules; NULL without
 * memory.
 */
static struct eddis *worker_new(const struct worker_setup *s)
{
    struct eddis *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    pthread_mutex_init(&e->step.announce_lock, NULL);
    collectives_init(&e->all);
    shared_buffers_init(&e->box);
    phase_init(&e->phase, clock_now_ns());
    samples_init(&e->samples);
    plan_switch_init(&e->plan_switch);
    e->local_rank = s->local_rank;
    e->n_local = s->n_local;
    e->of_process = s->of_process;
    e->process.fork_count = process_forks();
    worker_wire(e);
    return e;
}

enum { MODE_TRIES = 1000 }; /* tries, one a millisecond, while the agent writes a plan */

/* Update mode and groups in e->area from the board, trying again while the agent writes.  Return 0
 * or a negative errno of board_take_mode; -EAGAIN: the agent has written for MODE_TRIES ms.
 */
static int take_mode(const struct eddis *e, struct eddis_error *err)
{
    int rc = -EAGAIN;

    for (int i = 0; i < MODE_TRIES && rc == -EAGAIN; i++) {
        rc = board_take_mode(e->board, err);
        if (rc == -EAGAIN)
            clock_sleep_until_ns(clock_now_ns() + CLOCK_MS);
    }
    return rc;
}

int worker_settle(struct eddis *e, struct eddis_error *err)
{
    int rc = e->board ? take_mode(e, err) : 0;

    if (rc < 0)
        return rc;
    group_close(&e->group);
    e->group = (struct group){ .several = false };
    (void)snprintf(e->mode, sizeof e->mode, "%s", e->area ? e->area->mode : "sync");
    (void)snprintf(e->algorithm, sizeof e->algorithm, "%s",
                   e->area ? e->area->algorithm : "allreduce");
    return group_open(&e->group, &e->all.place, e->area, err);
}

int worker_leave_open(struct eddis *e, struct eddis_error *err)
{
    if (e->area && e->area->mode_named)
        return worker_settle(e, err);
    strcpy(e->mode, "auto");
    strcpy(e->algorithm, "auto");
    group_close(&e->group);
    e->group = (struct group){ .several = false };
    return group_open(&e->group, &e->all.place, NULL, err);
}

/* Set e->nodes.  Without eddis-run also take local rank and number of local ranks from it, since
 * the environment may not have them.  Collective without a board.  Return 0 or a negative errno.
 */
static int worker_find_nodes(struct eddis *e, struct eddis_error *err)
{
    int rc = node_numbers_open(&e->nodes, &e->all, e->area, err);

    if (rc == 0 && !e->area) {
        e->local_rank = e->nodes.groups->here;
        e->n_local = e->nodes.groups->n_here;
    }
    return rc;
}

/* Set the first plan's version, the nodes, the group and the source of samples.  If one worker
 * fails, all fail.  Collective.  Return 0 or the failure.
 */
static int worker_begin(struct eddis *e, struct eddis_error *err)
{
    const struct sampler_options order = { .samples = e->options.samples,
                                           .epochs = e->options.epochs,
                                           .seed = e->seed,
                                           .drop_last = e->options.drop_last != 0,
                                           .min_count = e->options.min_count,
                                           .rank = e->all.place.rank,
                                           .n_ranks = e->all.place.n_ranks };
    int rc = plan_switch_begin(&e->plan_switch, &e->all, err);

    if (rc < 0)
        return rc;
    rc = worker_find_nodes(e, err);
    e->samples.open = e->plan_switch.version == 0;
    e->samples.read_ahead = open_options_ahead(&e->options);
    if (rc == 0)
        rc = samples_open(&e->samples, &order, err);
    if (rc == 0)
        rc = e->plan_switch.version ? worker_settle(e, err) : worker_leave_open(e, err);
    if (rc == 0)
        rc = plan_switch_open(&e->plan_switch, order.n_ranks, e->options.batch, err);
    if (rc == 0 && e->plan_switch.version)
        samples_settle(&e->samples);
    return collectives_agree(&e->all, rc, err);
}

void worker_show_length(const struct eddis *e, struct board_page *p)
{
    p->steps_total = sampler_steps(e->samples.sampler);
    p->steps_in_epoch = sampler_steps_in_epoch(e->samples.sampler);
    p->samples_in_epoch = sampler_used(e->samples.sampler);
    p->epochs = e->samples.order.epochs;
}

/* Show on the board, if there is one, how long the job is and with which plan it begins. */
static void worker_show(struct eddis *e)
{
    struct board *b = phase_lock_board(&e->phase);
    struct board_page *p;

    if (!b)
        return;
    p = board_begin(b);
    p->plan_version = e->plan_switch.version;
    p->plan_since = 0;
    worker_show_length(e, p);
    p->phase_ns = clock_now_ns();
    board_end(b);
    phase_unlock_board(&e->phase);
}

int worker_open(const struct worker_setup *s, const struct eddis_options *options,
                struct eddis **ret, struct eddis_error *err)
{
    struct eddis *e = worker_new(s);
    int rc, rc2;

    if (!e)
        return eddis_fail(err, -ENOMEM, "no memory for a worker");
    rc = open_options_read(options, &e->options, err);
    if (rc < 0)
        goto fail;
    (void)snprintf(e->gradients, sizeof e->gradients, "%s",
                   e->options.gradients ? e->options.gradients : "");
    e->options.gradients = e->gradients; /* the caller's text may go */
    rc = worker_read_board(e, s, err);
    /* Also after a failure: otherwise the others would wait for this rank forever. */
    rc2 = worker_join(e, s, rc < 0 ? NULL : err);
    if (rc2 < 0) {
        rc = rc < 0 ? rc : rc2;
        goto fail;
    }
    worker_connect(e);
    if (rc == 0)
        rc = worker_check_place(e, err);
    rc = collectives_agree(&e->all, rc, err);
    if (rc == 0)
        rc = worker_begin(e, err);
    if (rc == 0)
        worker_show(e);
    if (rc == 0)
        rc = collectives_agree(&e->all, checkpoint_save_open(&e->save, err), err);
    worker_set_exit(e);
    if (rc == 0)
        rc = process_add(&e->process, err);
    if (rc < 0)
        goto fail;
    *ret = e;
    return 0;
fail:
    (void)worker_part(e, true, NULL);
    worker_free(e);
    return rc;
}

int eddis_open(const struct eddis_options *options, struct eddis **ret, struct eddis_error *err)
{
    struct environment env;
    int rc = environment_read(&env, err);

    if (rc < 0)
        return rc;
    if (!ret)
        return eddis_fail(err, -EINVAL, "ret is NULL");
    rc = worker_open(&(struct worker_setup){ .mpi = env.mpi && env.n_ranks != 1,
                                             .of_process = true,
                                             .board_path = env.board_path,
                                             .local_rank = env.local_rank,
                                             .n_local = env.n_local },
                     options, ret, err);
    if (rc == 0 && env.slurm >= 0) {
        slurm_signals_start(env.slurm);
        (*ret)->passes = true;
    }
    return rc;
}

void eddis_pass_slurm_signals(void)
{
    struct environment env;

    if (environment_read(&env, NULL) == 0 && env.slurm >= 0)
        slurm_signals_take(env.slurm);
}

int eddis_close(struct eddis *e, struct eddis_error *err)
{
    int rc;

    if (!e || process_has_left(&e->process))
        return 0;
    rc = worker_check(e, err);
    if (rc < 0)
        return rc;
    process_may_leave(&e->process, LEAVE_NOT); /* so that no exit in another thread leaves again */
    rc = worker_leave(e, false, err);
    if (e->passes)
        slurm_signals_stop();
    worker_free(e);
    return rc;
}

void eddis_abort(struct eddis *e, int code)
{
    bool own = e && e->process.fork_count == process_forks();

    if (own || !e) /* a forked child would flush copies of its parent's stdio buffers */
        process_last_words(code);
    if (own && !process_has_left(&e->process))
        comm_thread_abort(e->comm_thread, code);
    _exit(code);
}

int eddis_world(const struct eddis *e, struct eddis_world *ret)
{
    struct eddis_world w = { 0 };
    int rc = worker_check(e, NULL);

    if (rc == 0)
        rc = sized_check(ret, "world", NULL);
    if (rc < 0)
        return rc;
    w.rank = e->all.place.rank;
    w.n_ranks = e->all.place.n_ranks;
    w.local_rank = e->local_rank;
    w.n_local_ranks = e->n_local;
    w.generation = 1;
    w.seed = e->seed;
    w.mode = e->mode;
    w.algorithm = e->algorithm;
    w.group = e->group.number;
    w.n_groups = e->group.n_groups;
    w.group_rank = e->group.place.rank;
    w.n_group_ranks = e->group.place.n_ranks;
    w.node = e->nodes.groups->index;
    w.n_nodes = e->nodes.groups->n;
    w.batch = e->samples.global_batch;
    w.outer_rate = 1;
    w.flags = (algorithm_has(e->algorithm, ALGORITHM_SEVERAL) ? EDDIS_WORLD_SEVERAL : 0u) |
              (algorithm_has(e->algorithm, ALGORITHM_GROUPED) ? EDDIS_WORLD_GROUPS : 0u);
    if (e->area) {
        const struct board_area *a = e->area;

        w.generation = a->generation;
        w.momentum = a->options.momentum;
        w.outer_rate = a->options.outer_rate > 0 ? a->options.outer_rate : 1;
        w.outer_momentum = a->options.outer_momentum;
        w.emulated = a->emulated;
        if (a->emulated) {
            w.emulated_fixed_s = a->fixed_s[e->local_rank];
            w.emulated_sample_s = a->sample_s[e->local_rank];
        }
    }
    sized_copy_out(ret, &w, sizeof w);
    return 0;
}

const char *eddis_version(void)
{
    return EDDIS_VERSION;
}
