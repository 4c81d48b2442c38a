/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_save.c - checkpoints: what the workers do together; lib/checkpoint/checkpoint.c writes
 * the files
 *
 * A failure on one worker fails the same call on all.  A failed put fails the commit.
 */
#include "checkpoint_save.h"

#include "worker.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make a new struct eddis_checkpoint with `files` and enter the checkpoint phase.  rc: result of
 * opening the files on this worker; if any worker's is a failure, all return it and *ret is
 * unchanged.  Collective.
 */
static int save_make(struct eddis *e, struct checkpoint *files, int rc,
                     struct eddis_checkpoint **ret, struct eddis_error *err)
{
    struct eddis_checkpoint *c = calloc(1, sizeof *c);

    if (rc == 0 && !c)
        rc = eddis_fail(err, -ENOMEM, "no memory for a checkpoint");
    rc = collectives_agree(&e->all, rc, err);
    if (rc < 0) {
        free(c);
        return rc;
    }
    *c = (struct eddis_checkpoint){ .e = e, .files = files };
    c->before = phase_enter(&e->phase, EDDIS_PHASE_CHECKPOINT);
    *ret = c;
    return 0;
}

/* Enter the checkpoint phase again to end the checkpoint, unless the program has not left it since
 * the begin.
 */
static void save_resume_phase(struct eddis_checkpoint *c)
{
    enum eddis_phase before = phase_enter(&c->e->phase, EDDIS_PHASE_CHECKPOINT);

    if (before != EDDIS_PHASE_CHECKPOINT)
        c->before = before;
}

/* Return to the phase before the checkpoint, give the parameters their own values again, and free
 * c, but not c->files.
 */
static void save_free(struct eddis_checkpoint *c)
{
    phase_enter(&c->e->phase, c->before);
    checkpoint_models_release(&c->e->centre, &c->kept);
    free(c);
}

/* Check that a checkpoint may begin or be restored now: no step is under way, and no call of
 * eddis_finish or eddis_step_begin that timed out has to be repeated first.  Return 0, or -EINVAL
 * if not, or if ret is NULL.
 */
static int save_check(const struct eddis *e, struct eddis_checkpoint **ret, struct eddis_error *err)
{
    int rc = worker_check_ret(e, ret, "checkpoint", err);

    if (rc == 0 && e->step.begun)
        rc = eddis_fail(err, -EINVAL,
                        "a checkpoint contains the state between steps: call eddis_step_end first");
    if (rc == 0 && (e->step.met || centre_is_amidst(&e->centre)))
        rc = eddis_fail(err, -EINVAL,
                        "eddis_finish or eddis_step_begin has timed out: call it again first");
    return rc;
}

/* Check that the data set is known, since a step number means nothing without it.  Return 0, or
 * -EINVAL if not: a checkpoint cannot be `what`, "written" or "restored".
 */
static int save_check_data(struct samples *s, const char *what, struct eddis_error *err)
{
    if (samples_given(s))
        return 0;
    return eddis_fail(err, -EINVAL,
                      "call eddis_set_data and eddis_commit before a checkpoint is %s", what);
}

/* Check that c is not NULL (-EINVAL) and that its worker may be used (as worker_check). */
static int save_check_given(const struct eddis_checkpoint *c, struct eddis_error *err)
{
    return c ? worker_check(c->e, err) : eddis_fail(err, -EINVAL, "the checkpoint is NULL");
}

int checkpoint_save_check(const struct eddis_checkpoint *c, bool whole, struct eddis_error *err)
{
    int rc = save_check_given(c, err);

    if (rc < 0 || c->whole == whole)
        return rc;
    return eddis_fail(err, -EINVAL,
                      whole ? "checkpoint '%s' is being written: commit or abandon it, and open a "
                              "checkpoint to restore with eddis_restore_begin"
                            : "checkpoint '%s' is complete and can only be read: begin another one "
                              "with eddis_checkpoint_begin",
                      checkpoint_folder(c->files));
}

/* ---- who may write ---- */

/* Return the generation as which this worker writes checkpoints: the board's fence_generation, or
 * its generation if that is 0; 1 without eddis-run.
 */
static int generation_of(const struct checkpoint_save *s)
{
    const struct board_area *a = s->area;

    if (!a)
        return 1;
    return a->fence_generation ? (int)a->fence_generation : a->generation;
}

/* Fence this folder, so that only this process completes checkpoints in it, and store fence and
 * path in s.  Fails as fence_open.
 */
static int save_take_folder(struct checkpoint_save *s, const char *folder, struct eddis_error *err)
{
    char *copy = strdup(folder);
    int rc = copy
                 ? fence_open(folder, s->area ? s->area->job : "", generation_of(s), &s->fence, err)
                 : eddis_fail(err, -ENOMEM, "no memory for a path");

    if (rc < 0) {
        free(copy);
        return rc;
    }
    free(s->fenced);
    s->fenced = copy;
    return 0;
}

int checkpoint_save_open(struct checkpoint_save *s, struct eddis_error *err)
{
    const struct board_area *a = s->area;
    int rc;

    if (!a || generation_of(s) < 2 || !a->checkpoint_dir[0] || s->all->place.rank != 0)
        return 0;
    rc = save_take_folder(s, a->checkpoint_dir, err);
    /* Other failures may be over when a checkpoint is written, such as a full or missing disk. */
    return rc == -ESTALE ? rc : 0;
}

void checkpoint_save_close(struct checkpoint_save *s)
{
    free(s->fenced);
}

/* Create the checkpoint's part in a folder, on rank 0, as checkpoint_begin.  Fence the folder
 * before if this process has not fenced it, or if it was removed since.  Return 0 or a negative
 * errno, with *ret, as checkpoint_begin does.
 */
static int save_begin(struct checkpoint_save *s, const char *folder, int64_t step,
                      struct checkpoint **ret, struct eddis_error *err)
{
    int rc = -ENOENT;

    if (s->fenced && strcmp(s->fenced, folder) == 0)
        rc = checkpoint_begin(folder, step, &s->fence, ret, err);
    if (rc != -ENOENT)
        return rc;
    /* The folder is not fenced by this process, or was removed meanwhile. */
    rc = save_take_folder(s, folder, err);
    return rc < 0 ? rc : checkpoint_begin(folder, step, &s->fence, ret, err);
}

/* ---- writing ---- */

/* Find the folder if rank 0 passes (adds nothing to the checkpoint): it is the folder given by the
 * lowest rank that does not pass.  Collective.  Then *folder is borrowed from `received` on the
 * workers that pass.  *folder is unchanged on all others, and if rank 0 does not pass or all
 * workers pass.
 */
static int save_learn_folder(struct checkpoint_save *s, bool passes, char received[PATH_MAX],
                             const char **folder, struct eddis_error *err)
{
    int64_t writer = passes ? INT64_MAX : s->all->place.rank;
    int rc = collectives_least(s->all, &writer, 1, err);

    if (rc < 0 || writer == 0 || writer == INT64_MAX)
        return rc;
    if (!passes && *folder)
        snprintf(received, PATH_MAX, "%s", *folder);
    rc = collectives_broadcast(s->all, received, PATH_MAX, (int)writer, err);
    if (passes && *received)
        *folder = received;
    return rc;
}

/* Create the checkpoint's folder on rank 0, then join it on the others; folder NULL: the job's
 * folder.  *ret stays NULL on a worker that passes, except on rank 0.  Return 0 or a negative
 * errno; -ENOENT: there is no folder.  Collective, but a failure to join is only this worker's.
 */
static int save_files(struct checkpoint_save *s, const char *folder, bool passes, int64_t step,
                      struct checkpoint **ret, struct eddis_error *err)
{
    int rc = save_check_data(s->centre->samples, "written", err), learnt = 0;
    bool first = s->all->place.rank == 0;
    char received[PATH_MAX] = "";

    if (!folder && !passes && s->area && *s->area->checkpoint_dir)
        folder = s->area->checkpoint_dir;
    if (s->centre->group->several)
        learnt = save_learn_folder(s, passes, received, &folder, err);
    rc = rc < 0 ? rc : learnt;
    if (rc == 0 && !folder && !passes)
        rc = eddis_fail(err, -ENOENT, "the job has no folder for checkpoints and none was given");
    else if (rc == 0 && folder && first)
        rc = save_begin(s, folder, step, ret, err);
    /* The folder must exist before the other workers open it. */
    rc = collectives_agree(s->all, rc, err);
    if (rc == 0 && !passes && !first)
        rc = checkpoint_join(folder, step, generation_of(s), ret, err);
    return rc;
}

/* If rc is a failure of a checkpoint, show it on the board with its reason, unless the program
 * caused it (-EINVAL) or a later generation writes to the folder (-ESTALE).
 */
static void save_show_failure(struct eddis *e, int rc, const struct eddis_error *why)
{
    if (rc < 0 && rc != -EINVAL && rc != -ESTALE)
        phase_show_checkpoint(&e->phase, -1, why->text[0] ? why->text : "no reason is known");
}

/* Begin a checkpoint in a folder (NULL: the job's) and store it in *ret; passes: this worker adds
 * nothing to it and does not know its folder.  Failures other than those of save_check
 * are the same on all workers, and shown on the board as in save_show_failure.  Collective.  Return
 * 0, a failure, or EDDIS_ROUND_ENDED: nothing has begun, and the program repeats the call.
 */
static int save_open(struct eddis *e, const char *folder, bool passes,
                     struct eddis_checkpoint **ret, struct eddis_error *err)
{
    struct checkpoint *files = NULL;
    struct checkpoint_models kept = { 0 };
    struct eddis_error why = { 0 };
    enum eddis_phase before;
    int rc;

    err = err ? err : &why;
    rc = save_check(e, ret, err);
    if (rc < 0)
        return rc;
    before = phase_enter(&e->phase, EDDIS_PHASE_CHECKPOINT); /* other workers may come later */
    rc = checkpoint_models_take(&e->centre, &kept, err);
    if (rc == 0)
        rc = save_make(e, files, save_files(&e->save, folder, passes, kept.step, &files, err), ret,
                       err);
    if (rc != 0) {
        checkpoint_abandon_take(files);
        checkpoint_models_release(&e->centre, &kept);
        phase_enter(&e->phase, before);
        if (folder || (e->area && *e->area->checkpoint_dir))
            save_show_failure(e, rc, err);
        return rc;
    }
    (*ret)->files = files;
    (*ret)->kept = kept;
    (*ret)->before = before;
    return 0;
}

int eddis_checkpoint_begin(struct eddis *e, const char *folder, struct eddis_checkpoint **ret,
                           struct eddis_error *err)
{
    return save_open(e, folder, false, ret, err);
}

const char *eddis_checkpoint_folder(const struct eddis_checkpoint *c)
{
    return c ? checkpoint_folder(c->files) : NULL;
}

int eddis_checkpoint_put(struct eddis_checkpoint *c, const char *name, const void *data, size_t n,
                         struct eddis_error *err)
{
    struct eddis_error why = { 0 };
    int rc = checkpoint_save_check(c, false, err);

    if (rc < 0)
        return rc;
    if (!name || (!data && n))
        rc = eddis_fail(&why, -EINVAL, "the name or the data is NULL");
    else if (checkpoint_is_own(name))
        rc = eddis_fail(
            &why, -EINVAL,
            "'%s' cannot name an entry of a checkpoint: names that begin with '" CHECKPOINT_OWN
            "' are the library's",
            name);
    else
        rc = checkpoint_put(c->files, c->e->all.place.rank, name, data, n, &why);
    if (rc < 0 && !c->failure.code)
        c->failure = why;
    return rc < 0 ? eddis_fail(err, rc, "%s", why.text) : 0;
}

/* Add the other workers' lists of files to rank 0's c->files.  A failure that one worker notices by
 * itself, lack of memory, fails on all.  Collective.  Return 0 or a negative errno.
 */
static int save_gather(struct eddis_checkpoint *c, struct eddis_error *err)
{
    struct eddis *e = c->e;
    size_t ranks = (size_t)e->all.place.n_ranks;
    cleanup_free char *own = e->all.place.rank ? checkpoint_list(c->files) : strdup("");
    cleanup_free char *padded = NULL, *all = NULL;
    cleanup_free int64_t *length = calloc(ranks, sizeof *length);
    int64_t n = own ? (int64_t)strlen(own) : 0, longest = 0;
    int rc = collectives_agree(
        &e->all, own && length ? 0 : eddis_fail(err, -ENOMEM, "no memory for a list of files"),
        err);

    if (rc == 0)
        rc = collectives_allgather(&e->all, &n, length, sizeof n, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < ranks; i++)
        longest = length[i] > longest ? length[i] : longest;
    padded = calloc(1, (size_t)longest + 1);
    all = malloc(ranks * (size_t)longest + 1);
    rc = collectives_agree(
        &e->all, padded && all ? 0 : eddis_fail(err, -ENOMEM, "no memory for lists of files"), err);
    if (rc < 0)
        return rc;
    memcpy(padded, own, (size_t)n);
    rc = collectives_allgather(&e->all, padded, all, (size_t)longest, err);
    for (size_t i = 1; rc == 0 && e->all.place.rank == 0 && i < ranks; i++)
        rc = checkpoint_add_list(c->files, all + i * (size_t)longest, (size_t)length[i], err);
    return rc;
}

/* Complete the checkpoint on rank 0 and close it on the others; frees c->files.  On success note
 * its step in c->e->save.farthest.  Rank 0 also removes later checkpoints that were undone when the
 * job went back, so that no restart resumes from them.  Return 0 or a negative errno.
 */
static int save_finish(struct eddis_checkpoint *c, const struct checkpoint_meta *meta, int keep,
                       struct eddis_error *err)
{
    struct checkpoint_save *s = &c->e->save;
    int rc = 0;

    if (c->e->all.place.rank != 0) {
        checkpoint_abandon_take(c->files);
    } else {
        /* Later checkpoints exist only if the job went back. */
        checkpoint_drop_later(c->files, s->farthest);
        rc = checkpoint_commit_take(c->files, meta, keep, err);
    }
    if (rc == 0 && meta->step > s->farthest)
        s->farthest = meta->step;
    return rc;
}

int eddis_checkpoint_commit(struct eddis_checkpoint *c, int keep, struct eddis_error *err)
{
    struct checkpoint_meta meta;
    struct eddis_error why = { 0 };
    struct eddis *e;
    int rc = checkpoint_save_check(c, false, err);

    if (rc < 0)
        return rc;
    err = err ? err : &why;
    e = c->e;
    save_resume_phase(c);
    meta = (struct checkpoint_meta){ .step = c->kept.step,
                                     .seed = e->seed,
                                     .samples = e->samples.order.samples,
                                     .batch = e->samples.global_batch,
                                     .n_ranks = e->all.place.n_ranks,
                                     .generation = generation_of(&e->save) };
    if (keep <= 0 && e->area)
        keep = e->area->checkpoint_keep;
    rc = c->files ? checkpoint_models_put(&e->centre, &c->kept, c->files, err) : 0;
    if (c->failure.code)
        *err = c->failure;
    rc = collectives_agree(&e->all, c->failure.code ? c->failure.code : rc, err);
    if (rc == 0)
        rc = collectives_agree(&e->all, save_gather(c, err), err);
    if (rc == 0)
        rc = collectives_agree(&e->all, save_finish(c, &meta, keep, err), err);
    else
        checkpoint_abandon_take(c->files);
    if (rc == -ECANCELED) { /* a worker has passed at its exit */
        err->code = 0;
        rc = 1;
    }
    if (rc == 0)
        phase_show_checkpoint(&e->phase, meta.step, NULL);
    save_show_failure(e, rc, err);
    save_free(c);
    return rc;
}

int checkpoint_save_pass(struct eddis *e, struct eddis_error *err)
{
    struct eddis_checkpoint *c;
    long long step;
    int rc = save_open(e, NULL, true, &c, err);

    if (rc != 0)
        return rc;
    step = c->kept.step;
    (void)eddis_fail(&c->failure, -ECANCELED,
                     "the program of this worker has ended and adds nothing to it");
    rc = eddis_checkpoint_commit(c, 0, err);
    /* The other workers' programs get this as a result; one line is enough for all that pass. */
    if (rc == 1 && e->all.place.rank == 0)
        (void)fprintf(stderr, "eddis: the checkpoint of step %lld is not kept: %s\n", step,
                      err->text);
    return rc;
}

int eddis_checkpoint_abandon(struct eddis_checkpoint *c, struct eddis_error *err)
{
    int rc = save_check_given(c, err);

    if (rc < 0)
        return rc;
    save_resume_phase(c);
    rc = collectives_barrier(&c->e->all, err); /* other workers may still write into the folder */
    checkpoint_abandon_take(c->files);
    save_free(c);
    return rc;
}

/* ---- reading ---- */

/* Check that the checkpoint's data set, batch and seed are those of this job.  Return 0, or -EINVAL
 * if not.
 */
static int restore_check(const struct eddis *e, const struct checkpoint_meta *m,
                         struct eddis_error *err)
{
    int64_t samples = e->samples.order.samples, batch = e->samples.global_batch;

    if (m->samples == samples && m->batch == batch && m->seed == e->seed)
        return 0;
    if (m->batch == batch && m->seed == e->seed) /* eddis-run has compared batch and seed */
        return eddis_fail(err, -EINVAL,
                          "the checkpoint was made with %lld samples an epoch and this job has "
                          "%lld: use the same data, or start without --resume",
                          (long long)m->samples, (long long)samples);
    return eddis_fail(err, -EINVAL,
                      "the checkpoint was made with %lld samples an epoch, a global batch of %lld "
                      "and seed %llu, this job has %lld, %lld and %llu",
                      (long long)m->samples, (long long)m->batch, (unsigned long long)m->seed,
                      (long long)samples, (long long)batch, (unsigned long long)e->seed);
}

/* Open on rank 0 the checkpoint at `path`, or the newest one in it if `path` is a folder of
 * checkpoints.  Return 1; 0 if it is this job's own folder and has none; or a failure (-ENOENT:
 * another folder has none).  *passed: why a damaged newer one was skipped; code 0: none was.
 */
static int restore_open(const struct eddis *e, const char *path, struct checkpoint **ret,
                        struct eddis_error *passed, struct eddis_error *err)
{
    const struct board_area *a = e->area;
    int rc;

    if (!checkpoint_is_collection(path)) {
        rc = checkpoint_open(path, true, ret, err);
        return rc < 0 ? rc : 1;
    }
    rc = checkpoint_open_newest(path, ret, passed, err);
    if (rc != 0 || (a && strcmp(path, a->checkpoint_dir) == 0))
        return rc;
    return eddis_fail(err, -ENOENT, "there is no complete checkpoint in folder '%s'%s%s", path,
                      passed->code ? "; " : "", passed->code ? passed->text : "");
}

/* Check whether this worker has made steps, so that a restore goes back instead of beginning. */
static bool restore_is_back(const struct eddis *e)
{
    return e->step.round > 0;
}

/* Choose and open the checkpoint to begin with or to go back to, on rank 0; for the rules see
 * eddis_restore_begin.  A path given by the program replaces the job's.  Return 1, 0 if there is
 * none, or a failure; *passed as in restore_open.
 */
static int restore_choose(const struct eddis *e, const char *path, struct checkpoint **ret,
                          struct eddis_error *passed, struct eddis_error *err)
{
    const struct board_area *a = e->area;
    bool own = restore_is_back(e) ? !path : a && generation_of(&e->save) > 1;

    if (own && a && a->checkpoint_dir[0]) {
        int rc = checkpoint_open_newest(a->checkpoint_dir, ret, passed, err);

        if (rc != 0)
            return rc;
    }
    if (!path && a)
        path = a->resume_from;
    return path && *path ? restore_open(e, path, ret, passed, err) : 0;
}

/* The choice that rank 0 broadcasts.  `passed` is the reason why a damaged checkpoint was skipped;
 * "": none was.
 */
struct choice {
    int found;
    char path[PATH_MAX];
    char passed[sizeof((struct eddis_error *)0)->text];
};

/* Open on all workers the checkpoint that rank 0 chooses, and store the choice in *ret_choice.
 * Return 1, 0 if there is none, or a failure.  A failure to choose is the same on all workers; a
 * failure to open is only this worker's.  Collective.
 */
static int restore_agree(struct eddis *e, const char *path, struct checkpoint **ret,
                         struct choice *ret_choice, struct eddis_error *err)
{
    struct eddis_error passed = { 0 };
    int rc = 0, found = 0;

    if (e->all.place.rank == 0) {
        rc = restore_choose(e, path, ret, &passed, err);
        found = rc > 0;
        if (found && snprintf(ret_choice->path, sizeof ret_choice->path, "%s",
                              checkpoint_folder(*ret)) >= (int)sizeof ret_choice->path)
            rc = eddis_fail(err, -ENAMETOOLONG, "path '%s' is too long", checkpoint_folder(*ret));
        if (passed.code)
            strcpy(ret_choice->passed, passed.text);
    }
    rc = collectives_agree(&e->all, rc < 0 ? rc : 0, err);
    if (rc < 0)
        return rc;
    ret_choice->found = found;
    rc = collectives_broadcast(&e->all, ret_choice, sizeof *ret_choice, 0, err);
    if (rc < 0)
        ret_choice->found = 0;
    if (!ret_choice->found)
        return rc;
    /* Rank 0 has verified every checksum; this worker verifies those of the files it reads. */
    if (e->all.place.rank != 0)
        rc = checkpoint_open(ret_choice->path, false, ret, err);
    return rc < 0 ? rc : 1;
}

int eddis_restore_begin(struct eddis *e, const char *path, struct eddis_checkpoint **ret,
                        struct eddis_error *err)
{
    cleanup_free struct choice *choice = calloc(1, sizeof *choice);
    struct checkpoint *files = NULL;
    int rc = save_check(e, ret, err);

    if (rc < 0)
        return rc;
    rc = centre_rest(&e->centre, err);
    if (rc == 0 && !choice)
        rc = eddis_fail(err, -ENOMEM, "no memory to look for checkpoints");
    rc = collectives_agree(&e->all, rc, err);
    if (rc < 0)
        return rc;
    rc = restore_agree(e, path, &files, choice, err);
    /* If rank 0 found no checkpoint, all return 0.  If a worker cannot open it, save_make fails on
     * all.
     */
    if (rc > 0 || choice->found) {
        if (rc > 0)
            rc = save_check_data(&e->samples, "restored", err);
        if (rc == 0)
            rc = restore_check(e, checkpoint_meta(files), err);
        if (rc == 0)
            rc = checkpoint_models_check(&e->centre, files, err);
        rc = save_make(e, files, rc, ret, err);
        if (rc == 0)
            (*ret)->whole = true;
    }
    if (rc < 0) {
        checkpoint_close(files);
        return choice->path[0] ? eddis_fail_prefix(err, rc, "cannot resume from '%s'", choice->path)
                               : eddis_fail_prefix(err, rc, "cannot resume");
    }
    if (err) {
        *err = (struct eddis_error){ 0 };
        strcpy(err->text, choice->passed);
    }
    return choice->found;
}

/* Note that the workers have gone back from this step to an earlier one: checkpoints up to this
 * step count as undone, and the samples taken for the next step are dropped.
 */
static void restore_note_back(struct eddis *e, int64_t step)
{
    struct checkpoint_save *s = &e->save;

    s->farthest = step > s->farthest ? step : s->farthest;
    e->step.taken = false;
}

int eddis_restore_end(struct eddis_checkpoint *c, struct eddis_error *err)
{
    int64_t before, done;
    struct eddis *e;
    int rc = checkpoint_save_check(c, true, err);

    if (rc < 0)
        return rc;
    e = c->e;
    before = e->samples.step;
    rc = checkpoint_models_restore(&e->centre, &e->plan_switch, c->files, &done, err);
    if (rc == 0) {
        phase_show_restored(&e->phase, done);
        e->step.over = e->step.enough = e->step.done = e->step.combines = false;
        process_may_leave(&e->process, e->engine ? LEAVE_FINISH : LEAVE_ORDER);
    }
    if (rc == 0 && restore_is_back(e))
        restore_note_back(e, before);
    checkpoint_close(c->files);
    save_free(c);
    return rc < 0 ? rc : collectives_barrier(&e->all, err);
}
