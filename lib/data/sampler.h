/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - chooses the samples that a worker takes in a step
 *
 * An epoch has N samples.  All workers together take B samples in each step; B never changes within
 * a job.  Steps t = 0, 1, ... run through all epochs.  An epoch has ceil(N / B) steps; its step k
 * owns the positions [k B, min((k + 1) B, N)) of the epoch's permutation (permutation.h).  Rank i
 * takes the sub-range that begins at the sum of the batch sizes of the ranks before it.  So the
 * samples of a step do not depend on the split among ranks.  Every sample occurs exactly once in an
 * epoch, even if the split changes meanwhile.
 *
 * The last step of an epoch may be short, with n < B samples.  Then each rank takes b_i n / B,
 * rounded down.  The remaining samples go, one each, to the ranks with the largest remainders; of
 * equal remainders the lower rank comes first.
 *
 * With min_count m, a rank gets at least m samples or none.  Ranks that would get fewer than m get
 * none, beginning with the smallest batch sizes, and the remaining ranks share the step.  N mod B
 * samples of an epoch are left out if drop_last is set, or if they are fewer than m.  Each epoch
 * leaves out different samples.
 *
 * Batch sizes are a function of the step, as a list of plans, each in force from some step on:
 *
 *     from_step   0         120       121
 *     version     1          2         4
 *
 * The answer for a step never changes, since sampler_add_plan rejects a plan for a step that was
 * already asked for.
 *
 * Threads: the sampler has no thread and no lock, so the caller must not overlap calls.  Calls that
 * read only constant data may overlap: sampler_indices once N is known; sampler_used, sampler_steps
 * and sampler_steps_in_epoch after the first plan.  No call blocks, or needs time or memory that
 * grows with N.
 */
#ifndef EDDIS_DATA_SAMPLER_H
#define EDDIS_DATA_SAMPLER_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sampler;

/* The options of sampler_open. */
struct sampler_options {
    int64_t samples; /* N, 1 to PERMUTATION_MAX; 0: set later by sampler_set_data */
    int64_t epochs;  /* 0: unlimited */
    uint64_t seed;
    int rank, n_ranks;
    bool drop_last;    /* leave out an epoch's short last step */
    int64_t min_count; /* m, the least number of samples of a rank; 0: any number */
};

/* Make a sampler without a plan; the caller frees *ret by sampler_close.  Return 0, -EINVAL: the
 * options are out of range, or -ENOMEM.
 */
int sampler_open(const struct sampler_options *o, struct sampler **ret, struct eddis_error *err);

/* Free s.  Accept NULL. */
void sampler_close(struct sampler *s);

/* Check that these numbers of samples and epochs are in range.  Return 0 or -EINVAL. */
int sampler_check_data(int64_t samples, int64_t epochs, struct eddis_error *err);

/* Set N and the number of epochs, if they were not known yet.  Return 0 or -EINVAL: they are out of
 * range, and s is unchanged.
 */
int sampler_set_data(struct sampler *s, int64_t samples, int64_t epochs, struct eddis_error *err);

/* Add a plan: batch sizes batch [n_ranks], each at least 0, in force from from_step on.  The first
 * plan must apply from step 0 and fixes B.  A later plan must have the same sum and a higher
 * version; it replaces a plan in force from the same step.  Return 0 or a negative errno.  -EINVAL:
 * wrong sum, sign or version; -ESTALE: from_step was asked for already, or is before the newest
 * plan's.  On failure nothing changes.
 */
int sampler_add_plan(struct sampler *s, int64_t version, int64_t from_step, const int64_t *batch,
                     struct eddis_error *err);

/* Set this rank's micro-batch size, the most samples computed at the same time, for the newest
 * plan; 0: no limit.
 */
void sampler_set_piece(struct sampler *s, int64_t piece);

/* The samples of one rank in one step. */
struct sampler_step {
    int64_t step; /* counted through all epochs */
    int64_t epoch, step_in_epoch, steps_in_epoch;
    int64_t first, count; /* the rank's positions in the epoch are first .. first + count - 1 */
    int64_t batch;        /* samples of all ranks: B, or fewer at the end of an epoch */
    int64_t piece;        /* micro-batch size: most samples computed at the same time; 0: no
                           * limit */
    int64_t version;      /* version of the plan in force */
    bool last_of_epoch;
    int64_t passed; /* samples of the job up to the end of this step */
};

/* Store this rank's samples of a step in ret, and raise sampler_asked.  Return 1, or 0 after the
 * last epoch, with *ret unchanged.  After a failure *ret is unchanged.  -EINVAL: there is no plan
 * or no N yet, or step < 0; -ESTALE: the step was forgotten (sampler_forget).
 */
int sampler_ask(struct sampler *s, int64_t step, struct sampler_step *ret, struct eddis_error *err);

/* Store the samples of any rank in a step in *ret, but do not raise sampler_asked.  Return 1, 0
 * after the last epoch, or a negative errno as sampler_ask; -EINVAL also: no such rank.  *ret is
 * written only with 1.
 */
int sampler_look(const struct sampler *s, int64_t step, int rank, struct sampler_step *ret,
                 struct eddis_error *err);

/* The ranks of a group, which make steps together on samples of ranges.h. */
struct sampler_group {
    const int *member; /* [n_members] */
    int n_members;
};

/* Split n samples among the group, which contains this rank, in proportion to the batch sizes of
 * the step's plan.  Store this rank's samples in ret, with positions from 0.  Raise sampler_asked.
 * Return 0, or the failure of sampler_counts and change nothing.
 */
int sampler_share(struct sampler *s, const struct sampler_group *g, int64_t step, int64_t n,
                  struct sampler_step *ret, struct eddis_error *err);

/* Write each member's number of samples, if n samples are split as sampler_share splits them, to
 * ret [n_members].  Return 0, -ENOMEM, or -ESTALE: the step was forgotten, or there is no plan.
 */
int sampler_counts(const struct sampler *s, const struct sampler_group *g, int64_t step, int64_t n,
                   int64_t *ret, struct eddis_error *err);

/* Return the group's samples of a whole step by the newest plan, at least min_count. */
int64_t sampler_group_batch(const struct sampler *s, const struct sampler_group *g);

/* Return the highest step asked for so far; -1: none.  A new plan may apply from the step after the
 * highest of all ranks on.
 */
int64_t sampler_asked(const struct sampler *s);

/* Continue at this step, after a restart or a return from a later step.  Earlier answers are
 * discarded; steps before it count as asked and are forgotten.  The newest plan applies from this
 * step on, unless another is added.
 */
void sampler_resume(struct sampler *s, int64_t step);

/* Free the plans that ended before this step; no earlier step can be asked for any more. */
void sampler_forget(struct sampler *s, int64_t step);

/* Write the sample numbers (0 .. N - 1) at positions first .. first + count - 1 of an epoch to ret
 * [count].  -ERANGE: some positions are outside the epoch.
 */
int sampler_indices(const struct sampler *s, int64_t epoch, int64_t first, int64_t count,
                    int64_t *ret, struct eddis_error *err);

/* Return the number of an epoch's samples that are not left out.  0: no plan or N yet; B is smaller
 * than min_count; or N is smaller than B with drop_last.
 */
int64_t sampler_used(const struct sampler *s);

/* Return the number of steps of an epoch, including a short one; 0: no samples are used. */
int64_t sampler_steps_in_epoch(const struct sampler *s);

/* Return the number of steps of all epochs; 0: unlimited, or no samples are used. */
int64_t sampler_steps(const struct sampler *s);

#endif
