/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_checkpoint.h - a part of eddis.h, which includes it: checkpoints and going back to them */
#ifndef EDDIS_CHECKPOINT_H
#define EDDIS_CHECKPOINT_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* A checkpoint is a folder "step-00000500" with the files that the workers put into it and a
 * manifest of their sizes and checksums.  It is written as "step-00000500.g1.part", by generation
 * 1, and renamed when complete, so a folder without ".part" is whole.  The library adds the seed,
 * the number of samples, and the step: in async and hybrid mode sync mode's with as many done.
 *
 * A job that lost a worker is started again as the next generation, perhaps with fewer workers and
 * another split.  Its workers resume from the job's newest whole checkpoint; what a process of an
 * older generation still writes never becomes one (-ESTALE there).
 */

/* Begin one for the state after the steps ended so far.  Collective.  folder: where checkpoints
 * are kept, for this job alone; NULL: the job's.  -ENOENT: the job has none and none was given;
 * -ESTALE: a later generation, or another job, writes there now.  -EINVAL: inside of a step; or an
 * eddis_finish, or an eddis_step_begin at the start or the end of all steps, has timed out and is
 * to be called again before.  After any failure training may go on: nothing has changed.
 */
int eddis_checkpoint_begin(struct eddis *e, const char *folder, struct eddis_checkpoint **ret,
                           struct eddis_error *err);

/* Borrows the folder to write own files into, valid until commit. */
const char *eddis_checkpoint_folder(const struct eddis_checkpoint *c);

/* Write n bytes under a name (letters, digits, '.', '_', '-'; "eddis." first is the library's) into
 * this worker's part.  For state that is equal on all workers only rank 0 need do so.  -EINVAL: the
 * name; or c is of eddis_restore_begin, which this call and commit leave as it is.  -ENOENT: the
 * checkpoint was given up meanwhile, as when another worker has died; its commit will say so.
 */
int eddis_checkpoint_put(struct eddis_checkpoint *c, const char *name, const void *data, size_t n,
                         struct eddis_error *err);

/* Make it whole: all files synced, manifest written, folder renamed, the oldest beyond `keep`
 * removed (0: the job's number).  Collective.  Frees c, also on failure; nothing half-written
 * remains then and training may go on.  A put that failed on any worker fails this on all, with its
 * sentence.  Returns 0, or 1: nothing of it remains either, because the program of another worker
 * has come to its end (EDDIS_EXIT_FINISH) and can put nothing into it; err->code is 0, and
 * err->text tells.  -ESTALE: a later generation, or another job, writes there now.
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
 * Its checksums are verified.  Returns 1, or 0: there is none, a fresh start; err->code is 0, and
 * err->text (may be "") tells which newer one was passed over as damaged.  -ENOENT, -EBADMSG:
 * what path names is not there or not whole; -EINVAL: it was made with another number of samples,
 * global batch or seed.
 */
int eddis_restore_begin(struct eddis *e, const char *path, struct eddis_checkpoint **ret,
                        struct eddis_error *err);

struct eddis_checkpoint_info {
    size_t size;  /* sizeof (struct eddis_checkpoint_info) */
    int64_t step; /* the first behind it, of the whole job; in async and hybrid mode sync mode's
                   * with as many samples done */
    int n_ranks;  /* workers that have written it: ranks 0 to n_ranks - 1 */
    int generation;
    int own; /* 1: what this worker's rank has put is for it, see below */
};

/* Tell of a checkpoint that eddis_restore_begin has opened; fills the first ret->size bytes.
 *
 * State that is one of a model, as an optimizer's moments, is put by rank 0, and in async and
 * hybrid mode, where each group has its own, by eddis_world.group_rank 0 of each; what is of one
 * worker, as the state of its random numbers, by that one.  Where `own` is 1 a worker takes what
 * its own rank has put, and of its group the rank of group_rank 0: with one model there was this
 * rank, with several the group has the same workers and goes on with its own values.  Where it is
 * 0, it was not there before, or belongs to another group now and begins with the centre: it takes
 * rank 0's of the model, or begins it anew, and draws its random state from eddis_world's seed,
 * generation and rank.
 */
int eddis_checkpoint_info(const struct eddis_checkpoint *c, struct eddis_checkpoint_info *ret,
                          struct eddis_error *err);

/* Return the bytes that this rank has put under this name.  -ENOENT: none, or there was no such
 * rank; -EINVAL: c is being written.
 */
int64_t eddis_checkpoint_size(const struct eddis_checkpoint *c, int rank, const char *name,
                              struct eddis_error *err);

/* Read what this rank has put under this name into data; its length must be n exactly (-EMSGSIZE).
 * Any worker may read what any has put, all must see the folder.  -ENOENT: as above; -EBADMSG: the
 * file has changed since.
 */
int eddis_checkpoint_get_from(const struct eddis_checkpoint *c, int rank, const char *name,
                              void *data, size_t n, struct eddis_error *err);

/* Of rank 0. */
int eddis_checkpoint_get(struct eddis_checkpoint *c, const char *name, void *data, size_t n,
                         struct eddis_error *err);

/* Done reading: the next eddis_step_begin is the step after the checkpoint.  Between two steps, or
 * when eddis_step_begin has returned 0.  Collective.  Frees c.
 *   - async, hybrid, auto: after eddis_commit; the parameters must be what the checkpoint holds:
 *     they become the centre.  Groups that are as they were go on with their own values.
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

#endif
