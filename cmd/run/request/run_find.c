/* SPDX-License-Identifier: Apache-2.0 */
/* run_find.c - finds the job, checkpoint or plan that an option names */
#include "run_find.h"

#include "agents/job/checkpoints.h"
#include "cmd/shared/number.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/job/job_read.h"
#include "lib/model/job.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool run_find_has(const char *folder, const char *name)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

void run_find_warn(const struct eddis_error *shared)
{
    if (shared->code)
        fprintf(stderr, "eddis-run: %s\n", shared->text);
}

/* Store in *ret the folder of the newest job whose name is exactly this one. Return false if there
 * is none.
 */
static bool newest_of_name(const char *name, struct job_folder *ret)
{
    cleanup_free struct job_folder *list = NULL;
    int n = job_folder_list(&list, NULL);

    while (n-- > 0) {
        char own[JOB_FOLDER_MAX_ID + 1];

        if (job_folder_parse_id(list[n].id, own, sizeof own, NULL) && strcmp(own, name) == 0) {
            *ret = list[n];
            return true;
        }
    }
    return false;
}

int run_find_job(const char *option, const char *word, struct job_folder *ret,
                 struct eddis_error *err)
{
    cleanup_free char *folder = NULL;
    int rc = job_folder_find(word, ret, err);

    /* Only an option that changes nothing of the job may choose one of several. */
    if (rc == -EINVAL && strcmp(option, "--resume") == 0 && newest_of_name(word, ret))
        return 0;
    /* A folder's name may be written without the slash at its end. */
    if (rc == -ENOENT && run_find_has(word, "job.yaml") && asprintf(&folder, "%s/", word) > 0)
        rc = job_folder_find(folder, ret, err);
    if (rc == -ENOENT)
        return eddis_fail(err, rc,
                          "%s %s: there is no such file or folder, and no job whose id begins with "
                          "it; run eddis-status --list to see the jobs",
                          option, word);
    return rc < 0 ? eddis_fail_prefix(err, rc, "%s %s", option, word) : rc;
}

/* Write to ret [size] the path of the checkpoint from which the job in this folder was itself
 * resumed. Return false if it began anew, or that checkpoint or the job's file cannot be read.
 */
static bool began_with(const struct job_folder *folder, char *ret, size_t size)
{
    cleanup_free char *path = file_join(folder->path, "job.yaml");
    struct job *job = NULL;
    bool found = path && job_read(path, &job, NULL) == 0 &&
                 strcmp(job->checkpoint.resume, "auto") != 0 &&
                 checkpoints_resumed(job->checkpoint.resume, NULL, 0) >= 0 &&
                 snprintf(ret, size, "%s", job->checkpoint.resume) < (int)size;

    job_free(job);
    return found;
}

void run_find_report_sums(const char *path)
{
    char at[PATH_MAX], size[NUMBER_SIZE];
    struct checkpoint *c = NULL;

    if (checkpoints_newest(path, at, sizeof at) < 0)
        (void)snprintf(at, sizeof at, "%s", path);
    if (checkpoint_open(at, false, &c, NULL) == 0 && checkpoint_bytes(c) >= RUN_FIND_BIG_BYTES)
        fprintf(stderr, "eddis-run: verifying the checksums of checkpoint '%s', %s\n", at,
                number_bytes((double)checkpoint_bytes(c), size));
    checkpoint_close(c);
}

/* Replace the path in ret [size], a folder of checkpoints, by that of its newest complete
 * checkpoint, and compare its checksums. Print on standard error which newer ones are damaged.
 * word: the argument of --resume, for errors. Return 0; -ENOENT: none is complete; or another
 * negative error.
 */
static int take_newest(const char *word, char *ret, size_t size, struct eddis_error *err)
{
    struct eddis_error passed = { 0 };
    struct checkpoint *c = NULL;
    int rc;

    run_find_report_sums(ret);
    rc = checkpoint_open_newest(ret, &c, &passed, err);
    if (rc < 0)
        return eddis_fail_prefix(err, rc, "--resume %s", word);
    if (rc == 0)
        return eddis_fail(err, -ENOENT, "--resume %s: there is no complete checkpoint%s%s", word,
                          passed.code ? "; " : "", passed.text);
    if (passed.code)
        fprintf(stderr, "eddis-run: %s; using an older checkpoint\n", passed.text);
    (void)snprintf(ret, size, "%s", checkpoint_folder(c));
    checkpoint_close(c);
    return 0;
}

int run_find_checkpoint(const char *word, char **ret, struct eddis_error *err)
{
    char path[PATH_MAX];
    struct job_folder folder;
    bool newest;
    int rc;

    if (run_find_has(word, "MANIFEST") || checkpoints_newest(word, NULL, 0) >= 0) {
        (void)snprintf(path, sizeof path, "%s", word);
    } else {
        rc = run_find_job("--resume", word, &folder, err);
        if (rc < 0)
            return rc;
        (void)snprintf(path, sizeof path, "%s/checkpoints", folder.path);
        if (checkpoints_newest(path, NULL, 0) < 0 && !began_with(&folder, path, sizeof path))
            return eddis_fail(err, -ENOENT,
                              "--resume %s: the job has no checkpoint in '%s/checkpoints'", word,
                              folder.path);
    }
    newest = checkpoints_newest(path, NULL, 0) >= 0;
    if (newest) {
        rc = take_newest(word, path, sizeof path, err);
        if (rc < 0)
            return rc;
    }
    *ret = realpath(path, NULL);
    return *ret ? newest : eddis_fail_errno(err, -errno, "no checkpoint '%s'", path);
}

/* Write the path of the plan-*.json with the highest generation and version in a job's folder to
 * ret [size]. Return false if it has none.
 */
static bool newest_plan(const char *folder, char *ret, size_t size)
{
    int64_t best_generation = -1, best_version = -1;
    DIR *dir = opendir(folder);
    struct dirent *e;

    while (dir && (e = readdir(dir))) {
        int64_t generation, version;
        int end = 0;

        if (sscanf(e->d_name, "plan-%" SCNd64 "-%" SCNd64 ".json%n", &generation, &version, &end) !=
                2 ||
            !end || e->d_name[end])
            continue;
        if (generation < best_generation ||
            (generation == best_generation && version <= best_version))
            continue;
        best_generation = generation;
        best_version = version;
        (void)snprintf(ret, size, "%s/%s", folder, e->d_name);
    }
    if (dir)
        closedir(dir);
    return best_generation >= 0;
}

int run_find_plan(const char *word, char **ret, struct eddis_error *err)
{
    struct job_folder folder;
    char path[PATH_MAX];
    struct stat st;
    int rc;

    if (stat(word, &st) < 0 || S_ISDIR(st.st_mode)) {
        rc = run_find_job("--plan", word, &folder, err);
        if (rc < 0)
            return rc;
        if (!newest_plan(folder.path, path, sizeof path))
            return eddis_fail(err, -ENOENT, "--plan %s: the job has no plan in '%s'", word,
                              folder.path);
        word = path;
    }
    *ret = strdup(word);
    return *ret ? 0 : eddis_fail(err, -ENOMEM, "no memory for an option");
}
