/* SPDX-License-Identifier: Apache-2.0 */
/* run_resume.c - resumes a job that is named by its folder, and checks checkpoints */
#include "run_resume.h"

#include "agents/job/checkpoints.h"
#include "agents/job/status_fetch.h"
#include "agents/protocol/timing.h"
#include "cmd/shared/number.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/trust.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/job/job_read.h"
#include "run_find.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longest time between two writes of a running driver to its files, with a margin. */
static const int64_t sign_ns = 2 * CLOCK_S;

static const char masked[] = "=***"; /* what job_text writes instead of a secret value */

/* Check that the user has given again each secret of these variables that job.yaml does not store.
 * host: the node whose variables they are; NULL: the job's. Return 0; -EINVAL: one is missing;
 * -ENOMEM.
 */
static int check_variables(const char *word, char *const *env, const char *host,
                           const struct strlist *given, struct eddis_error *err)
{
    for (char *const *v = env; v && *v; v++) {
        size_t n = strcspn(*v, "=");
        cleanup_free char *name = strndup(*v, n);

        if (!name)
            return eddis_fail(err, -ENOMEM, "no memory for a variable");
        if (strcmp(*v + n, masked) == 0 && !strlist_value(given->item, name))
            return eddis_fail(err, -EINVAL,
                              "--resume %s: its job.yaml does not store the value of %s%s%s; give "
                              "it again, -x %s=...%s",
                              word, name, host ? " of node " : "", host ? host : "", name,
                              host ? ", or name the job's file" : "");
    }
    return 0;
}

/* Check that the user has given again each secret of the job that job.yaml does not store. Return
 * 0; -EINVAL: one is missing; -ENOMEM.
 */
static int check_masked(const char *word, const struct job *job, const struct strlist *given,
                        struct eddis_error *err)
{
    int rc = check_variables(word, job->env, NULL, given, err);

    for (size_t i = 0; i < job->n_hosts && rc == 0; i++)
        rc = check_variables(word, job->host[i].env, job->host[i].host, given, err);
    if (rc < 0)
        return rc;
    for (char *const *v = job->command; v && *v; v++)
        if (strstr(*v, masked))
            return eddis_fail(err, -EINVAL,
                              "--resume %s: its command has a secret that job.yaml does not store; "
                              "name the job's file or give the command again",
                              word);
    return 0;
}

/* If `word` names a folder "checkpoints", or a checkpoint in such a folder, return the path of the
 * job.yaml beside that folder; the caller frees it. NULL: it names neither, or there is no
 * job.yaml. The path is used as it was written, since "checkpoints" may be a link.
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

/* Write the path of the job.yaml of the job that --resume names to *ret, which the caller frees.
 * Return 0; -ENOENT: there is no such job; -EINVAL: `word` exists but is no job's folder; or
 * another negative error.
 */
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
                          "--resume %s: this is not a job's folder, so the program to run is "
                          "unknown; also name a train.yaml, or write a command after --",
                          word);
    if (rc < 0)
        return rc;
    *ret = file_join(folder.path, "job.yaml");
    return *ret ? 0 : eddis_fail(err, -ENOMEM, "no memory for an option");
}

int run_resume_job(const char *word, const struct strlist *given, struct job **ret,
                   struct eddis_error *err)
{
    cleanup_free char *path = NULL;
    struct job *job = NULL;
    struct eddis_error shared = { 0 };
    int rc = find_file(word, &path, err);

    if (rc == 0) { /* job.yaml says which program runs, so it must be trusted */
        rc = job_read_trusted(path, &shared, &job, err);
        run_find_warn(&shared);
        if (rc < 0)
            eddis_fail_prefix(err, rc, "--resume %s", word);
    }
    if (rc == 0)
        rc = check_masked(word, job, given, err);
    if (rc < 0) {
        job_free(job);
        return rc;
    }
    *ret = job;
    return 0;
}

/* ---- a job that may still run ---- */

/* Store in *ret the folder of the job that --resume names and that must not run twice. other: a
 * file or a command describes the job to run, so that a checkpoint of another job counts as input
 * only. Return false if there is no such job.
 */
static bool find_same(const char *word, bool other, struct job_folder *ret)
{
    cleanup_free char *path = other ? NULL : holder_of(word);

    if (!path)
        return run_find_job("--resume", word, ret, NULL) == 0;
    path[strlen(path) - strlen("job.yaml")] = '\0';
    return job_folder_find(path, ret, NULL) == 0;
}

/* Return when the job's driver last wrote one of the files that only it writes; wall clock in ns,
 * 0: there is none.
 */
static int64_t last_sign_ns(const struct job_folder *f)
{
    static const char *const names[] = { JOB_DRIVER_FILE, "events.jsonl", "metrics.jsonl" };
    int64_t newest_ns = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path = file_join(f->path, "%s", names[i]);
        struct stat st;
        int64_t ns;

        if (!path || stat(path, &st) < 0)
            continue;
        ns = clock_of_timespec(&st.st_mtim);
        newest_ns = ns > newest_ns ? ns : newest_ns;
    }
    return newest_ns;
}

/* Return for how many ns from now workers of a dead driver may still write checkpoints: a lease and
 * a margin after the driver's last write. 0 or negative: they no longer may.
 */
static int64_t left_ns(const struct job_folder *f)
{
    cleanup_free char *path = file_join(f->path, "job.yaml");
    struct job *job = NULL;
    int64_t all_ns = 0, ns;

    if (path && job_read(path, &job, NULL) == 0)
        all_ns = clock_after_ns(timing_surely_over_ns(job->timeouts.lease_ns), sign_ns);
    job_free(job);
    ns = clock_after_ns(last_sign_ns(f), all_ns) - clock_wall_ns();
    return ns < all_ns ? ns : all_ns;
}

/* Set err because the job runs; err says how to see it and how to end it. Return -EBUSY. */
static int refuse_running(const char *word, const struct job_folder *f, const struct job_driver *d,
                          struct eddis_error *err)
{
    char age[NUMBER_SIZE] = "";
    int64_t start_s, now_s = clock_wall_ns() / CLOCK_S;
    bool known = job_folder_parse_id(f->id, NULL, 0, &start_s) && start_s < now_s;

    if (known)
        number_age(now_s - start_s, age);
    return eddis_fail(err, -EBUSY,
                      "--resume %s: the job is running%s%s (pid %d); run eddis-status %s to see "
                      "it, eddis-run --stop %s to end it",
                      word, known ? " for " : "", age, (int)d->pid, word, word);
}

int run_resume_alone(const char *word, bool other, struct eddis_error *err)
{
    struct job_folder f;
    struct job_driver d;
    int64_t ns;
    int rc;

    if (!find_same(word, other, &f))
        return 0;
    rc = job_driver_read(&f, &d, err);
    explicit_bzero(d.token, sizeof d.token);
    explicit_bzero(d.owner, sizeof d.owner);
    if (rc == -EREMOTE)
        return eddis_fail(
            err, rc,
            "--resume %s: the job's driver is on '%s', and only that machine can show whether it "
            "runs; name a checkpoint and a train.yaml if that machine is dead",
            word, d.host);
    if (rc == 1)
        return refuse_running(word, &f, &d, err);
    if (rc < 0 && job_folder_is_starting(&f))
        return eddis_fail(err, -EBUSY,
                          "--resume %s: the job is still starting; run eddis-status %s to see it, "
                          "eddis-run --stop %s to end it",
                          word, word, word);
    if (rc < 0) /* the driver has ended regularly */
        return 0;
    ns = left_ns(&f);
    if (ns <= 0)
        return 0;
    fprintf(stderr,
            "eddis-run: the driver of job %s has exited (pid %d); waiting %.0f s until its workers "
            "end; eddis-run --cleanup %s ends them at once\n",
            f.id, (int)d.pid, ceil((double)ns / CLOCK_S), word);
    clock_sleep_until_ns(clock_after_ns(clock_now_ns(), ns));
    return 0;
}

/* ---- the checkpoint ---- */

/* Open the checkpoint at path, or the newest complete one of a folder at path, and store it in
 * *ret. Complete: its files have their sizes and, with sums, their checksums. Return 1, or 0 if
 * there is none, or if other users may have written one of this user's checkpoints. passed: why
 * that one, or else the newest incomplete one, was not taken; code 0: none was met.
 */
static int open_checkpoint(const char *path, bool sums, struct checkpoint **ret,
                           struct eddis_error *passed)
{
    char at[PATH_MAX];
    int64_t step = checkpoints_newest(path, at, sizeof at);
    bool foreign;

    *passed = (struct eddis_error){ 0 };
    if (step < 0)
        return checkpoint_open(path, sums, ret, passed) == 0;
    for (; step >= 0; step = checkpoints_newest_below(path, step, at, sizeof at)) {
        struct eddis_error why = { 0 };

        if (checkpoint_open(at, sums, ret, &why) == 0)
            return 1;
        foreign = why.code == -EPERM && checkpoint_is_foreign(at);
        if (!passed->code || (why.code == -EPERM && !foreign))
            *passed = why;
        if (why.code == -EPERM && !foreign)
            break;
    }
    return 0;
}

/* Set err because `why` says that the checkpoint at path, which --resume names itself, is damaged;
 * another one never replaces it. err names a complete one beside it, if there is one. Return
 * -EINVAL.
 */
static int refuse_damaged(const char *path, const struct eddis_error *why, struct eddis_error *err)
{
    cleanup_free char *dir = strdup(path);
    char *slash = dir ? strrchr(dir, '/') : NULL;
    const struct eddis_error damaged = *why;
    struct eddis_error passed;
    struct checkpoint *c = NULL;
    char beside[80] = "";

    if (slash)
        *slash = '\0';
    if (slash && checkpoints_newest(dir, NULL, 0) >= 0 &&
        open_checkpoint(dir, true, &c, &passed) == 1)
        (void)snprintf(beside, sizeof beside,
                       "; the checkpoint of step %" PRId64 " beside it is complete",
                       checkpoint_meta(c)->step);
    checkpoint_close(c);
    return eddis_fail(err, -EINVAL, "--resume: %s%s", damaged.text, beside);
}

/* Check that the job's global batch and seed are those of the checkpoint. Return 0, or -EINVAL:
 * they are not.
 */
static int check_meta(const struct job *job, const struct checkpoint *c, struct eddis_error *err)
{
    const struct checkpoint_meta *m = checkpoint_meta(c);
    const char *path = checkpoint_folder(c);

    if (m->batch != job->batch.global)
        return eddis_fail(err, -EINVAL,
                          "--resume: the checkpoint '%s' has a global batch of %lld, but this job "
                          "has %lld; write --set batch.global=%lld to continue from it",
                          path, (long long)m->batch, (long long)job->batch.global,
                          (long long)m->batch);
    if (m->seed != (uint64_t)job->seed)
        return eddis_fail(err, -EINVAL,
                          "--resume: the checkpoint '%s' has seed %llu, but this job has %lld; "
                          "write --seed %llu to continue from it",
                          path, (unsigned long long)m->seed, (long long)job->seed,
                          (unsigned long long)m->seed);
    return 0;
}

int run_resume_check(const struct job *job, const char *checkpoint, bool sums,
                     struct eddis_error *err)
{
    struct eddis_error passed, shared = { 0 };
    struct checkpoint *c = NULL;
    int rc;

    if (sums)
        run_find_report_sums(checkpoint);
    if (open_checkpoint(checkpoint, sums, &c, &passed) == 0)
        return refuse_damaged(checkpoint, &passed, err);
    (void)trust_path(checkpoint_folder(c), &shared, NULL);
    run_find_warn(&shared);
    rc = check_meta(job, c, err);
    checkpoint_close(c);
    return rc;
}

bool run_resume_any(const char *dir, struct eddis_error *passed)
{
    struct checkpoint *c = NULL;
    bool any;

    *passed = (struct eddis_error){ 0 };
    if (checkpoints_newest(dir, NULL, 0) < 0)
        return false;
    any = open_checkpoint(dir, false, &c, passed) == 1;
    checkpoint_close(c);
    return any;
}

bool run_resume_text(const struct job *job, char *ret, size_t size)
{
    const char *from = job->checkpoint.resume;
    char first[64] = "", bytes[NUMBER_SIZE];
    struct eddis_error passed;
    struct checkpoint *c = NULL;

    if (strcmp(from, "auto") == 0)
        return false;
    if (open_checkpoint(from, false, &c, &passed) == 1) {
        if (checkpoint_bytes(c) >= RUN_FIND_BIG_BYTES)
            (void)snprintf(first, sizeof first, "; the workers first read its %s",
                           number_bytes((double)checkpoint_bytes(c), bytes));
        (void)snprintf(ret, size, "step %" PRId64 " (%s)%s%s%s", checkpoint_meta(c)->step,
                       checkpoint_folder(c), first, passed.code ? "; " : "", passed.text);
    } else {
        (void)snprintf(ret, size, "%s", from);
    }
    checkpoint_close(c);
    return true;
}

bool run_resume_is_over(const char *word, struct job_status *ret)
{
    struct job_folder folder;

    if (run_find_job("--resume", word, &folder, NULL) < 0 ||
        status_from_files(&folder, ret, NULL) < 0)
        return false;
    if (ret->state == JOB_ENDED && strcmp(ret->reason, "ok") == 0)
        return true;
    job_status_fini(ret);
    return false;
}
