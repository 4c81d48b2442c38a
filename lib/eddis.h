/* SPDX-License-Identifier: Apache-2.0 */
/* eddis.h - the C API of a training program
 *
 * Parameters, samples, checkpoints and collectives have headers of their own, which this one
 * includes.
 *
 * One process is one worker (a rank).  It opens a handle, registers its layers and their
 * parameters, and then, at every step, asks which samples to take, announces its gradients as
 * back-propagation produces them, waits for the combined ones and updates its weights:
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
 *     ... eddis_restore_begin, and what a checkpoint holds     // when there is one
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
 * The combined gradient is the sum over workers of weight_i * gradient_i with weight_i =
 * count_i / sum of counts: exactly the mean over the union of all samples, however unequal the
 * workers' shares are.
 *
 * In async and hybrid mode (eddis_world.mode) a worker, or a group of them, trains a model of its
 * own; models are drawn to a common centre every few steps, by eddis_step_begin.  The program is
 * the same.  What differs: a "group" below is one worker in async mode and all of them in sync
 * mode; the means are over the group's samples; a step's number is the group's own; samples come
 * from a counter that all share, so that fast groups take more of them; and groups come to the end
 * of an epoch at unlike times, so collectives of all workers there make fast ones wait.  At the
 * end, when eddis_step_begin or eddis_finish has returned 0, and while a checkpoint is written, the
 * parameters are the centre: the model to evaluate and to keep.
 *
 * Started by eddis-run the plan (batch sizes, algorithm, seed) comes from it.  Under plain mpirun
 * every worker gets an equal share of eddis_options.batch; a worker alone sends nothing.
 *
 * Memory: all pointers are of host memory.  Values of parameters are read and written by
 * eddis_broadcast_parameters, read on its root and written on the others, and beyond that in async
 * and hybrid mode alone:
 *   - eddis_step_begin reads them the first time, and the first time after eddis_restore_end, and
 *     where the step before has said EDDIS_STEP_READS; where it has written them the step says
 *     EDDIS_STEP_WRITTEN.  When it returns 0 it has written them.  eddis_finish reads and writes.
 *   - eddis_checkpoint_begin reads and writes them: they are the centre then.  _commit and _abandon
 *     write what they were before.
 * So a program whose values are on a GPU copies them to eddis_parameter.value before a call that
 * reads them, and back after one that has written them.  What eddis_gradient_block tells may be
 * registered with the GPU.
 *
 * Errors: 0 or a count on success, a negative errno value on failure, with one sentence in err
 * (may be NULL).  NULL where it is not said that it may be, and a size field that is not set, are
 * -EINVAL on this worker alone, before anything is sent.  "Collective": every worker must call it,
 * in the same order.  Waits take a timeout; EDDIS_FOREVER is allowed.  A wait that ends with
 * -ETIMEDOUT may be called again, so short slices keep a program responsive to signals.
 *
 * Handles: a process may open several, one after the other or at once, each a worker of its own;
 * all ranks open and close them in the same order.  Under eddis-run one at a time, since it reads
 * one progress page.  They share one communication thread, and MPI, which the first one starts
 * unless the program has; it ends when the process exits.  Without eddis-run all ranks wait there
 * for each other, so leave by exit or by returning from main: to mpirun a process that ends by
 * _exit has failed, and all fail with it.
 *
 * Threads: one thread at a time may be inside a call of one handle, except that any thread may at
 * any time announce, ask for samples (eddis_plan_step, eddis_counts, eddis_sample_indices), ask for
 * a stop (eddis_stop), and make collectives (eddis_collective.h) and requests to the Soft Memory
 * Box.  No announcement, collective or request may be made beside eddis_commit, and nothing beside
 * eddis_close.  In a child made by fork every call but eddis_pass_slurm_signals fails with -EPERM.
 *
 * Exit: a process that exits without eddis_close ends the job, with its status or 1: the others
 * would wait for it for ever.  What it has written with stdio is kept; exit handlers from before
 * eddis_open do not run.  With eddis_options.close_at_exit, for bindings that do not know why their
 * language ends, an exit with status 0 waits for the others as eddis_close does, before
 * eddis_commit and after eddis_step_begin or eddis_finish has returned 0; no other thread may use
 * the handle any more then.  stdout and stderr are written out before it waits, other files of
 * stdio when it ends.  In exit handlers that run after that, those from before eddis_open,
 * eddis_close returns 0 and other calls fail with -EPERM.  Between these two times such an exit
 * says so and ends the job with 1, also in a job of one worker.  An exit with another status is as
 * without the option.
 *
 * EDDIS_EXIT_FINISH also ends the steps first: where the number of epochs is not known, where this
 * worker has asked for a stop or has been told of another's, and where no step is left; where steps
 * are left to do the job ends with 1, as above.  A step that has begun is waited for, with zero for
 * what was not announced, and ended; then all is done that eddis_finish does.  A checkpoint that
 * another worker writes meanwhile is not kept, see eddis_checkpoint_commit.  What was announced,
 * and the values of parameters, have to be in memory that lasts until then: none of main's own.
 */
#ifndef EDDIS_H
#define EDDIS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library is built with hidden symbols; these are its own. */
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
    EDDIS_INT32 = 3, /* integers and bytes: collectives only, never parameters */
    EDDIS_INT64 = 4,
    EDDIS_UINT8 = 5,
    EDDIS_FLOAT16 = 6, /* 16-bit floating point; added up as float32, rounded once a hop */
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

/* What a worker is doing, as people see it. */
enum eddis_phase {
    EDDIS_PHASE_START = 0,
    EDDIS_PHASE_INPUT = 1,   /* waiting for data; from eddis_step_end on */
    EDDIS_PHASE_COMPUTE = 2, /* from eddis_step_begin on */
    EDDIS_PHASE_WAIT = 3,    /* inside a wait; set by the library */
    EDDIS_PHASE_EVALUATE = 4,
    EDDIS_PHASE_CHECKPOINT = 5,
    EDDIS_PHASE_DONE = 6,
};

/* ---- opening and closing ---------------------------------------------------------------- */

#define EDDIS_READ_NONE (-1)

struct eddis_options {
    size_t size;          /* sizeof (struct eddis_options) */
    int64_t samples;      /* samples of one epoch, all workers together; 0: eddis_set_data tells */
    int64_t epochs;       /* how many; 0: unknown, eddis_step_begin never returns 0 by itself, and
                           * eddis_finish ends the steps at any time */
    int64_t batch;        /* global batch without a plan of eddis-run; 0: 64 a worker */
    uint64_t seed;        /* of the order of samples, without a plan of eddis-run */
    int64_t bucket_bytes; /* gradients gathered into one message; 0: the plan's, or as measured
                           * in the first steps, or without eddis-run 4 MiB */
    int own_pace;         /* 1: the program itself takes the time of an emulated device, see
                           * eddis_step; 0: eddis_wait sleeps until it is over */
    int measure; /* 1: measure how to combine gradients without eddis-run too, where no plan
                  * keeps what was chosen: two runs may then differ in rounding */
    int pieces; /* 1: the program takes a step's samples eddis_step.piece at a time; 0: all at once:
                 * a worker gets no more than its memory holds */
    int read_ahead; /* how many steps behind the present one eddis_plan_step tells, 1 to 64, the
                     * same on all workers; 0: 2; EDDIS_READ_NONE: none.  In async and hybrid mode a
                     * group takes the samples of so many more steps from the counter */
    int drop_last;  /* 1: what of an epoch does not fill a global batch is left out, samples modulo
                     * batch of them, others in each epoch.  In async and hybrid mode a group's step
                     * may still be short where an epoch ends inside of it */
    int64_t min_count; /* no worker gets fewer samples than this in a step, or it gets none, as
                        * batch normalisation cannot take one; what cannot be shared so is left out:
                        * of an epoch's end, and in async and hybrid mode of a group's step that an
                        * epoch's end has cut, or what other groups had done before a restart.  At
                        * most the global batch; 0: any number. eddis-run's plans keep to it once
                        * eddis_commit has told it */
    int close_at_exit; /* an exit of the process with status 0 ends the job (0), closes the handle
                        * (EDDIS_EXIT_CLOSE), or ends the steps before (EDDIS_EXIT_FINISH), see
                        * above */
};

#define EDDIS_EXIT_CLOSE  1
#define EDDIS_EXIT_FINISH 2

/* Join the job.  Collective.  Blocks until all workers are there.  The handle is closed by
 * eddis_close.  -EINVAL: options; -ENODEV: MPI or the job's shared memory cannot be used; -EBUSY:
 * under eddis-run, another handle is open; -EPERM: in a child made by fork, when its parent has
 * joined.
 */
int eddis_open(const struct eddis_options *options, struct eddis **ret, struct eddis_error *err);

/* Leave the job in good order and free everything, gradient slots included.  Collective; waits
 * for the others as long as they take, to evaluate or to save perhaps.  Under eddis-run the job's
 * timeouts.hang ends that wait; elsewhere it lasts as long as the others live, and each minute
 * standard error is told for whom.  Accepts NULL, and a handle that an exit has closed.  -EPROTO:
 * the models told of behind the last step are not one, as in eddis_wait.
 */
int eddis_close(struct eddis *e, struct eddis_error *err);

/* End the whole job with this exit code (1 to 255), as soon as what stdio holds has been written,
 * in three seconds at most; does not return.  EDDIS_EXIT_MEMORY, which a plain exit may give, too:
 * no memory for the samples of a step, as of a GPU.  Under eddis-run the job then goes on from its
 * newest checkpoint, and this worker holds half as many at once.
 */
#define EDDIS_EXIT_MEMORY 79
void eddis_abort(struct eddis *e, int code) __attribute__((noreturn));

/* What mode and algorithm come to. */
enum eddis_world_flags {
    EDDIS_WORLD_SEVERAL = 1, /* workers, or groups of them, train models of their own */
    EDDIS_WORLD_GROUPS = 2,  /* a model belongs to a group of workers */
};

struct eddis_world {
    size_t size; /* sizeof (struct eddis_world) */
    int rank, n_ranks;
    int local_rank, n_local_ranks; /* on this node */
    int generation;                /* 1 at first, one more after each restart */
    int emulated;                  /* 1: this worker emulates a device of another speed */
    double emulated_fixed_s;       /* its mean step is fixed + per_sample * count seconds */
    double emulated_sample_s;
    uint64_t seed;                /* of the job */
    const char *mode, *algorithm; /* "sync", "allreduce"; "auto": as eddis_commit will find */
    double momentum; /* Nesterov's, that the job asks the program's own step to use; 0: its own */
    unsigned flags;  /* enum eddis_world_flags */
    /* Until eddis_commit knows a mode that is "auto" all workers are one group. */
    int group, n_groups;           /* this worker's, of those with a model of their own, from 0 */
    int group_rank, n_group_ranks; /* and its place there, in the order of ranks */
    int node, n_nodes;             /* nodes are counted in the order of ranks */
    int64_t batch;                 /* samples of a step of all workers together */
};

/* Who and how many we are; fills the first ret->size bytes, with texts that last until close. */
int eddis_world(const struct eddis *e, struct eddis_world *ret);

#include "eddis_parameters.h"

/* ---- a step ------------------------------------------------------------------------------ */

enum {
    EDDIS_STEP_CHECKPOINT = 1, /* write a checkpoint after this step; same on all workers, in async
                                * and hybrid mode at unlike steps, but as often */
    EDDIS_STEP_STOP = 2,       /* this is the last step; likewise */
    EDDIS_STEP_END_OF_EPOCH = 4, /* the group's last step of the epoch; it may leave an epoch out */
    EDDIS_STEP_READS = 8,    /* the next eddis_step_begin reads this worker's values of parameters,
                              * unless a checkpoint comes between */
    EDDIS_STEP_WRITTEN = 16, /* this call has written them */
    EDDIS_STEP_SUMS = 32, /* sync mode: tell the sums of the parameters with this step's report */
};

struct eddis_step {
    size_t size;            /* sizeof (struct eddis_step) */
    int64_t step;           /* number of the step, from 0, through all epochs */
    int64_t epoch;          /* from 0 */
    int64_t step_in_epoch;  /* from 0 */
    int64_t steps_in_epoch; /* in async and hybrid mode about so many */
    int64_t first;          /* this worker's samples: positions first .. first + count - 1 of the */
    int64_t count;          /* epoch's permutation; it may be 0: announce all the same, or
                             * EDDIS_ZERO, since the others' gradient is to be received */
    int64_t batch;          /* samples of the group at this step; 0: only the flags count */
    double weight;          /* count / batch */
    double lr_factor;       /* multiply the learning rate by it: the job's warm-up, and in async and
                             * hybrid mode the group's samples beside an equal share of the batch */
    unsigned flags;         /* EDDIS_STEP_... */
    double emulated_s;      /* seconds that an emulated device computes in this step; 0: none */
    int64_t piece;          /* most samples to hold at once; without eddis_options.pieces: count */
    int64_t samples_before; /* of all workers before this step's, through all epochs; in async and
                             * hybrid mode those that the counter gave out before */
};

/* Begin the next step and say what this worker has to do in it.  The only call in which an
 * algorithm may change parameter values.  Returns 1, or 0 when the job's epochs are over or it
 * was told to stop: evaluate, save, close.
 *   - async, hybrid: draws the parameters to the centre when that is due, which waits for the
 *     centre to be read; collective the first time, and the last, where all wait for the last group
 *     to end its steps, and the centre becomes the parameters.  As samples are taken ahead,
 *     that group may be eddis_options.read_ahead + 3 of its steps behind the first, + 4 in hybrid
 *     mode.  To be called until it returns 0, also after EDDIS_STEP_STOP.
 */
int eddis_step_begin(struct eddis *e, struct eddis_step *ret, struct eddis_error *err);

/* Have all workers stop, long before the last epoch perhaps; of any worker and from any thread at
 * any time, also twice or on all.  It only asks: the group's first step that begins after its
 * present one is EDDIS_STEP_STOP, or the one after it, and in async and hybrid mode other groups
 * hear of it from the counter of samples, a step or two later.  Until then go on: a step needs all
 * workers of the group.  No step says EDDIS_STEP_CHECKPOINT for it, as one does where eddis-run
 * stops the job: the program saves by itself, after eddis_finish for example.  -EINVAL: NULL;
 * -EPERM: in a forked child.
 */
int eddis_stop(struct eddis *e);

/* End all steps, as an eddis_step_begin that returns 0 does, but with a time-out, and not only
 * after the last epoch.  It may be called after the last step, which may be one with
 * EDDIS_STEP_STOP; after this worker's own eddis_stop; and, where the number of epochs is not
 * known, at any time.  In the last two cases all of the group leave their steps at the same one:
 * eddis-run ends a job of one model in which a worker waits for this one in a later step.
 * Collective.  It asks nobody to stop: it waits while another group goes on with its steps, until
 * that comes to its own end.  Then eddis_step_begin and eddis_plan_step return 0; in async and
 * hybrid mode the parameters are the centre.  Samples that were taken for later steps count as not
 * done in checkpoints that are written from now on, and a job that resumes from one takes them.  A
 * program that goes back (eddis_restore_end) goes on with its steps, too, where nobody has asked
 * for a stop.  Returns 0, or in async and hybrid mode 1: another worker writes a checkpoint; write
 * it with that one, eddis_checkpoint_begin to eddis_checkpoint_commit, and call this again.
 * -ETIMEDOUT: err names a worker that has not come, or what is not known yet; call it again before
 * anything else but eddis_step_begin.  In async and hybrid mode it comes with EDDIS_FOREVER, too,
 * where the exchange with the centre at the start or the end waits for longer than 600 s.
 * -EINVAL: inside of a step; before eddis_commit; epochs are known, there are steps to do, and
 * nobody has asked to stop; or a checkpoint, as above, was not written.
 */
int eddis_finish(struct eddis *e, int64_t timeout_ns, struct eddis_error *err);

/* Count for `weight` instead of count samples at this step, on this worker: for losses that are
 * not plain means over samples (tokens, masked pixels).  Before the step's first announcement.
 * The workers' weights need not add up to anything, and are of any size: a gradient is multiplied
 * by its part of them all, and stays in the range of its type.
 */
int eddis_set_weight(struct eddis *e, double weight, struct eddis_error *err);

/* This parameter's gradient is ready, after the last piece.  Never blocks.  source: its elements,
 * the mean over all of this worker's samples, to be left alone until the wait returns; NULL: it is
 * in eddis_gradient; EDDIS_ZERO: it is zero.  Of a step with weight 0 no source is read.  result:
 * where the combined gradient goes, may be source; EDDIS_IN_PLACE: read it where eddis_result says;
 * NULL: where eddis_parameter.result says, and if that is NULL read it in eddis_gradient, until the
 * set's next round or the next eddis_step_begin.  A parameter not announced by eddis_wait counts as
 * zero; what the others announced of it goes to eddis_parameter.result, without which eddis_wait
 * fails.  In a group of one worker nothing is copied that is announced with its own place as
 * result, and nothing touched of what is not announced and has no eddis_parameter.result.
 */
int eddis_announce(struct eddis *e, int parameter, const void *source, void *result,
                   struct eddis_error *err);

/* The same of n parameters at once, which costs less than n calls: parameter [n], source [n] and
 * result [n], each as above; NULL for either list: NULL for all.  All or none: when one is refused
 * none has been announced.
 */
int eddis_announce_many(struct eddis *e, int n, const int *parameter, const void *const *source,
                        void *const *result, struct eddis_error *err);

#define EDDIS_IN_PLACE ((void *)1)
#define EDDIS_ZERO     ((const void *)2)

/* Borrows the combined gradient of a parameter whose result is EDDIS_IN_PLACE, after a wait for its
 * layer, until the next round of its set (eddis_wait_set), eddis_step_begin, eddis_finish,
 * _checkpoint_begin or _restore_end.  Spares a copy where the workers of a node share memory; not
 * to be written to.
 */
const void *eddis_result(const struct eddis *e, int parameter);

/* All parameters of the layer are ready in their library slots; results as of NULL above. */
int eddis_announce_layer(struct eddis *e, int layer, struct eddis_error *err);

/* As eddis_announce for a `factored` parameter: its gradient is u' v, u [k, m], v [k, n], row by
 * row, with the mean's 1/count already in one of them.
 */
int eddis_announce_factors(struct eddis *e, int parameter, const void *u, const void *v, int64_t k,
                           void *result, struct eddis_error *err);

/* Wait until the combined gradients of one layer (of all) are in place.  eddis_wait first counts
 * what was not announced as zero; eddis_wait_layer demands that the layer was announced, and ends
 * once all that shares its bucket, and the buckets before it, has been announced by all workers.
 * -ETIMEDOUT: err names what is missing and from whom; the wait may be repeated.  -EINVAL of
 * eddis_wait: a parameter that others announced has no place for its result in this step, so that
 * this worker's model would no longer be theirs; err names it.  -EPROTO on all workers: in sync
 * mode their models behind the step before, of which EDDIS_STEP_SUMS had them tell, are not one any
 * more, or not finite; err names the rank and the step.
 */
int eddis_wait_layer(struct eddis *e, int layer, int64_t timeout_ns, struct eddis_error *err);
int eddis_wait(struct eddis *e, int64_t timeout_ns, struct eddis_error *err);

/* Sets: a step combines each set of parameters in rounds of its own.  A round of a set begins with
 * the first announcement of one of its parameters and ends when eddis_wait_set succeeds, which
 * first counts what was not announced as zero; a call without an announcement makes a round of
 * zeros.  After it the set's parameters may be announced again, in the same step: that is its next
 * round.  So a step may update one set by the other's new values, as a GAN does, or one set several
 * times, as L-BFGS does with its closure.  Rounds of unlike sets may overlap, and leave in the
 * order in which they began.  eddis_wait, at the end of a step, ends the rounds that are still
 * under way; where the step has had none it makes one of every set, in their order.  A set may be
 * left out of a step, by all.
 *
 * All workers of a group make as many rounds in a step, of the same sets in the same order; else
 * all get -EPROTO, which names two of them, from the next round that one of them makes.  Where one
 * makes a round while the others make none any more (after the job's last step, in a checkpoint, in
 * a collective of EDDIS_ALL, in eddis_close or in an exchange of hybrid mode), nobody gets that:
 * the waits go on, and tell for whom they are.
 *
 * Samples, plans and checkpoints are of steps, as without sets.  In async and hybrid mode a round
 * combines the gradients of that set within the group, and updates the group's own model; the
 * parameters of all sets are drawn to the centre together, between steps.  What is read at
 * eddis_result and eddis_gradient stays until the set's next round begins, by an announcement or by
 * an eddis_wait_set without one, and no longer than eddis_result and eddis_announce say.
 */
int eddis_wait_set(struct eddis *e, int set, int64_t timeout_ns, struct eddis_error *err);

/* Count for `weight` in the set's next round, instead of the step's weight; before the round's
 * first announcement.
 */
int eddis_set_round_weight(struct eddis *e, int set, double weight, struct eddis_error *err);

struct eddis_report {
    size_t size;        /* sizeof (struct eddis_report) */
    int has_loss;       /* 1: loss is meant */
    double loss;        /* mean over this worker's samples */
    int64_t overrun_ns; /* emulated devices: real work that did not fit into the emulated time */
    /* What the program itself has measured, which counts instead of the phases' times; 0: these.
     * Where calls only queue work for a device, its end falls into eddis_wait or later, and only
     * events of the device tell how long it took.
     */
    int64_t compute_ns;   /* forward and backward pass and update of this step */
    int64_t input_ns;     /* time that this step stood still for its samples; 1: none */
    double work;          /* units of work in this step's samples where they are not alike (tokens,
                           * pixels): their split goes by it; 0: they are alike */
    int64_t memory_bytes; /* most that was allocated on the device at once, so far or since asked
                           * last; 0: not asked.  A plan's largest counts; where all are 0, the peak
                           * of the process, as of getrusage too, set anew with each plan */
    int64_t read_ns;      /* of its samples, ahead: what exceeds compute is input; 0: unknown */
    /* Of the elements of all parameters after this step's update, and of their squares, in double
     * precision and in the same order on all workers.  Where the step says EDDIS_STEP_SUMS they are
     * compared, so that a worker whose model is no longer that of the others is found; else they
     * are passed over.  Parameters that are not the same on all workers by intent do not belong in
     * them.
     */
    int has_sums; /* 1: sum and squares are meant */
    double sum, squares;
};

/* End the step and publish it on the progress board.  report may be NULL.  Its compute and input
 * count up to the time from the end of the step before: what they leave of that was waiting.
 * Where the library takes the time of an emulated device they are passed over. -EINVAL: a member
 * of report is negative, or its work is not finite.
 */
int eddis_step_end(struct eddis *e, const struct eddis_report *report, struct eddis_error *err);

/* Say what this worker does from now on; durations of a step are split by it. */
void eddis_set_phase(struct eddis *e, enum eddis_phase phase);

/* Publish a result of the whole job, "test_accuracy" = 0.98, under at most 8 names of at most 23
 * characters.  The last value counts; the summary has rank 0's test_accuracy and test_loss.
 */
int eddis_set_metric(struct eddis *e, const char *name, double value, struct eddis_error *err);

/* For a program that uses nothing else of this: tell that its step has ended, of so many samples
 * of this worker (-1: none has yet; the step of the call before and 0 samples: it is alive).
 * Needs no handle and no MPI, sends nothing and never waits; from any thread.  Between two calls
 * there may be several steps, which count alike; the first call starts the clock.  A step before
 * the last one told is a sign of life too, and its samples do not count: steps never go back.
 * eddis-run shows the steps and sees a hang between them; its plans and signs do not reach such a
 * program, which divides its samples itself.  Does nothing where eddis-run has not started the
 * program.  A handle that is opened later begins anew, and from then on eddis_step_end tells.
 * -EINVAL: step or samples; -EBUSY: a handle is open, or another process of this worker has told;
 * -EPERM: in a child made by fork by one that has; -ENOENT, -EPROTO: what eddis-run made for it is
 * not there any more.
 */
int eddis_progress(int64_t step, int64_t samples, struct eddis_error *err);

/* For a process that a worker has made, as one that reads samples, and whose runtime takes SIGTERM
 * itself: let the signals pass by which Slurm ends a job, as eddis_open does for the worker's own.
 * From Slurm SIGTERM and, where it was at its default, SIGUSR1 do nothing here from now on; from
 * anybody else they do what they did before.  Does nothing where the job does not run in a
 * step of Slurm's.  Needs no handle, and may be called in a child made by fork.
 */
void eddis_pass_slurm_signals(void);

#include "eddis_samples.h"

#include "eddis_checkpoint.h"
#include "eddis_collective.h"

/* "0.1.0", of the library that is loaded. */
const char *eddis_version(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
