/* SPDX-License-Identifier: Apache-2.0 */
/* eddis.h - the C API of a training program
 *
 * Parameters, samples, checkpoints and collectives have their own headers, which this one includes.
 *
 * One process is one worker (a rank).  It opens a handle and registers its layers and their
 * parameters.  Then, at every step, it asks which samples to take, announces its gradients as
 * back-propagation produces them, waits for the combined gradients and updates its weights:
 *
 *     struct eddis_options o = { .size = sizeof o, .samples = n_samples, .epochs = 20 };
 *     struct eddis_step s = { .size = sizeof s };
 *
 *     eddis_open(&o, &e, &err);
 *     layer = eddis_add_layer(e, "dense1", EDDIS_LAYER_DENSE, &err);
 *     w = eddis_add_parameter(e, layer, &(struct eddis_parameter){ .size = sizeof
 *             (struct eddis_parameter), .name = "weight", .dtype = EDDIS_FLOAT32, .n_dims = 2,
 *             .dims = { 64, 10 }, .value = weights }, &err);
 *     eddis_commit(e, &err);
 *     eddis_broadcast_parameters(e, 0, &err);
 *     ... eddis_restore_begin and the rest                // if there is a checkpoint
 *     while (eddis_step_begin(e, &s, &err) == 1) {
 *         eddis_sample_indices(e, &s, index, &err);       // which s.count samples to read
 *         ... forward, backward: mean gradient over the s.count samples, from the last layer on
 *         eddis_announce(e, w, gradient, gradient, &err); // never blocks
 *         eddis_wait(e, timeout_ns, &err);                // gradient now holds the weighted mean
 *         ... update the weights
 *         eddis_step_end(e, &(struct eddis_report){ .size = sizeof(struct eddis_report),
 *                             .loss = loss, .has_loss = 1 }, &err);
 *         if (s.flags & EDDIS_STEP_CHECKPOINT)            // at times, and before eddis-run stops
 *             ... eddis_checkpoint_begin, eddis_checkpoint_put on rank 0, eddis_checkpoint_commit
 *     }
 *     eddis_close(e, &err);
 *
 * The combined gradient is the sum over workers of weight_i * gradient_i, with weight_i = count_i /
 * sum of counts.  It is exactly the mean over the union of all samples, however unequal the
 * workers' shares are.
 *
 * In async, hybrid and local mode (eddis_world.mode) each group of workers trains its own model.
 * The program is the same.  A "group" below is all workers in sync mode, one worker in async mode,
 * and some workers in hybrid and local mode.  Means are over the group's samples, and a step's
 * number is the group's own.  After eddis_step_begin or eddis_finish has returned 0, and while a
 * checkpoint is written, the parameters are the centre, in local mode the common model: the model
 * to evaluate and to keep.
 *   - async, hybrid: eddis_step_begin draws the models to a common centre every few steps.  Samples
 *     come from a counter that all groups share, so fast groups take more of them.  Groups end an
 *     epoch at different times, so a collective of all workers there makes fast ones wait.
 *   - local: eddis_step_begin combines the models at the end of a round.  The plan divides the
 *     samples, and all groups meet at the end of a round and of an epoch.
 *
 * If eddis-run started the program, the plan (batch sizes, algorithm, seed) comes from eddis-run.
 * Under plain mpirun every worker gets an equal share of eddis_options.batch.  A single worker
 * sends nothing.
 *
 * Memory: all pointers are to host memory.  eddis_broadcast_parameters reads the values of
 * parameters on its root and writes them on the others.  Only with several models other calls use
 * them too; in local mode every rank reads and writes its own:
 *   - eddis_step_begin reads them in the first call, in the first call after eddis_restore_end, and
 *     if the step before had EDDIS_STEP_READS.  If it wrote them, the step has EDDIS_STEP_WRITTEN;
 *     if it returns 0, it has written them.  eddis_finish reads and writes them.
 *   - eddis_checkpoint_begin reads them and writes the centre.  _commit and _abandon write back the
 *     values from before; in local mode the values stay the common model.
 * A program whose values are on a GPU copies them to eddis_parameter.value before a call that reads
 * them, and back after one that has written them.  The memory that eddis_gradient_block returns may
 * be registered with the GPU.
 *
 * Errors: calls return 0 or a count on success, and a negative errno value on failure, with one
 * sentence in err (may be NULL).  A NULL argument that is not documented as allowed, or a size
 * field that is not set, gives -EINVAL on this worker alone, before anything is sent.
 * "Collective": every worker must make the call, in the same order.  Waits take a timeout in
 * nanoseconds; EDDIS_FOREVER is allowed.  A wait that ended with -ETIMEDOUT may be repeated, so
 * short timeouts keep a program responsive to signals.
 *
 * Handles: a process may open several, one after the other or at once; each is a worker of its own.
 * All ranks open and close them in the same order.  Under eddis-run only one may be open at a time,
 * since eddis-run reads one progress page per process.  Handles share MPI and one communication
 * thread.  The first handle starts MPI unless the program has; MPI ends when the process exits.
 * Without eddis-run all ranks wait for each other there.  So leave by exit or by returning from
 * main: mpirun treats a process that ends by _exit as failed, and ends all others.
 *
 * Threads: one thread at a time may be inside a call of one handle, with these exceptions.  Any
 * thread may at any time announce, ask for samples (eddis_plan_step, eddis_counts,
 * eddis_sample_indices) and ask for a stop (eddis_stop).  It may also start collectives
 * (eddis_collective.h) and requests to the Soft Memory Box.  No announcement, collective or request
 * may run concurrently with eddis_commit, and nothing concurrently with eddis_close.  In a child
 * made by fork every call but eddis_pass_slurm_signals fails with -EPERM.
 *
 * Exit: a process that exits without eddis_close ends the job, with its exit status or 1, since the
 * other workers would wait for it forever.  Its stdio output is flushed; exit handlers registered
 * before eddis_open do not run.  eddis_options.close_at_exit is for bindings that do not know why
 * their language ends.  With it, an exit with status 0 waits for the others as eddis_close does, if
 * it comes before eddis_commit or after eddis_step_begin or eddis_finish has returned 0.  No other
 * thread may use the handle then.  In exit handlers that run later, eddis_close returns 0 and other
 * calls fail with -EPERM.  An exit between eddis_commit and that 0 prints a message and ends the
 * job with 1, also with one worker.  An exit with another status acts as without the option.
 *
 * EDDIS_EXIT_FINISH also ends the steps first, in three cases: the number of epochs is not known;
 * this worker, or another one as far as known, has asked for a stop; or no step is left.
 * Otherwise the job ends with 1, as above; with eddis_options.gradients in local mode in each case.
 * A step that has begun is completed, with zero for what was not announced; then all is done that
 * eddis_finish does.  A checkpoint of another worker is not kept then, see eddis_checkpoint_commit.
 * Announced memory and values of parameters must stay valid until then: not on main's stack.
 */
#ifndef EDDIS_H
#define EDDIS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library is built with hidden symbols; these are the exported ones. */
#pragma GCC visibility push(default)

#define EDDIS_VERSION_MAJOR 0
#define EDDIS_VERSION_MINOR 1
#define EDDIS_VERSION_PATCH 0

#define EDDIS_FOREVER  INT64_MAX
#define EDDIS_MAX_DIMS 8

#ifndef EDDIS_ERROR_DEFINED
#define EDDIS_ERROR_DEFINED
struct eddis_error {
    int code;       /* negative errno value; 0 while unset */
    char text[512]; /* one sentence, no newline */
};
#endif

struct eddis;            /* a worker */
struct eddis_request;    /* a collective under way */
struct eddis_checkpoint; /* a checkpoint being written or read */

enum eddis_dtype {
    EDDIS_FLOAT32 = 1,
    EDDIS_FLOAT64 = 2,
    EDDIS_INT32 = 3, /* integers and bytes: for collectives only, never for parameters */
    EDDIS_INT64 = 4,
    EDDIS_UINT8 = 5,
    EDDIS_FLOAT16 = 6, /* 16-bit floating point; added as float32, rounded at each hop */
    EDDIS_BFLOAT16 = 7,
};

enum eddis_op { EDDIS_SUM = 1, EDDIS_MIN = 2, EDDIS_MAX = 3 };

enum eddis_layer_kind {
    EDDIS_LAYER_OTHER = 0,
    EDDIS_LAYER_DENSE = 1,
    EDDIS_LAYER_CONVOLUTION = 2,
    EDDIS_LAYER_NORM = 3,
    EDDIS_LAYER_EMBEDDING = 4,
};

/* The activity of a worker that status displays show. */
enum eddis_phase {
    EDDIS_PHASE_START = 0,
    EDDIS_PHASE_INPUT = 1,   /* waiting for data; from eddis_step_end on */
    EDDIS_PHASE_COMPUTE = 2, /* from eddis_step_begin on */
    EDDIS_PHASE_WAIT = 3,    /* inside a wait: set by the library, or by a program in its own */
    EDDIS_PHASE_EVALUATE = 4,
    EDDIS_PHASE_CHECKPOINT = 5,
    EDDIS_PHASE_DONE = 6,
};

/* ---- opening and closing ---------------------------------------------------------------- */

#define EDDIS_READ_NONE   (-1)
#define EDDIS_EXIT_CLOSE  1
#define EDDIS_EXIT_FINISH 2

struct eddis_options {
    size_t size;          /* sizeof (struct eddis_options) */
    int64_t samples;      /* samples of one epoch, all workers together; 0: set by eddis_set_data */
    int64_t epochs;       /* 0: unknown; steps go on until a stop or eddis_finish, at any time */
    int64_t batch;        /* global batch if eddis-run gives no plan; 0: 64 per worker */
    uint64_t seed;        /* for the order of samples, if eddis-run gives no plan */
    int64_t bucket_bytes; /* bytes of gradients sent in one message; 0: the plan's value, or one
                           * measured in the first steps, or without eddis-run 4 MiB */
    int own_pace;         /* 1: the program itself sleeps for the time of an emulated device
                           * (eddis_step.emulated_s); 0: eddis_wait sleeps */
    int measure; /* 1: choose all-reduces by measurement without eddis-run, too; runs may differ */
    int pieces;  /* 1: the program splits a step into micro-batches of eddis_step.piece samples; 0:
                  * it does not, so a worker gets no more samples than its memory holds */
    int read_ahead;    /* how many steps ahead eddis_plan_step answers, 1 to 64, the same on all
                        * workers; 0: 2; EDDIS_READ_NONE: none.  In async and hybrid mode a group
                        * takes so many steps' samples from the counter (local: opens rounds) */
    int drop_last;     /* 1: drop the samples of an epoch that do not fill a global batch (samples
                        * modulo batch, different ones in each epoch).  A group's step may still be
                        * short: one in which an epoch ends (async, hybrid), any step (local) */
    int64_t min_count; /* smallest number of samples of a worker in a step, unless it gets none
                        * (batch normalisation cannot take one sample); 0: any; at most the global
                        * batch.  Samples that cannot be divided so are dropped: at an epoch's end;
                        * with several models also where a group's step is cut short by an epoch's
                        * end, or by samples that other groups had done before a restart.
                        * eddis-run's plans respect it after eddis_commit */
    int close_at_exit; /* action at an exit of the process with status 0.  0: end the job;
                        * EDDIS_EXIT_CLOSE: close the handle; EDDIS_EXIT_FINISH: end the steps, then
                        * close; see above */
    /* what combines gradients, such as "torch"; NULL or "": libeddis; see eddis_parameters.h */
    const char *gradients;
};

/* Join the job and create a handle, which the caller frees with eddis_close.  Collective.  Block
 * until all workers have joined.  Return 0; -EINVAL: invalid options; -ENODEV: MPI or the job's
 * shared memory cannot be used; -EBUSY: under eddis-run, another handle is open; -EPERM: called in
 * a forked child whose parent has joined.
 */
int eddis_open(const struct eddis_options *options, struct eddis **ret, struct eddis_error *err);

/* Leave the job in good order and free everything, gradient slots included.  Collective: wait for
 * the others as long as they take, perhaps to evaluate or to save.  Under eddis-run the job's
 * timeouts.hang limits that wait.  Elsewhere it lasts as long as the others live, and standard
 * error names the missing workers every minute.  e may be NULL, or a handle that an exit has
 * closed.  Return 0; -EPROTO: the workers' models differed after the last step, as in eddis_wait.
 */
int eddis_close(struct eddis *e, struct eddis_error *err);

/* Flush stdio, for at most three seconds, then end the whole job with this exit code (1 to 255).
 * Do not return.  EDDIS_EXIT_MEMORY (also valid for a plain exit) means that memory, such as a
 * GPU's, was too small for a step's samples.  Under eddis-run the job then resumes from its newest
 * checkpoint, and this worker gets fewer samples at once.
 */
#define EDDIS_EXIT_MEMORY 79
/* End the job with this exit code and do not return, as described at EDDIS_EXIT_MEMORY. */
void eddis_abort(struct eddis *e, int code) __attribute__((noreturn));

/* Properties of the job's mode and algorithm. */
enum eddis_world_flags {
    EDDIS_WORLD_SEVERAL = 1, /* each worker, or each group of workers, trains its own model */
    EDDIS_WORLD_GROUPS = 2,  /* each model is trained by a group of workers */
};

struct eddis_world {
    size_t size; /* sizeof (struct eddis_world) */
    int rank, n_ranks;
    int local_rank, n_local_ranks; /* on this node */
    int generation;                /* 1 in a new job, one more after each restart */
    int emulated; /* 1: emulates steps of emulated_fixed_s + emulated_sample_s * count seconds */
    double emulated_fixed_s;
    double emulated_sample_s;
    uint64_t seed;                /* seed of the job */
    const char *mode, *algorithm; /* "sync", "allreduce"; "auto": not chosen before eddis_commit */
    double momentum; /* Nesterov momentum for the program's update; 0: the program chooses */
    unsigned flags;  /* enum eddis_world_flags */
    /* In "auto" mode one group until eddis_commit, which also sets open groups of hybrid mode. */
    int group, n_groups;           /* this worker's group, from 0; each group has its own model */
    int group_rank, n_group_ranks; /* this worker's index in its group, by rank */
    int node, n_nodes;             /* numbered in the order of their first ranks */
    int64_t batch;                 /* samples of a step of all workers together */
    double outer_rate, outer_momentum; /* of local mode's outer optimizer; 1 and 0: there is none */
};

/* Fill the first ret->size bytes of *ret with this worker's rank, group, node, mode and device.
 * The texts stay valid until eddis_close.  Return 0, -EINVAL or -EPERM.
 */
int eddis_world(const struct eddis *e, struct eddis_world *ret);

#include "eddis_parameters.h"

/* ---- a step ------------------------------------------------------------------------------ */

enum {
    EDDIS_STEP_CHECKPOINT = 1,   /* write a checkpoint after this step; set on all workers, in async
                                  * and hybrid mode equally often but at different steps, in local
                                  * mode in the last step of the same round */
    EDDIS_STEP_STOP = 2,         /* this is the last step; set on all workers */
    EDDIS_STEP_END_OF_EPOCH = 4, /* the group's last step of an epoch; some epochs have none */
    EDDIS_STEP_READS = 8, /* the next eddis_step_begin reads this worker's parameter values, unless
                           * a checkpoint comes before it */
    EDDIS_STEP_WRITTEN = 16, /* this call has written parameter values */
    EDDIS_STEP_SUMS = 32,    /* sync mode: give the parameters' sums in this step's report */
};

struct eddis_step {
    size_t size;            /* sizeof (struct eddis_step) */
    int64_t step;           /* number of the step, from 0, counted through all epochs */
    int64_t epoch;          /* from 0 */
    int64_t step_in_epoch;  /* from 0 */
    int64_t steps_in_epoch; /* with several models an estimate */
    int64_t first;          /* position of this worker's first sample in the epoch's permutation */
    int64_t count;          /* number of this worker's samples, from `first` on; if 0, announce all
                             * the same (or EDDIS_ZERO), to receive the others' gradient */
    int64_t batch;          /* samples of the group at this step; 0: only flags is valid */
    double weight;          /* count / batch */
    double lr_factor;  /* factor for the learning rate: the job's warm-up, and in async and hybrid
                        * mode alone the group's samples relative to an equal share of the batch */
    unsigned flags;    /* EDDIS_STEP_... */
    double emulated_s; /* seconds that an emulated device computes in this step; 0: none */
    int64_t piece;     /* largest micro-batch in samples; without eddis_options.pieces: count */
    int64_t samples_before; /* samples of all workers before it, in all epochs; async, hybrid: those
                             * that the counter gave out; local: by the epoch's order, not time */
};

/* Begin the next step and write to *ret what this worker has to do in it.  Only this call may
 * change parameter values for an algorithm.  Return 1, or 0 if the epochs are done or a stop was
 * requested: then evaluate, save and close.  With several models call it after EDDIS_STEP_STOP too.
 *   - async, hybrid: draw the parameters to the centre when due, which waits until the centre has
 *     been read.  Collective in the first and in the last call.  In the last, all wait until every
 *     group has ended its steps, and the centre becomes the parameters.
 *   - local: combine the models after a round's last step, and wait for the slowest group without a
 *     limit.  Collective in the first call and at a round's end.
 */
int eddis_step_begin(struct eddis *e, struct eddis_step *ret, struct eddis_error *err);

/* Ask all workers to stop before the last epoch is done.  Any worker and any thread may call it at
 * any time, also repeatedly.  It only asks: one of the next two steps that the group begins has
 * EDDIS_STEP_STOP.  In async and hybrid mode other groups learn of it from the counter of samples,
 * a step or two later.  In local mode the stop is agreed on at the end of the round; each group's
 * next step has EDDIS_STEP_STOP.  Go on until then, since a step needs all workers of the group.
 * No step gets EDDIS_STEP_CHECKPOINT for it, unlike a stop by eddis-run: save by yourself, for
 * example after eddis_finish.  Return 0; -EINVAL: e is NULL; -EPERM: in a forked child.
 */
int eddis_stop(struct eddis *e);

/* End all steps, as an eddis_step_begin that returns 0 does, but with a timeout and not only after
 * the last epoch.  Collective.  Call it after the last step or one with EDDIS_STEP_STOP, after this
 * worker's own eddis_stop, or, if the number of epochs is unknown, at any time.  In the last two
 * cases all workers of the group must leave at the same step.  Otherwise one of them waits for this
 * worker in a later step, and eddis-run ends such a job of one model.  It stops nobody: it waits
 * until each other group has ended its own steps, in local mode as a member of the others' rounds.
 * Afterwards eddis_step_begin and eddis_plan_step return 0, and with several models the parameters
 * are the centre or the common model.  Samples taken for later steps count as not done in
 * checkpoints written from now on; a job that resumes from one takes them again.  Return 0; or in
 * async and hybrid mode 1 if another worker writes a checkpoint.  Then join it,
 * eddis_checkpoint_begin to eddis_checkpoint_commit, and call eddis_finish again.  -ETIMEDOUT: err
 * names a missing worker or information; call it again before anything else but eddis_step_begin.
 * With several models EDDIS_FOREVER too can end so, if the exchange at the start, or with a centre
 * at the end, takes over 600 s.  -EINVAL: inside a step; before eddis_commit; steps of known epochs
 * are left and nobody asked to stop; or the checkpoint that 1 asks for was not written.
 */
int eddis_finish(struct eddis *e, int64_t timeout_ns, struct eddis_error *err);

/* Use `weight` instead of count as this worker's weight in this step, for losses that are not plain
 * means over samples (tokens, masked pixels).  Call it before the step's first announcement.
 * Weights need not add up to 1 and may be of any size.  A gradient is multiplied by its worker's
 * share of the sum of weights, so it stays in the range of its type.  Return 0 or -EINVAL.
 */
int eddis_set_weight(struct eddis *e, double weight, struct eddis_error *err);

/* Announce that this parameter's gradient is ready, after the last micro-batch.  Never block.
 * source: its elements, the mean over this worker's samples, borrowed until the wait returns; NULL:
 * it is in eddis_gradient; EDDIS_WEIGHTED; EDDIS_ZERO: it is zero.  Not read if the step's weight
 * is 0.  result: where the combined gradient goes, may be source; EDDIS_IN_PLACE: read it through
 * eddis_result; NULL: to eddis_parameter.result, and if that is NULL too, read it in eddis_gradient
 * until the set's next round or the next eddis_step_begin.  A parameter that is not announced
 * before eddis_wait counts as zero.  If others announced it, the combined gradient goes to
 * eddis_parameter.result; if that is NULL, eddis_wait fails.  In a group of one worker, a gradient
 * announced with result == source is not copied.  In such a group, a parameter with neither an
 * announcement nor an eddis_parameter.result is left unchanged.  Return 0 or a negative errno.
 */
int eddis_announce(struct eddis *e, int parameter, const void *source, void *result,
                   struct eddis_error *err);

/* Announce n parameters at once, which costs less than n calls: parameter [n], source [n] and
 * result [n], each as in eddis_announce.  source or result may be NULL: NULL for all n.  If one is
 * rejected, none has been announced.  Return 0 or a negative errno.
 */
int eddis_announce_many(struct eddis *e, int n, const int *parameter, const void *const *source,
                        void *const *result, struct eddis_error *err);

#define EDDIS_IN_PLACE ((void *)1)
#define EDDIS_ZERO     ((const void *)2)

/* Borrow the combined gradient of a parameter whose result is EDDIS_IN_PLACE; read-only.  Call it
 * after a wait for its layer.  Valid until the next round of its set begins (eddis_wait_set), or
 * until eddis_step_begin, eddis_finish, eddis_checkpoint_begin or eddis_restore_end is called.  It
 * saves a copy if the workers of a node share memory.
 */
const void *eddis_result(const struct eddis *e, int parameter);

/* Announce that the gradients of all parameters of the layer are ready in their eddis_gradient
 * memory.  Results go where eddis_announce puts them for result NULL.  Return as eddis_announce.
 */
int eddis_announce_layer(struct eddis *e, int layer, struct eddis_error *err);

/* Announce a `factored` parameter, and return, like eddis_announce.  Its gradient is u' v with u
 * [k, m] and v [k, n], row-major.  One of them already includes the mean's factor 1/count.
 */
int eddis_announce_factors(struct eddis *e, int parameter, const void *u, const void *v, int64_t k,
                           void *result, struct eddis_error *err);

/* Wait until the combined gradients of one layer, which must have been announced, are in place: all
 * workers have announced all gradients up to the end of its bucket.  Return as eddis_wait.
 */
int eddis_wait_layer(struct eddis *e, int layer, int64_t timeout_ns, struct eddis_error *err);

/* Wait until all combined gradients of the step are in place; what was not announced counts as
 * zero.  Return 0; -ETIMEDOUT: err names what is missing and from whom; wait again.  -EINVAL:
 * others announced a parameter that has no place for its result here in this step, so this worker's
 * model would differ from theirs; err names it.  -EPROTO on all workers, in sync mode: the models
 * after the step before, compared by EDDIS_STEP_SUMS, differ or are not finite; err names a rank.
 */
int eddis_wait(struct eddis *e, int64_t timeout_ns, struct eddis_error *err);

/* Wait until the round of this set has ended; first count what was not announced as zero.
 *
 * A step combines each set of parameters in rounds of its own.  A round begins with the first
 * announcement of one of the set's parameters and ends when eddis_wait_set succeeds; a call without
 * an announcement makes a round of zeros.  Then the set's parameters may be announced again in the
 * same step, for its next round.  So a step may update one set by the other's new values, as a GAN
 * does, or one set several times, as L-BFGS does with its closure.  Rounds of different sets may
 * overlap; they are sent in the order in which they began.  At the end of a step eddis_wait ends
 * the rounds that are still open.  If the step has had none, it makes one round of every set, in
 * their order.  All workers together may leave a set out of a step.
 *
 * All workers of a group make the same number of rounds in a step, of the same sets in the same
 * order.  Otherwise all get -EPROTO, which names two of them, from the next round that one of them
 * makes.  That cannot be detected if the others make no rounds any more: after the job's last step,
 * in a checkpoint, in a collective of EDDIS_ALL, in eddis_close or in an exchange of hybrid or
 * local mode.  Then the waits continue and report for whom they wait.
 *
 * Samples, plans and checkpoints belong to steps, as without sets.  With several models a set's
 * round combines its gradients within the group, and the group updates its own model.  The
 * parameters of all sets are drawn to the centre, or in local mode combined, together, between
 * steps.  Results at eddis_result and eddis_gradient stay valid until the set's next round begins,
 * but no longer than documented at eddis_result and eddis_announce.  Return as eddis_wait.
 */
int eddis_wait_set(struct eddis *e, int set, int64_t timeout_ns, struct eddis_error *err);

/* Set this worker's weight in the set's next round.  Return 0, or -EINVAL: the round has begun. */
int eddis_set_round_weight(struct eddis *e, int set, double weight, struct eddis_error *err);

struct eddis_report {
    size_t size;        /* sizeof (struct eddis_report) */
    int has_loss;       /* 1: loss is set */
    double loss;        /* mean over this worker's samples */
    int64_t overrun_ns; /* emulated device: time by which real work exceeds the emulated */
    /* The program's own measurements, used instead of the phases' times; 0: none.  If calls only
     * queue work for a device, that work ends in eddis_wait or later, and only events of the device
     * can measure it.
     */
    int64_t compute_ns; /* forward pass, backward pass and update of this step */
    int64_t input_ns;   /* time that this step waited for its samples; 1: none */
    double work; /* units of work in this step's samples if samples differ in cost (tokens, pixels):
                  * samples are divided by it; 0: all cost the same */
    int64_t memory_bytes; /* peak device memory, up to now or since the previous report.  A plan's
                           * largest counts; if all are 0, the process's peak (getrusage) */
    int64_t read_ns;      /* time that reading this step's samples ahead took; the part above the
                           * compute time counts as input time; 0: unknown */
    /* Sums of the elements of all parameters after this step's update, and of their squares, in
     * double precision, added in the same order on all workers.  If the step has EDDIS_STEP_SUMS, a
     * worker whose model differs is found by them.  Leave out what differs on purpose.
     */
    int has_sums; /* 1: sum and squares are set */
    double sum, squares;
    const char *precision; /* of matrix products: "fp32", "tf32", "bf16" or "fp16"; NULL: unknown */
    int64_t loss_age; /* steps since that of the loss, which a device may give late; 0: this step */
};

/* End the step and publish it on the progress board.  report may be NULL.  report->compute_ns and
 * input_ns are limited to the time since the end of the step before; the rest of that time counts
 * as waiting.  They are ignored if the library itself sleeps for an emulated device.  Return 0;
 * -EINVAL: a member of report is negative, its work not finite, or its precision unknown.
 */
int eddis_step_end(struct eddis *e, const struct eddis_report *report, struct eddis_error *err);

/* Set what this worker does from now on.  The time of a step is divided by phase. */
void eddis_set_phase(struct eddis *e, enum eddis_phase phase);

/* Publish a result of the job, such as "test_accuracy" = 0.98, under at most 8 names of up to 23
 * characters.  A name's last value counts.  The summary shows rank 0's test_accuracy and test_loss.
 */
int eddis_set_metric(struct eddis *e, const char *name, double value, struct eddis_error *err);

/* Report that a step of this worker with this many samples has ended, for a program that uses no
 * other call of eddis.  Step -1: none has ended yet.  The same step again with 0 samples, or a
 * lower step: still alive.  Needs no handle and no MPI, sends nothing and never waits; any thread
 * may call it.  If several steps lie between two calls, they count equally; the first call starts
 * the clock.  eddis-run shows the steps and detects a hang between them; its plans do not reach
 * such a program.  Do nothing if eddis-run has not started the program.  If a handle is opened
 * later, progress starts again from its first step, and eddis_step_end reports it from then on.
 * -EINVAL: step or samples; -EBUSY: a handle is open, or another process of this worker has
 * reported; -EPERM: in a child forked by a process that has reported; -ENOENT, -EPROTO: the
 * progress page that eddis-run made is gone or invalid.
 */
int eddis_progress(int64_t step, int64_t samples, struct eddis_error *err);

/* Ignore the signals with which Slurm ends a job, as eddis_open does for the worker itself.  For a
 * child process of a worker, such as a sample reader, whose runtime handles SIGTERM itself.  From
 * Slurm, SIGTERM and (if it had its default action) SIGUSR1 do nothing here from now on; from any
 * other sender they act as before.  Do nothing if the job does not run in a Slurm step.  Needs no
 * handle; may be called in a forked child.
 */
void eddis_pass_slurm_signals(void);

#include "eddis_checkpoint.h"
#include "eddis_collective.h"
#include "eddis_progress.h"
#include "eddis_samples.h"

/* Return the version of the loaded library, such as "0.1.0"; a static string. */
const char *eddis_version(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
