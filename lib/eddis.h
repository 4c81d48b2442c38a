/* SPDX-License-Identifier: Apache-2.0 */
/* eddis.h - the C API of a training program
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
 *     while (eddis_step_begin(e, &s, &err) == 1) {
 *         eddis_sample_indices(e, &s, index, &err);       // which s.count samples to read
 *         ... forward, backward: mean gradient over the s.count samples, from the last layer on
 *         eddis_announce(e, w, gradient, gradient, &err); // never blocks
 *         eddis_wait(e, timeout_ns, &err);                // gradient now holds the weighted mean
 *         ... update the weights
 *         eddis_step_end(e, &(struct eddis_report){ .size = sizeof(struct eddis_report),
 *                             .loss = loss, .has_loss = 1 }, &err);
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
 * end, when eddis_step_begin has returned 0, and while a checkpoint is written, the parameters are
 * the centre: the model to evaluate and to keep.
 *
 * Started by eddis-run the plan (batch sizes, algorithm, seed) comes from it.  Under plain mpirun
 * every worker gets an equal share of eddis_options.batch; alone there is one worker and the
 * library sends nothing.
 *
 * Errors: 0 or a count on success, a negative errno value on failure, with one sentence in err
 * (may be NULL).  NULL where it is not said that it may be, and a size field that is not set, are
 * -EINVAL on this worker alone, before anything is sent.  "Collective": every worker must call it,
 * in the same order.  Waits take a timeout; EDDIS_FOREVER is allowed.  A wait that ends with
 * -ETIMEDOUT may be called again, so short slices keep a program responsive to signals.
 *
 * Handles: a process may open several, one after the other or at once, each a worker with steps and
 * messages of its own; all ranks open and close them in the same order.  Under eddis-run one at a
 * time, since it reads one progress page.  They share one communication thread, and MPI, which the
 * first one starts unless the program has; it ends when the process exits, so that another handle
 * can be opened until then.  Without eddis-run all ranks wait there for each other, so leave by
 * exit or by returning from main: to mpirun a process that ends by _exit has failed, and all fail
 * with it.
 *
 * Threads: one thread at a time may be inside a call of one handle, except that
 * eddis_announce, eddis_announce_layer, eddis_announce_factors and eddis_plan_step may be called
 * from any thread at any time.  In a child made by fork every call fails with -EPERM.
 * A process that exits without eddis_close ends the job: the others would wait for it for ever.
 * What it has written with stdio is kept, exit handlers that were there before eddis_open do not
 * run.
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
    EDDIS_FLOAT16 = 6, /* 16-bit floating point, collectives only too; added up as float32 */
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

/* What a worker is doing, as people see it in eddis-status. */
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

struct eddis_options {
    size_t size;          /* sizeof (struct eddis_options) */
    int64_t samples;      /* samples of one epoch, all workers together; at least 1 */
    int64_t epochs;       /* how many; 0: unknown, eddis_step_begin never returns 0 by itself */
    int64_t batch;        /* global batch without a plan of eddis-run; 0: 64 a worker */
    uint64_t seed;        /* of the order of samples, without a plan of eddis-run */
    int64_t bucket_bytes; /* gradients gathered into one message; 0: the plan's, or as measured
                           * in the first steps, or without eddis-run 4 MiB */
    int own_pace;         /* 1: the program itself takes the time of an emulated device, see
                           * eddis_world; 0: eddis_wait sleeps until it is over */
    int measure; /* 1: measure how to combine gradients without eddis-run too, where no plan
                  * keeps what was chosen: two runs may then differ in rounding */
};

/* Join the job.  Collective.  Blocks until all workers are there.  The handle is closed by
 * eddis_close.  -EINVAL: options; -ENODEV: MPI or the job's shared memory cannot be used; -EBUSY:
 * under eddis-run, another handle is open; -EPERM: in a child made by fork, when its parent has
 * joined.
 */
int eddis_open(const struct eddis_options *options, struct eddis **ret, struct eddis_error *err);

/* Leave the job in good order and free everything, gradient slots included.  Collective; waits
 * for the others as long as they take, to evaluate or to save perhaps.  Under eddis-run the job's
 * timeouts.hang ends that wait; elsewhere it lasts as long as the others live, and each minute
 * standard error is told for whom.  Accepts NULL.
 */
int eddis_close(struct eddis *e, struct eddis_error *err);

/* End the whole job with this exit code (1 to 255), as soon as what stdio holds has been written,
 * in three seconds at most; does not return.
 */
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
    double emulated_fixed_s;       /* it then takes fixed + per_sample * count seconds a step */
    double emulated_sample_s;
    uint64_t seed;                /* of the job */
    const char *mode, *algorithm; /* "sync", "allreduce"; valid until close */
    double momentum; /* Nesterov's, that the job asks the program's own step to use; 0: its own */
    unsigned flags;  /* enum eddis_world_flags */
};

/* Who and how many we are; fills the first ret->size bytes. */
int eddis_world(const struct eddis *e, struct eddis_world *ret);

/* ---- layers and parameters -------------------------------------------------------------- */

/* Register a layer, in the order of the forward pass.  name is copied.  Returns its number. */
int eddis_add_layer(struct eddis *e, const char *name, enum eddis_layer_kind kind,
                    struct eddis_error *err);

struct eddis_parameter {
    size_t size;            /* sizeof (struct eddis_parameter) */
    const char *name;       /* copied */
    enum eddis_dtype dtype; /* EDDIS_FLOAT32 or EDDIS_FLOAT64, of value and gradient */
    int n_dims;             /* 1 to EDDIS_MAX_DIMS */
    int64_t dims[EDDIS_MAX_DIMS];
    void *value;  /* its elements, contiguous; borrowed until eddis_close; the library
                   * writes them in eddis_broadcast_parameters and eddis_step_begin
                   * only */
    int factored; /* 1: dims are { m, n } and the gradient is u' v with u [k, m] and
                   * v [k, n]; see eddis_announce_factors */
    void *result; /* as many elements, borrowed until eddis_close and never moved: where every
                   * step's combined gradient goes unless eddis_announce says otherwise, also
                   * when this worker announces none; EDDIS_IN_PLACE: eddis_result tells where
                   * it is; NULL: each announcement says */
};

/* Register a parameter of a layer.  Returns its number. */
int eddis_add_parameter(struct eddis *e, int layer, const struct eddis_parameter *p,
                        struct eddis_error *err);

/* End of registration: fix the buckets and make the gradient slots.  A network that an earlier job
 * has measured is looked at, too, by a message over a link of each node.  Collective: all workers
 * must have registered the same (-EPROTO otherwise, on all of them).
 */
int eddis_commit(struct eddis *e, struct eddis_error *err);

/* Borrows the library's own memory for this parameter's gradient, 64-byte aligned, valid until
 * eddis_close.  A program that lets its gradients live there spares one copy.
 */
void *eddis_gradient(struct eddis *e, int parameter);

/* Copy every parameter's value from root to all.  Collective, blocks. */
int eddis_broadcast_parameters(struct eddis *e, int root, struct eddis_error *err);

/* ---- a step ------------------------------------------------------------------------------ */

enum {
    EDDIS_STEP_CHECKPOINT = 1, /* write a checkpoint after this step; same on all workers, in async
                                * and hybrid mode at unlike steps, but as often */
    EDDIS_STEP_STOP = 2,       /* this is the last step; likewise */
    EDDIS_STEP_END_OF_EPOCH = 4, /* the group's last step of the epoch; it may leave an epoch out */
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
};

/* Begin the next step and say what this worker has to do in it.  The only call in which an
 * algorithm may change parameter values.  Returns 1, or 0 when the job's epochs are over or it
 * was told to stop: evaluate, save, close.
 *   - async, hybrid: draws the parameters to the centre when that is due, which waits for the
 *     centre to be read; collective the first time, and the last, where all wait for the last group
 *     to end its steps, and the centre becomes the parameters.  As samples are taken ahead,
 *     that group may be four of its steps behind the first, five in hybrid mode.  To be called
 *     until it returns 0, also after EDDIS_STEP_STOP.
 */
int eddis_step_begin(struct eddis *e, struct eddis_step *ret, struct eddis_error *err);

/* What this worker will have to do at a later step: for reading ahead.  What it says about a step
 * never changes afterwards, unless the job goes back (eddis_restore_end); a new plan takes force
 * after every step that any worker asked for. flags holds EDDIS_STEP_END_OF_EPOCH only.  Returns 1,
 * or 0 behind the last step.
 *   - async, hybrid: after eddis_commit.  Takes the samples from the counter, so ask for no more
 *     steps than are wanted: what is taken is this group's.  In hybrid mode the next step is known
 *     at once; for one beyond it the call may wait until steps before it have been done, so that
 *     only another thread than the one that does them may ask.
 */
int eddis_plan_step(struct eddis *e, int64_t step, struct eddis_step *ret, struct eddis_error *err);

/* Write the numbers (0 .. samples - 1) of the step's samples to ret [step->count]. */
int eddis_sample_indices(struct eddis *e, const struct eddis_step *step, int64_t *ret,
                         struct eddis_error *err);

/* Count for `weight` instead of count samples at this step, on this worker: for losses that are
 * not plain means over samples (tokens, masked pixels).  Before the step's first announcement.
 * The workers' weights need not add up to anything.
 */
int eddis_set_weight(struct eddis *e, double weight, struct eddis_error *err);

/* This parameter's gradient is ready.  Never blocks.  source: its elements, the mean over this
 * worker's samples, to be left alone until the wait returns; NULL: it is in eddis_gradient;
 * EDDIS_ZERO: it is zero.  Of a step with weight 0 no source is read.  result: where the combined
 * gradient goes, may be source; EDDIS_IN_PLACE: read it where eddis_result says; NULL: where
 * eddis_parameter.result says, and if that is NULL read it in eddis_gradient, until the next
 * eddis_step_begin.  A parameter not announced by eddis_wait counts as zero; what the others
 * announced of it goes to eddis_parameter.result, without which eddis_wait fails.
 */
int eddis_announce(struct eddis *e, int parameter, const void *source, void *result,
                   struct eddis_error *err);

#define EDDIS_IN_PLACE ((void *)1)
#define EDDIS_ZERO     ((const void *)2)

/* Borrows the combined gradient of a parameter whose result is EDDIS_IN_PLACE, after a wait for its
 * layer, until the next eddis_step_begin, _checkpoint_begin or _restore_end.  Spares a copy where
 * the workers of a node share memory; not to be written to.
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
 * this worker's model would no longer be theirs; err names it.
 */
int eddis_wait_layer(struct eddis *e, int layer, int64_t timeout_ns, struct eddis_error *err);
int eddis_wait(struct eddis *e, int64_t timeout_ns, struct eddis_error *err);

struct eddis_report {
    size_t size;        /* sizeof (struct eddis_report) */
    int has_loss;       /* 1: loss is meant */
    double loss;        /* mean over this worker's samples */
    int64_t overrun_ns; /* emulated devices: real work that did not fit into the emulated time */
};

/* End the step and publish it on the progress board.  report may be NULL. */
int eddis_step_end(struct eddis *e, const struct eddis_report *report, struct eddis_error *err);

/* Say what this worker does from now on; durations of a step are split by it. */
void eddis_set_phase(struct eddis *e, enum eddis_phase phase);

/* Publish a result of the whole job on the board, "test_accuracy" = 0.98.  At most 8 names of at
 * most 23 characters; the last value of a name counts.  The job's summary takes test_accuracy and
 * test_loss from rank 0.
 */
int eddis_set_metric(struct eddis *e, const char *name, double value, struct eddis_error *err);

/* ---- collectives of any buffer; they overtake queued gradients --------------------------- */

/* Collective.  The non-blocking forms return a request to be given to eddis_request_wait or
 * _test; the buffers belong to the library until then.  n counts elements, bytes bytes.
 * allreduce works in place; the result is the same bits on every worker.
 * allgather: in [bytes] of each worker to out [n_ranks * bytes], in order of ranks.
 * A blocking form that ended with -ETIMEDOUT is still under way and has the buffers: the same call,
 * everything but the timeout as before, goes on with it.  -EBUSY: another call with one of these
 * buffers before that; nothing was begun.
 * -EMSGSIZE: another worker's call is of another size, or another call; communication is over.
 */
int eddis_allreduce(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                    enum eddis_op op, int64_t timeout_ns, struct eddis_error *err);
int eddis_broadcast(struct eddis *e, void *buffer, size_t bytes, int root, int64_t timeout_ns,
                    struct eddis_error *err);
int eddis_allgather(struct eddis *e, const void *in, void *out, size_t bytes, int64_t timeout_ns,
                    struct eddis_error *err);
int eddis_barrier(struct eddis *e, int64_t timeout_ns, struct eddis_error *err);

int eddis_allreduce_start(struct eddis *e, void *buffer, size_t n, enum eddis_dtype dtype,
                          enum eddis_op op, struct eddis_request **ret, struct eddis_error *err);
int eddis_broadcast_start(struct eddis *e, void *buffer, size_t bytes, int root,
                          struct eddis_request **ret, struct eddis_error *err);
int eddis_allgather_start(struct eddis *e, const void *in, void *out, size_t bytes,
                          struct eddis_request **ret, struct eddis_error *err);
int eddis_barrier_start(struct eddis *e, struct eddis_request **ret, struct eddis_error *err);

/* Wait for the request; 0: done and freed.  -ETIMEDOUT: still under way, wait again. */
int eddis_request_wait(struct eddis *e, struct eddis_request *r, int64_t timeout_ns,
                       struct eddis_error *err);

/* 1: done and freed; 0: still under way. */
int eddis_request_test(struct eddis *e, struct eddis_request *r, struct eddis_error *err);

/* ---- checkpoints -------------------------------------------------------------------------- */

/* A checkpoint is a folder "step-00000500" with the files that the workers put into it and a
 * manifest of their sizes and checksums.  It is written as "step-00000500.g1.part", by generation
 * 1, and renamed when complete, so a folder without ".part" is whole.  The library adds the step,
 * the seed and the number of samples.
 *
 * A job that lost a worker is started again as the next generation, perhaps with fewer workers and
 * another split.  Its workers resume from the job's newest whole checkpoint; what a process of an
 * older generation still writes never becomes one (-ESTALE there).
 */

/* Begin one for the state after the steps ended so far.  Collective.  folder: where checkpoints
 * are kept, for this job alone; NULL: the job's.  -ENOENT: the job has none and none was given;
 * -ESTALE: a later generation, or another job, writes there now.  After any failure training may go
 * on: nothing has changed.
 */
int eddis_checkpoint_begin(struct eddis *e, const char *folder, struct eddis_checkpoint **ret,
                           struct eddis_error *err);

/* Borrows the folder to write own files into, valid until commit. */
const char *eddis_checkpoint_folder(const struct eddis_checkpoint *c);

/* Write n bytes under a name (letters, digits, '.', '_', '-'; "eddis." first is the library's) into
 * this worker's part.  For state that is equal on all workers only rank 0 need do so.  -EINVAL: the
 * name; or c is of eddis_restore_begin, which this call and commit leave as it is.
 */
int eddis_checkpoint_put(struct eddis_checkpoint *c, const char *name, const void *data, size_t n,
                         struct eddis_error *err);

/* Make it whole: all files synced, manifest written, folder renamed, the oldest beyond `keep`
 * removed (0: the job's number).  Collective.  Frees c, also on failure; nothing half-written
 * remains then and training may go on.  A put that failed on any worker fails this on all, with its
 * sentence.  -ESTALE: a later generation, or another job, writes there now.
 */
int eddis_checkpoint_commit(struct eddis_checkpoint *c, int keep, struct eddis_error *err);

/* Give one up in the place of commit: nothing of it remains, and training goes on.  Collective.
 * Frees c, which may be one of eddis_restore_begin too.
 */
int eddis_checkpoint_abandon(struct eddis_checkpoint *c, struct eddis_error *err);

/* Open the checkpoint to begin with, or to go back to.  Collective: rank 0 chooses and all open the
 * same.  Before the first step:
 *   - In generation 2 and later the newest whole one that the job has written.
 *   - In generation 1, or when the job has none: path, which is one or a folder of them, the newest
 *     whole one of which is taken; NULL: what the job was told to resume from.
 * After a step:
 *   - path, likewise; NULL: the newest whole one that the job has written, or, when it has none,
 *     what it was told to resume from.
 * Its checksums are verified.  Returns 1, or 0: there is none, a fresh start.  In both cases
 * err->text (may be "") tells which newer one was passed over because it is damaged; err->code is
 * 0. -ENOENT, -EBADMSG: what path names is not there or not whole; -EINVAL: it was made with
 * another number of samples, global batch or seed.
 */
int eddis_restore_begin(struct eddis *e, const char *path, struct eddis_checkpoint **ret,
                        struct eddis_error *err);

/* Read what was put under this name by rank 0 into data; its length must be n exactly. */
int eddis_checkpoint_get(struct eddis_checkpoint *c, const char *name, void *data, size_t n,
                         struct eddis_error *err);

/* Done reading: the next eddis_step_begin is the step after the checkpoint.  Between two steps, or
 * when eddis_step_begin has returned 0.  Collective.  Frees c.
 *   - async, hybrid: after eddis_commit; the parameters must be what the checkpoint holds: they
 *     become the centre.  Groups that are as they were go on with their own values.
 *
 * Going back to an earlier step, as when the loss is no number any more, works in every mode.  All
 * workers do it together, so they must agree on it, in async and hybrid mode where all of them
 * meet, in a checkpoint:
 *
 *     if (s.flags & EDDIS_STEP_CHECKPOINT) {              // after eddis_step_end
 *         eddis_checkpoint_begin(e, NULL, &c, &err);      // all workers are here now
 *         lost = !isfinite(loss);
 *         eddis_allreduce(e, &lost, 1, EDDIS_INT32, EDDIS_MAX, timeout_ns, &err);
 *         if (lost) {
 *             eddis_checkpoint_abandon(c, &err);
 *             eddis_restore_begin(e, NULL, &c, &err);     // 1; 0: none was written yet
 *             ... eddis_checkpoint_get of all that was put
 *             eddis_restore_end(c, &err);
 *         } else {
 *             ... eddis_checkpoint_put
 *             eddis_checkpoint_commit(c, 0, &err);
 *         }
 *     }
 *
 * The newest plan holds from the restored step on.  What eddis_plan_step said before is void: a
 * thread that reads ahead may go on calling it meanwhile, and begins again at the restored step.
 * Checkpoints of the steps that were left stay until one is committed in their folder before these
 * steps are reached again, which removes those later than itself.  A job that was told to stop
 * stops all the same. -EINVAL: c is of eddis_checkpoint_begin, and is left as it is.
 */
int eddis_restore_end(struct eddis_checkpoint *c, struct eddis_error *err);

/* "0.1.0", of the library that is loaded. */
const char *eddis_version(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
