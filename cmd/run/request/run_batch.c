/* SPDX-License-Identifier: Apache-2.0 */
/* run_batch.c - finds the checkpoints of an earlier start of a batch job */
#include "run_batch.h"

#include "agents/job/checkpoints.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/proctree.h"
#include "lib/job/job_read.h"
#include "lib/job/job_text.h"
#include "run_resume.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Set err, and return -EINVAL, because the folder dir has checkpoints although Slurm counts this as
 * the batch job's first start. They may be of another eddis-run in the same script, or of starts
 * before Slurm reset its count, so it is unknown whether to continue from them.
 */
static int refuse_others(const char *dir, const struct slurm_batch *b, struct eddis_error *err)
{
    return eddis_fail(err, -EINVAL,
                      "'%s' has checkpoints, although this is the first start of Slurm's job %s; "
                      "name another checkpoint.dir, or write --resume %s to continue from them",
                      dir, b->job, dir);
}

/* If this is a restart of Slurm's job, set checkpoint.resume to the checkpoints that the earlier
 * start left in dir; if there are none, warn on standard error that training begins anew. If it is
 * the first start, fail with -EINVAL if dir has checkpoints, unless the user resumes from them.
 * Return 0 or a negative error; -EPERM: another user may have written a checkpoint.
 */
static int take_checkpoint(struct job *job, const char *dir, const struct slurm_batch *b,
                           struct eddis_error *err)
{
    struct eddis_error passed;
    bool any = run_resume_any(dir, &passed);
    int rc;

    if (b->restarts == 0)
        return any && strcmp(job->checkpoint.resume, dir) != 0 ? refuse_others(dir, b, err) : 0;
    if (passed.code == -EPERM) /* other users may have written the checkpoint */
        return eddis_fail(err, -EPERM, "%s", passed.text);
    if (!any) {
        fprintf(stderr,
                "eddis-run: this is restart %" PRId64
                " of Slurm's job %s, but '%s' has no complete checkpoint: training starts from the "
                "beginning%s%s\n",
                b->restarts, b->job, dir, passed.code ? "; " : "", passed.text);
        return 0;
    }
    rc = job_set(job, "checkpoint.resume", dir, "the job's earlier start", err);
    return rc == 0 ? run_resume_check(job, dir, false, err) : rc;
}

int run_batch(struct job *job, struct slurm_batch *ret, struct eddis_error *err)
{
    cleanup_free char *dir = NULL;
    struct slurm_batch b;
    int rc;

    if (strcmp(job->slurm.requeue, "on") != 0)
        return 0;
    rc = slurm_batch_read(slurm_variable_own, NULL, &b, err);
    if (rc <= 0)
        return rc;
    if (!job->checkpoint.dir) {
        eddis_fail(err, -EINVAL,
                   "slurm.requeue: without checkpoints a requeued job starts from the beginning; "
                   "set checkpoint.dir to a folder that all nodes share");
        return job_fail_origin(job, "slurm.requeue", -EINVAL, err);
    }
    dir = file_join(job->checkpoint.dir, "%s", b.name);
    if (!dir)
        return eddis_fail(err, -ENOMEM, "no memory for a path");
    b.newest = checkpoints_newest(dir, NULL, 0);
    rc = take_checkpoint(job, dir, &b, err);
    if (rc < 0)
        return rc;
    *ret = b;
    return 1;
}

/* Return the signal mask that follows `line`, such as "\nSigIgn:", in text, the content of
 * /proc/PID/status; 0: it has no such line.
 */
static unsigned long long mask_of(const char *text, const char *line)
{
    const char *at = strstr(text, line);

    return at ? strtoull(at + strlen(line), NULL, 16) : 0;
}

/* Check whether a signal is in the mask. */
static bool has(unsigned long long mask, int signal)
{
    return mask >> (signal - 1) & 1;
}

/* Check whether a process survives SIGTERM: it ignores or handles the signal. True also if the
 * process is gone. False for a bash with a trap for EXIT: it handles all fatal signals, SIGSEGV
 * too, and still ends; whether it also traps SIGTERM cannot be seen.
 */
static bool outlives_term(pid_t pid)
{
    cleanup_free char *text = proctree_read(pid, "status", NULL);
    unsigned long long caught;

    if (!text || has(mask_of(text, "\nSigIgn:"), SIGTERM))
        return true;
    caught = mask_of(text, "\nSigCgt:");
    return has(caught, SIGTERM) && !has(caught, SIGSEGV);
}

bool run_batch_is_exposed(void)
{
    const char *script = getenv("SLURM_TASK_PID");
    long pid = script ? strtol(script, NULL, 10) : 0;

    return pid > 1 && pid != getpid() && getenv("SLURM_JOB_ID") && !getenv("SLURM_STEP_ID") &&
           !outlives_term((pid_t)pid);
}

bool run_batch_advanced(const struct job *job, const struct slurm_batch *b)
{
    cleanup_free char *dir = file_join(job->checkpoint.dir, "%s", b->name);

    return dir && checkpoints_newest(dir, NULL, 0) > b->newest;
}

int run_batch_folder(const struct slurm_batch *b, const char *job_dir, char **ret,
                     struct eddis_error *err)
{
    size_t n = job_dir ? strlen(job_dir) : 0;
    char start[24] = "";

    *ret = NULL;
    if (!job_dir)
        return 0;
    if (b->restarts)
        (void)snprintf(start, sizeof start, ".%" PRId64, b->restarts);
    while (b->restarts && n > 1 && job_dir[n - 1] == '/')
        n--;
    if (asprintf(ret, "%.*s%s", (int)n, job_dir, start) >= 0)
        return 0;
    *ret = NULL;
    return eddis_fail(err, -ENOMEM, "no memory for a path");
}
