/* SPDX-License-Identifier: Apache-2.0 */
/* sampler.h - which samples a worker takes at a step
 *
 * N samples an epoch, B of all workers a step (B never changes within a job), steps t = 0, 1, ...
 * through all epochs.  An epoch has ceil(N / B) steps; its step k owns the positions
 * [k B, min((k + 1) B, N)) of the epoch's permutation (permutation.h).  Rank i takes the sub-range
 * that begins at the sum of the batch sizes of the ranks before it.  So the samples of all ranks
 * together at a step do not depend on the split, and every sample comes exactly once an epoch,
 * whatever happens to the split meanwhile.
 *
 * The last step of an epoch may be short, n < B samples: then each rank takes b_i n / B rounded
 * down, and the samples left over go one each to the largest remainders, ties to the lower rank.
 *
 * Where no rank is to get fewer than m samples unless it gets none, those that would, of the
 * smallest batch sizes first, get none, and the others share.  Of an epoch's N samples N mod B are
 * left out where short steps are not wanted, or where they are fewer than m; which ones differs by
 * the epoch.
 *
 * Batch sizes are a function of the step, as a list of plans, each in force from some step on:
 *
 *     from_step   0         120       121
 *     version     1          2         4
 *
 * What was said about a step never changes, since sampler_add_plan refuses a plan in force at a
 * step that was already asked for.
 *
 * Threads: none of its own and no lock; the caller keeps calls apart, but once N is known
 * sampler_indices, and after the first plan sampler_used, _steps and _steps_in_epoch too, read
 * nothing that changes.  Nothing blocks, and no call takes time or memory that grows with N.
 */
#ifndef EDDIS_DATA_SAMPLER_H
#define EDDIS_DATA_SAMPLER_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sampler;

struct sampler_options {
    int64_t samples; /* N, 1 to PERMUTATION_MAX; 0: sampler_set_data tells */
    int64_t epochs;  /* 0: without end */
    uint64_t seed;
    int rank, n_ranks;
    bool drop_last;    /* no short step ends an epoch */
    int64_t min_count; /* m; 0: any number */
};

/* Make a sampler without a plan, nothing asked yet.  -EINVAL: the options are out of range. */
int sampler_open(const struct sampler_options *o, struct sampler **ret, struct eddis_error *err);

/* Accepts NULL. */
void sampler_close(struct sampler *s);

/* Whether there may be so many samples and epochs: -EINVAL. */
int sampler_check_data(int64_t samples, int64_t epochs, struct eddis_error *err);

/* Say N and the epochs, where they are not known yet.  -EINVAL: they are out of range. */
int sampler_set_data(struct sampler *s, int64_t samples, int64_t epochs, struct eddis_error *err);

/* Let the batch sizes batch [n_ranks], each at least 0, hold from from_step on.  The first plan
 * must hold from step 0 and fixes B; a later one must have the same sum and a higher version.  One
 * in force at the same step as the plan before replaces it. -EINVAL: sum, sign or version; -ESTALE:
 * from_step was already asked for, or lies before the newest plan's.  Nothing has changed then.
 */
int sampler_add_plan(struct sampler *s, int64_t version, int64_t from_step, const int64_t *batch,
                     struct eddis_error *err);

/* Have this rank hold at most so many samples at once where the newest plan is in force; 0: all. */
void sampler_set_piece(struct sampler *s, int64_t piece);

struct sampler_step {
    int64_t step; /* through all epochs */
    int64_t epoch, step_in_epoch, steps_in_epoch;
    int64_t first, count; /* this rank's positions first .. first + count - 1 of the epoch */
    int64_t batch;        /* of all ranks: B, or less at the end of an epoch */
    int64_t piece;        /* of them at once, at most; 0: all */
    int64_t version;      /* of the plan in force */
    bool last_of_epoch;
    int64_t passed; /* samples of the job up to its end */
};

/* Say what this rank has to do at a step; raises sampler_asked.  Returns 1, or 0 behind the last
 * epoch (nothing is written then).  -EINVAL: no plan or N yet, step < 0; -ESTALE: a forgotten step.
 */
int sampler_ask(struct sampler *s, int64_t step, struct sampler_step *ret, struct eddis_error *err);

/* Say the same for any rank, without raising sampler_asked. */
int sampler_look(const struct sampler *s, int64_t step, int rank, struct sampler_step *ret,
                 struct eddis_error *err);

/* Ranks that make steps together on samples of ranges.h. */
struct sampler_group {
    const int *member; /* [n_members] */
    int n_members;
};

/* Split n samples among the group, this rank in it, in the proportion of the batch sizes that hold
 * at the step, and say what this rank has to do; positions count from 0.  Raises sampler_asked.
 */
int sampler_share(struct sampler *s, const struct sampler_group *g, int64_t step, int64_t n,
                  struct sampler_step *ret, struct eddis_error *err);

/* Write what each of the group takes of the same n samples to ret [n_members].  -ESTALE: the
 * step is forgotten, or there is no plan.
 */
int sampler_counts(const struct sampler *s, const struct sampler_group *g, int64_t step, int64_t n,
                   int64_t *ret, struct eddis_error *err);

/* Count the samples that the group takes at a whole step, by the newest plan, min_count at least.
 */
int64_t sampler_group_batch(const struct sampler *s, const struct sampler_group *g);

/* Return the highest step asked so far; -1: none.  A new plan may hold from the highest of all
 * ranks + 1. */
int64_t sampler_asked(const struct sampler *s);

/* Go on at this step, after a restart or back from a later one: what was said before counts no
 * more, the steps before it count as asked and are forgotten.  The newest plan holds from there,
 * unless one is added.
 */
void sampler_resume(struct sampler *s, int64_t step);

/* Free the plans that ended before this step: no earlier one will be asked for again. */
void sampler_forget(struct sampler *s, int64_t step);

/* Write the numbers (0 .. N - 1) of the samples at positions first .. first + count - 1 of an
 * epoch to ret [count].  -ERANGE: they are not all inside the epoch.
 */
int sampler_indices(const struct sampler *s, int64_t epoch, int64_t first, int64_t count,
                    int64_t *ret, struct eddis_error *err);

/* Count the samples of an epoch that are not left out; 0 without a plan or N, or where B is too
 * small for min_count, or N for drop_last.
 */
int64_t sampler_used(const struct sampler *s);

/* Return the steps of an epoch, the one that may be short included; 0 where none are used. */
int64_t sampler_steps_in_epoch(const struct sampler *s);

/* Count the steps of all epochs; 0: without end, or none are used. */
int64_t sampler_steps(const struct sampler *s);

#endif
