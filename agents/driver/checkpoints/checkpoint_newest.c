/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_newest.c - list the checkpoint folder on the thread for slow file systems */
#include "checkpoint_newest.h"

#include "agents/job/checkpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A task of the file thread that searches for checkpoints. */
struct look {
    struct file_task task;
    checkpoint_newest_fn *tell;
    void *ctx;
    char *dir, *begun; /* checkpoint folder; checkpoint that the job began with; NULL: none */
    struct job_folder folder; /* the job's folder; id "": none */
    struct checkpoint_found found;
};

/* Replace the folder in found.resume by the job's id if the id finds the same folder.  The id is
 * shorter, but finds only jobs in the usual places.
 */
static void name_by_id(struct look *k)
{
    struct job_folder found;

    if (k->folder.id[0] && job_folder_find(k->folder.id, &found, NULL) == 0 &&
        strcmp(found.path, k->folder.path) == 0)
        (void)snprintf(k->found.resume, sizeof k->found.resume, "%s", found.id);
}

/* Find the newest checkpoint, or without one the checkpoint that the job began with (file_task.run,
 * on the file thread).
 */
static void run(struct file_task *t)
{
    struct look *k = (struct look *)t;

    if (k->dir)
        k->found.step = checkpoints_newest(k->dir, k->found.resume, sizeof k->found.resume);
    if (k->found.step < 0 && k->begun)
        k->found.begun_step =
            checkpoints_resumed(k->begun, k->found.resume, sizeof k->found.resume);
    if (k->found.step >= 0 || k->found.begun_step >= 0)
        name_by_id(k);
}

/* Call the callback that was given to checkpoint_newest with what the task has found, if anything
 * (on the driver's thread).
 */
static void done(struct file_task *t)
{
    const struct look *k = (const struct look *)t;

    k->tell(k->ctx, &k->found);
}

/* Free a task that searches for checkpoints (file_task.free). */
static void free_look(struct file_task *t)
{
    struct look *k = (struct look *)t;

    free(k->dir);
    free(k->begun);
    free(k);
}

/* Return a new task that searches the job's checkpoint folder and the checkpoint that the job began
 * with; free_look frees it.  NULL: the job has neither, or there is no memory.
 */
static struct look *look_new(const struct job_run *job)
{
    const char *begun = job->o->job->checkpoint.resume;
    bool none = strcmp(begun, "auto") == 0;
    struct look *k = job->checkpoint_dir || !none ? calloc(1, sizeof *k) : NULL;

    if (!k)
        return NULL;
    k->task = (struct file_task){ .run = run, .done = done, .free = free_look };
    k->found.step = k->found.begun_step = -1;
    k->dir = job->checkpoint_dir ? strdup(job->checkpoint_dir) : NULL;
    k->begun = none ? NULL : strdup(begun);
    if (!k->dir == !job->checkpoint_dir && !k->begun == none)
        return k;
    free_look(&k->task);
    return NULL;
}

void checkpoint_newest(struct job_run *job, checkpoint_newest_fn *tell, void *ctx)
{
    const struct checkpoint_found none = { .step = -1, .begun_step = -1 };
    struct look *k = look_new(job);

    if (!k) {
        tell(ctx, &none);
        return;
    }
    k->tell = tell;
    k->ctx = ctx;
    if (job->o->folder)
        k->folder = *job->o->folder;
    file_thread_add(job->reader, &k->task);
}
