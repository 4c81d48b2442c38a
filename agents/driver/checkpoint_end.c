/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_end.c - removes half-written checkpoints on the thread for what can hold up */
#include "checkpoint_end.h"

#include "agents/job/checkpoints.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int64_t most_ns = 5 * CLOCK_S;

struct drop {
    struct file_task task;
    char *dir;
    int rc;
    struct eddis_error err;
};

static void run(struct file_task *t)
{
    struct drop *k = (struct drop *)t;

    k->rc = checkpoints_drop_parts(k->dir, &k->err);
}

static void free_drop(struct file_task *t)
{
    free(((struct drop *)t)->dir);
    free(t);
}

static struct drop *drop_new(const char *dir)
{
    struct drop *k = calloc(1, sizeof *k);

    if (!k)
        return NULL;
    k->task = (struct file_task){ .run = run, .free = free_drop };
    k->dir = strdup(dir);
    if (k->dir)
        return k;
    free(k);
    return NULL;
}

void checkpoint_end(struct job_run *job)
{
    /* Without a folder of the job's there was no training, and the checkpoints are another's. */
    struct drop *k =
        job->checkpoint_dir && job->o->folder && job->looks ? drop_new(job->checkpoint_dir) : NULL;
    struct eddis_error err = { 0 };

    if (!k)
        return;
    file_thread_add(job->looks, &k->task);
    if (file_thread_await(job->looks, &k->task, clock_after_ns(clock_now_ns(), most_ns))) {
        err = k->err;
        free_drop(&k->task);
    } else {
        eddis_fail(&err, -ETIMEDOUT, "'%s' does not answer", job->checkpoint_dir);
    }
    if (err.code < 0) {
        eddis_fail_prefix(&err, err.code, "a checkpoint that was not completed may stay");
        job_run_say(job, JOB_EVENT_SAY, -1, -1, err.text);
    }
}
