/* SPDX-License-Identifier: Apache-2.0 */
/* run_resume.c - goes on with a job of which only the folder is named, and compares checkpoints */
#include "run_resume.h"

#include "agents/job/checkpoints.h"
#include "cmd/run_find.h"
#include "cmd/status_fetch.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/checkpoint/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST_MAX = 64 << 20 };

static const char masked[] = "=***"; /* how job_text writes a secret */

static bool is_given(const struct run_env *given, const char *variable, size_t n)
{
    for (int i = 0; i < given->n; i++)
        if (strncmp(given->at[i], variable, n) == 0 && given->at[i][n] == '=')
            return true;
    return false;
}

/* The secrets that job.yaml does not keep. */
static int check_masked(const char *word, const struct job *job, const struct run_env *given,
                        struct eddis_error *err)
{
    for (char *const *v = job->env; v && *v; v++) {
        size_t n = strcspn(*v, "=");

        if (strcmp(*v + n, masked) == 0 && !is_given(given, *v, n))
            return eddis_fail(err, -EINVAL,
                              "--resume %s: the value of %.*s is not kept in its job.yaml; give it "
                              "again, -x %.*s=...",
                              word, (int)n, *v, (int)n, *v);
    }
    for (char *const *v = job->command; v && *v; v++)
        if (strstr(*v, masked))
            return eddis_fail(err, -EINVAL,
                              "--resume %s: its command has a secret that job.yaml does not keep; "
                              "name the job's file or give the command again",
                              word);
    return 0;
}

/* The job.yaml of the folder that holds a checkpoint, or all of them, as a job's own ones are held:
 * by the path as it was written, since "checkpoints" may be a link.  NULL: there is none.
 */
static char *holder_of(const char *word)
{
    cleanup_free char *folder = strdup(word);

    for (int up = 0; folder && up < 2; up++) {
        size_t n = strlen(folder);
        char *slash;

        while (n > 1 && folder[n - 1] == '/')
            folder[--n] = '\0';
        slash = strrchr(folder, '/');
        if (!slash || slash == folder)
            break;
        *slash = '\0';
        if (strcmp(slash + 1, "checkpoints") == 0) {
            char *path = file_join(folder, "job.yaml");

            if (path && access(path, F_OK) == 0)
                return path;
            free(path);
        }
    }
    return NULL;
}

static int find_file(const char *word, char **ret, struct eddis_error *err)
{
    struct job_folder folder;
    struct stat st;
    int rc;

    *ret = holder_of(word);
    if (*ret)
        return 0;
    rc = run_find_job("--resume", word, &folder, err);
    if (rc == -ENOENT && stat(word, &st) == 0)
        return eddis_fail(err, -EINVAL,
                          "--resume %s: this is no job's folder, so it does not say what to run; "
                          "name a train.yaml, too, or a command behind --",
                          word);
    if (rc < 0)
        return rc;
    *ret = file_join(folder.path, "job.yaml");
    return *ret ? 0 : eddis_fail(err, -ENOMEM, "no memory for an option");
}

int run_resume_job(const char *word, const struct run_env *given, struct job **ret,
                   struct eddis_error *err)
{
    cleanup_free char *path = NULL;
    struct job *job = NULL;
    int rc = find_file(word, &path, err);

    if (rc == 0)
        rc = job_read(path, &job, err);
    if (rc == 0)
        rc = check_masked(word, job, given, err);
    if (rc < 0) {
        job_free(job);
        return rc;
    }
    *ret = job;
    return 0;
}

/* Returns 1, or 0 for what is damaged: that the workers pass over, for an older one. */
static int read_manifest(const char *checkpoint, struct manifest *ret, struct eddis_error *err)
{
    cleanup_free char *path = file_join(checkpoint, "%s", MANIFEST_NAME), *text = NULL;
    size_t n = 0;

    if (!path)
        return eddis_fail(err, -ENOMEM, "no memory for an option");
    return file_read(path, MANIFEST_MAX, &text, &n, NULL) == 0 &&
           manifest_parse(text, n, ret, NULL) == 0;
}

int run_resume_check(const struct job *job, const char *checkpoint, struct eddis_error *err)
{
    struct manifest m = { 0 };
    int rc = read_manifest(checkpoint, &m, err);

    if (rc <= 0)
        return rc;
    rc = 0;
    if (m.meta.batch != job->batch.global)
        rc = eddis_fail(
            err, -EINVAL,
            "--resume: the checkpoint '%s' is of a global batch of %lld and this job's is "
            "%lld; --set batch.global=%lld goes on with it",
            checkpoint, (long long)m.meta.batch, (long long)job->batch.global,
            (long long)m.meta.batch);
    else if (m.meta.seed != (uint64_t)job->seed)
        rc = eddis_fail(err, -EINVAL,
                        "--resume: the checkpoint '%s' is of seed %llu and this job's is %lld; "
                        "--seed %llu goes on with it",
                        checkpoint, (unsigned long long)m.meta.seed, (long long)job->seed,
                        (unsigned long long)m.meta.seed);
    manifest_fini(&m);
    return rc;
}

bool run_resume_text(const struct job *job, char *ret, size_t size)
{
    const char *from = job->checkpoint.resume;
    char newest[PATH_MAX];
    struct manifest m = { 0 };

    if (strcmp(from, "auto") == 0)
        return false;
    if (checkpoints_newest(from, newest, sizeof newest) >= 0)
        from = newest;
    if (read_manifest(from, &m, NULL) == 1)
        (void)snprintf(ret, size, "step %" PRId64 " (%s)", m.meta.step, from);
    else
        (void)snprintf(ret, size, "%s", from);
    manifest_fini(&m);
    return true;
}

bool run_resume_is_over(const char *word, struct job_status *ret)
{
    struct job_folder folder;

    if (job_folder_find(word, &folder, NULL) < 0 || status_from_files(&folder, ret, NULL) < 0)
        return false;
    if (ret->state == JOB_ENDED && strcmp(ret->reason, "ok") == 0)
        return true;
    job_status_fini(ret);
    return false;
}
