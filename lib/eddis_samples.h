/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_samples.h - a part of eddis.h, which includes it: the data set, and the samples of a step
 */
#ifndef EDDIS_SAMPLES_H
#define EDDIS_SAMPLES_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* Set how many samples an epoch has, all workers together (at least 1), and how many epochs there
 * are (0: unknown), if eddis_options.samples is 0.  So a program may open its handle and use
 * collectives before it knows its data.  Local: the last call before eddis_commit counts, and
 * eddis_commit compares the workers.  If the data set is set here, no samples are assigned before
 * eddis_commit, in any mode, and eddis_checkpoint_begin and eddis_restore_begin fail with -EINVAL
 * until the data set is known.  Return 0; -EINVAL: out of range; -EBUSY: eddis_options gave the
 * number, or eddis_commit was called.
 */
int eddis_set_data(struct eddis *e, int64_t samples, int64_t epochs, struct eddis_error *err);

/* Write to *ret what this worker has to do at a step, so that a program can read ahead.  The step
 * is the present one (between two steps: the next one) or one up to eddis_options.read_ahead steps
 * later.  The answer for a step never changes, unless the job goes back (eddis_restore_end) or
 * stops (eddis_stop, eddis_finish).  After a stop the call returns 0 for steps that will not be
 * done.  A new plan takes effect only after every step for which a worker has had an answer.  flags
 * has at most EDDIS_STEP_END_OF_EPOCH.  Return 1, or 0 after the last step.
 *
 * Any thread may ask, also the one that makes the steps.  EDDIS_FOREVER cannot deadlock: the wait
 * never needs a step that this worker has not ended, or a gradient that it has not announced.
 * -EAGAIN (timeout 0) or -ETIMEDOUT: the workers are agreeing on a new plan, or the counter has not
 * answered; a late answer is kept for the next call.  In a step that finds a new plan, the
 * agreement lasts from this worker's last announcement (of the step's first round) until all
 * workers have made theirs, in local mode from this worker's end of the round to that of the
 * slowest group.  Meanwhile calls for the next two steps, and for steps answered before, succeed.
 * -ENOBUFS: the step is more than read_ahead steps ahead; -ESTALE: the step is over.
 *   - async, hybrid, local: call it after eddis_commit.  While eddis_commit has yet to choose the
 * mode or an option, as in the first run of a program: -EAGAIN without waiting.
 */
int eddis_plan_step(struct eddis *e, int64_t step, int64_t timeout_ns, struct eddis_step *ret,
                    struct eddis_error *err);

/* Write the numbers of the step's samples to ret [count].  For a micro-batch set step->first and
 * step->count to the micro-batch's part of the step.  Return 0 or a negative errno; -EINVAL: no
 * data set, or the program counts its own samples.
 */
int eddis_sample_indices(struct eddis *e, const struct eddis_step *step, int64_t *ret,
                         struct eddis_error *err);

/* Write to ret [n_group_ranks of eddis_world] how many samples each worker of the group has at this
 * step, in the order of ranks.  Any thread may ask, for the present step and the later ones that
 * eddis_plan_step answers; errors are those of eddis_plan_step with a timeout of 0.  Return the
 * number of workers, or 0 after the last step.
 */
int eddis_counts(struct eddis *e, int64_t step, int64_t *ret, struct eddis_error *err);

/* Set that this worker does `count` samples (0 or more) in the present step, instead of
 * eddis_step.count.  For a program that never asks for sample numbers, such as one with a loader of
 * its own.  The count becomes the worker's weight, and the board and the model of the worker's
 * speed use it.  Call it after eddis_step_begin and before the step's first announcement, instead
 * of eddis_set_weight.  Batch, epochs and number of steps still follow the plan: the program must
 * itself take every sample once an epoch.  -EINVAL: at another time, or after eddis_sample_indices,
 * which in turn fails with -EINVAL after this call.
 */
int eddis_set_count(struct eddis *e, int64_t count, struct eddis_error *err);

/* Return a descriptor for poll(2), always the same one.  It becomes readable when the workers have
 * agreed on a new plan, which eddis_plan_step and eddis_counts then use; read 8 bytes from it to
 * wait for the next plan.  Without eddis-run it never becomes readable.  The library owns it and
 * closes it in eddis_close; until then any thread may poll and read it.  Return a negative errno
 * value on failure.
 */
int eddis_plan_fd(struct eddis *e, struct eddis_error *err);

#endif
