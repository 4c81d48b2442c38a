/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_end.c - remove partly written checkpoints on the thread for slow file systems */
#include "checkpoint_end.h"

#include "agents/job/checkpoints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A task of the file thread that removes partly written checkpoints. */
struct drop {
    struct file_task task;
    struct job_run *job; /* like over, not used by the file thread */
    bool *over;
    int64_t last; /* the highest generation number that this job may have used */
    struct eddis_error err;
    char dir[];
};

/* Remove the partly written checkpoints (file_task.run, on the file thread). */
static void run(struct file_task *t)
{
    struct drop *k = (struct drop *)t;

    (void)checkpoints_drop_parts(k->dir, k->last, &k->err);
}

/* Report to the user that an incomplete checkpoint may remain, and why. */
static void say_stays(struct job_run *job, struct eddis_error *why)
{
    eddis_fail_prefix(why, why->code, "an incomplete checkpoint may remain");
    job_run_say(job, JOB_EVENT_SAY, -1, -1, why->text);
}

/* Mark the removal of partly written checkpoints as done, and report its failure (file_task.done,
 * on the driver's thread).
 */
static void done(struct file_task *t)
{
    struct drop *k = (struct drop *)t;

    *k->over = true;
    if (k->err.code < 0)
        say_stays(k->job, &k->err);
}

void checkpoint_end(struct job_run *job, bool *ret_over)
{
    /* Without a job folder no training took place, and the checkpoints belong to another job. */
    const char *dir = job->o->folder ? job->checkpoint_dir : NULL;
    struct drop *k = dir ? malloc(sizeof *k + strlen(dir) + 1) : NULL;

    *ret_over = !k;
    if (!k)
        return;
    *k = (struct drop){ .task = { .run = run, .done = done }, .job = job, .over = ret_over };
    k->last = job->o->batch ? (job->o->batch->restarts + 1) * SLURM_GENERATIONS - 1 : INT64_MAX;
    strcpy(k->dir, dir);
    file_thread_add(job->reader, &k->task);
}

void checkpoint_end_give_up(struct job_run *job)
{
    struct eddis_error err = { 0 };

    eddis_fail(&err, -ETIMEDOUT, "the folder '%s' does not answer", job->checkpoint_dir);
    say_stays(job, &err);
}
