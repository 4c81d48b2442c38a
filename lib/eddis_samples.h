/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_samples.h - a part of eddis.h, which includes it: the data, and the samples of a step */
#ifndef EDDIS_SAMPLES_H
#define EDDIS_SAMPLES_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* Say how many samples an epoch has, all workers together, at least 1, and how many epochs there
 * are (0: unknown), where eddis_options.samples is 0: a program may open its handle and use
 * collectives long before it knows its data.  Local; the last call before eddis_commit counts,
 * which compares.  Until eddis_commit no samples are told, in any mode, and no checkpoint is
 * written or restored (-EINVAL).  -EINVAL: out of range; -EBUSY: eddis_options said it, or
 * eddis_commit has been.
 */
int eddis_set_data(struct eddis *e, int64_t samples, int64_t epochs, struct eddis_error *err);

/* What this worker will have to do at the present step (between two: the next one) or at a later
 * one, up to eddis_options.read_ahead steps behind it: for reading ahead.  What it says about a
 * step never changes afterwards, unless the job goes back (eddis_restore_end), or stops
 * (eddis_stop, eddis_finish): it returns 0 then for steps of which it has told, which are not done.
 * A new plan takes force after every step that any worker asked for.  flags holds
 * EDDIS_STEP_END_OF_EPOCH only.  Returns 1, or 0 behind the last step.  Any thread may ask, also
 * the one that makes the steps: nothing that is waited for needs a step that this worker has not
 * ended, nor a gradient that it has not announced, so that EDDIS_FOREVER hangs nobody.  -EAGAIN,
 * with a timeout of 0, else -ETIMEDOUT: the workers are agreeing on a new plan, or the counter has
 * not answered; its answer, when it comes, is kept for the next call.  In a step that finds a new
 * plan the workers agree from when this one has announced its last gradient (of the step's first
 * round, where there are several) until all have; meanwhile the next two steps are told, and those
 * that were told before.  -ENOBUFS: a step beyond read_ahead; -ESTALE: one that is over.
 *   - async, hybrid: after eddis_commit; where the mode is "auto" until then it is -EAGAIN at once.
 */
int eddis_plan_step(struct eddis *e, int64_t step, int64_t timeout_ns, struct eddis_step *ret,
                    struct eddis_error *err);

/* Write the numbers of the step's samples, or of a piece by its first and count, to ret [count]. */
int eddis_sample_indices(struct eddis *e, const struct eddis_step *step, int64_t *ret,
                         struct eddis_error *err);

/* Write how many samples each worker of the group has at this step to ret [n_group_ranks of
 * eddis_world], in order of ranks.  Any thread may ask, for the present step and those that
 * eddis_plan_step tells, and gets what that would say with a timeout of 0.  Returns how many there
 * are, or 0 behind the last step.
 */
int eddis_counts(struct eddis *e, int64_t step, int64_t *ret, struct eddis_error *err);

/* For a program that never asks for the numbers of its samples, as one with a loader of its own:
 * this worker does `count` samples in the present step, 0 or more, whatever eddis_step.count says.
 * They are its weight, and what the board and the model of its speed count.  After eddis_step_begin
 * and before the step's first announcement, in place of eddis_set_weight.  What eddis_step says
 * goes by the plan all the same, batch, epochs and the number of steps too: that every sample comes
 * once an epoch is the program's to see to.  -EINVAL: at another time, or of a program that has
 * called eddis_sample_indices, which is -EINVAL itself once this call has succeeded.
 */
int eddis_set_count(struct eddis *e, int64_t count, struct eddis_error *err);

/* Return a descriptor for poll and the like, the same at each call: it becomes readable when the
 * workers have agreed on a new plan, which eddis_plan_step and eddis_counts then tell; read 8 bytes
 * from it to wait for the next one.  Never without eddis-run.  It belongs to the library, which
 * closes it in eddis_close; until then any thread may poll and read it.  A negative errno value on
 * failure.
 */
int eddis_plan_fd(struct eddis *e, struct eddis_error *err);

#endif
