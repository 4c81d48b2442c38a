/* SPDX-License-Identifier: Apache-2.0 */
/* eddis_checkpoint.h - a part of eddis.h, which includes it: write checkpoints and go back to them
 */
#ifndef EDDIS_CHECKPOINT_H
#define EDDIS_CHECKPOINT_H

#ifndef EDDIS_H
#error "include eddis.h, of which this is a part"
#endif

/* A checkpoint is a folder "step-00000500" with the files that the workers put into it and a
 * manifest of their sizes and checksums.  Generation 1 writes it as "step-00000500.g1.part" and
 * renames it when it is complete, so a folder without ".part" is whole.  The library adds the seed,
 * the number of samples and the step.  In async, hybrid and local mode the step is the one at which
 * sync mode has done as many samples.
 *
 * A job that lost a worker is started again as the next generation, perhaps with fewer workers and
 * another split.  Its workers resume from the job's newest whole checkpoint.  What a process of an
 * older generation still writes never becomes a checkpoint (-ESTALE in that process).
 */

/* Begin a checkpoint of the state after the steps ended so far; eddis_checkpoint_commit or _abandon
 * frees *ret.  Collective.  folder: where this job alone keeps checkpoints; NULL: the job's folder.
 * Return 0 or a negative errno; -ENOENT: the job has no folder and none was given; -ESTALE: a later
 * generation, or another job, writes there now.  -EINVAL: inside a step; or an eddis_finish, or an
 * eddis_step_begin at the start or the end of all steps, has timed out and must be repeated first;
 * in local mode also: inside a round, or other workers write none at this round's end.  After any
 * failure training may go on: nothing has changed, except that in local mode the round may have
 * ended, with the models combined.
 *   - sync: steps may be made before the commit, while own files are written in the background.
 *     End this checkpoint before the next begins: a commit removes others that are incomplete.
 *   - local: call it after a step with EDDIS_STEP_CHECKPOINT or the last step of a round, on all
 *     workers.  It combines the models, and waits for the slowest group.
 */
int eddis_checkpoint_begin(struct eddis *e, const char *folder, struct eddis_checkpoint **ret,
                           struct eddis_error *err);

/* Borrow the path of the folder to write own files into; valid until c is freed.  The program may
 * make subfolders, 8 deep.  Names have letters, digits, '.', '_' and '-'.  The commit syncs all own
 * files.  Rank 0 reads and sums those in the folder itself; those in subfolders, meant to be large,
 * are listed by size alone.  A worker's files must be complete before it calls the commit.
 */
const char *eddis_checkpoint_folder(const struct eddis_checkpoint *c);

/* Write n bytes under a name into this worker's part.  A name has up to 128 letters, digits, '.',
 * '_' and '-'; names that begin with "eddis." are reserved.  Only rank 0 need put state that is
 * equal on all workers.  If a put fails, commit fails on all workers.  Return 0; -EINVAL: invalid
 * name; -EEXIST: the name was put before; -ENOENT: the checkpoint's folder has been removed, for
 * example because another worker died.  Errors of the file system, such as -ENOSPC, are also
 * returned.  If c is from eddis_restore_begin, put and commit return -EINVAL and leave c unchanged.
 */
int eddis_checkpoint_put(struct eddis_checkpoint *c, const char *name, const void *data, size_t n,
                         struct eddis_error *err);

/* Complete the checkpoint: sync all files, write the manifest, rename the folder, and remove the
 * oldest checkpoints beyond `keep` (0: the job's number).  Collective.  Free c, also on failure;
 * nothing half-written remains then and training may go on.  If a put failed on any worker, commit
 * fails on all with that error.  Return 0; or 1 if the program of another worker has ended
 * (EDDIS_EXIT_FINISH) and can put nothing.  Then nothing of the checkpoint remains, err->code is 0
 * and err->text has the reason.  -ESTALE: a later generation, or another job, writes there now.
 */
int eddis_checkpoint_commit(struct eddis_checkpoint *c, int keep, struct eddis_error *err);

/* Give up a checkpoint instead of committing it: nothing of it remains, and training goes on.
 * Collective.  Free c, which may also be from eddis_restore_begin.  Return 0 or the failure of the
 * communication, c is freed in either case; -EINVAL: c is NULL; -EPERM: in a forked child.
 */
int eddis_checkpoint_abandon(struct eddis_checkpoint *c, struct eddis_error *err);

/* Open the checkpoint to resume from, or to go back to.  Collective: rank 0 chooses, and all open
 * the same.  Before the first step:
 *   - In generation 2 and later: the newest whole one that the job has written.
 *   - In generation 1, or if the job has written none: path, a checkpoint or a folder whose newest
 *     whole checkpoint is taken; NULL: the one that the job was started to resume from.
 * After a step:
 *   - path, likewise; NULL: the newest whole one that the job has written or, if it has none, the
 *     one it was started to resume from.
 * Verify its checksums.  Return 1; or 0 if there is none, for a fresh start.  Then err->code is 0,
 * and err->text names a newer checkpoint skipped as damaged (or is "").  -ENOENT, -EBADMSG: path is
 * missing or not whole; -EINVAL: it was made with another number of samples, global batch or seed.
 */
int eddis_restore_begin(struct eddis *e, const char *path, struct eddis_checkpoint **ret,
                        struct eddis_error *err);

struct eddis_checkpoint_info {
    size_t size;  /* sizeof (struct eddis_checkpoint_info) */
    int64_t step; /* the job's first step after the checkpoint; in async, hybrid and local mode the
                   * step at which sync mode has done as many samples */
    int n_ranks;  /* number of workers that wrote the checkpoint: ranks 0 to n_ranks - 1 */
    int generation; /* number of the generation that wrote the checkpoint */
    int own;        /* 1: this worker takes its own state from what its rank has put, see
                     * eddis_checkpoint_info */
};

/* Describe a checkpoint that eddis_restore_begin has opened in the first ret->size bytes of *ret.
 * Return 0 or a negative errno; -EINVAL: c is being written.
 *
 * Rank 0 puts the state of the model, such as an optimizer's moments.  In async, hybrid and local
 * mode each group has its own, so eddis_world.group_rank 0 of each group puts it.  Each worker puts
 * its own state, such as that of its random numbers.  If `own` is 1, a worker takes its own state
 * from what its own rank has put, and its model's state from its group's group_rank 0.  With one
 * model that means that this rank wrote a part of the checkpoint; with several, that the group has
 * the same workers as then and goes on with its own values.  If `own` is 0, the worker is new, or
 * it now belongs to another group, which begins with the centre.  Then it takes the model's state
 * of rank 0 or begins it anew, and seeds its random state from eddis_world's seed, generation and
 * rank.  In local mode all groups go on with the common model, and `own` concerns only the
 * program's own state.
 */
int eddis_checkpoint_info(const struct eddis_checkpoint *c, struct eddis_checkpoint_info *ret,
                          struct eddis_error *err);

/* Return the number of bytes that this rank has put under this name.  -ENOENT: the rank has put
 * nothing under it, or does not exist in the checkpoint; -EINVAL: c is being written.
 */
int64_t eddis_checkpoint_size(const struct eddis_checkpoint *c, int rank, const char *name,
                              struct eddis_error *err);

/* Read what this rank has put under this name into data [n bytes]; n must be its exact length
 * (-EMSGSIZE).  Any worker may read what any other has put; all must see the folder.  Return 0 or a
 * negative errno; -ENOENT: as of eddis_checkpoint_size; -EBADMSG: the file has changed since it was
 * written.
 */
int eddis_checkpoint_get_from(const struct eddis_checkpoint *c, int rank, const char *name,
                              void *data, size_t n, struct eddis_error *err);

/* Read what rank 0 has put under this name, and return as eddis_checkpoint_get_from does. */
int eddis_checkpoint_get(struct eddis_checkpoint *c, const char *name, void *data, size_t n,
                         struct eddis_error *err);

/* End reading and continue from the checkpoint: the next eddis_step_begin is the step after it.
 * Call it between two steps, or after eddis_step_begin has returned 0.  Collective.  Free c.
 *   - async, hybrid, local, auto: call it after eddis_commit.  The parameters must have the
 *     checkpoint's values.
 *   - async, hybrid: these values become the centre.  Groups with the same workers as before go on
 *     with their own values.
 *   - local: all workers begin with rank 0's values.
 *
 * Every mode can go back to an earlier step, for example if the loss is not finite.  All workers go
 * back together, so they must agree on it.  In async, hybrid and local mode they agree in a
 * checkpoint, where all of them meet:
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
 * The newest plan applies from the restored step on.  Earlier answers of eddis_plan_step are void:
 * a thread that reads ahead may go on calling eddis_plan_step meanwhile, and begins again at the
 * restored step.  Checkpoints of later steps stay until a new checkpoint is committed in their
 * folder: the commit removes those of later steps.  A job that was asked to stop still stops.
 * Return 0 or a negative errno; -EINVAL: c is from eddis_checkpoint_begin; it is left unchanged.
 */
int eddis_restore_end(struct eddis_checkpoint *c, struct eddis_error *err);

#endif
