/* SPDX-License-Identifier: Apache-2.0 */
/* job_folder.c - creates, lists, finds and removes jobs' folders */
#include "job_folder.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/file.h"
#include "lib/base/random.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* STAMP: length of "-20261121-140712-3f9a" after the name; MAX_TOLD: most jobs named in an error.
 */
enum { STAMP = 21, MAX_NAME = JOB_FOLDER_MAX_ID - STAMP, MAX_LISTED = 3 };

/* Time since job.yaml was written within which a job's driver may still be starting. */
static const int64_t starting_ns = 60 * CLOCK_S;

int job_folder_root(char *ret, size_t size, struct eddis_error *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool own = state && state[0] == '/'; /* the standard says to ignore a relative path */
    int n;

    if (!own && (!home || home[0] != '/'))
        return eddis_fail(err, -ENOENT,
                          "neither XDG_STATE_HOME nor HOME is set, so jobs have no folder; set one "
                          "of them, or write eddis-run --job-dir");
    n = own ? snprintf(ret, size, "%s/eddis/jobs", state)
            : snprintf(ret, size, "%s/.local/state/eddis/jobs", home);
    if (n < 0 || (size_t)n >= size)
        return eddis_fail(err, -ENAMETOOLONG, "the path of the jobs' folder is too long");
    return 0;
}

/* Write a new job id to ret [JOB_FOLDER_MAX_ID + 1]: name with unsuitable characters replaced by
 * '_', the time, and four random digits.  Return 0 or a negative errno.
 */
static int make_id(const char *name, char *ret, struct eddis_error *err)
{
    char clean[MAX_NAME + 1], stamp[16], hex[5];
    time_t now = (time_t)(clock_wall_ns() / CLOCK_S);
    struct tm utc;
    size_t n = 0;
    int rc = random_hex(hex, 4, err);

    if (rc < 0)
        return rc;
    for (; name[n] && n < MAX_NAME; n++)
        clean[n] = isalnum((unsigned char)name[n]) || (strchr("._-", name[n]) && n) ? name[n] : '_';
    clean[n] = '\0';
    gmtime_r(&now, &utc);
    if (strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc) != sizeof stamp - 1)
        return eddis_fail(err, -ERANGE, "the clock is beyond the year 9999");
    snprintf(ret, JOB_FOLDER_MAX_ID + 1, "%s-%s-%s", n ? clean : "job", stamp, hex);
    return 0;
}

/* Create an empty job.yaml in the folder `path`.  If several jobs find the same empty folder, only
 * one of them can create this file.  Return 0, -EEXIST if another job was first, or another
 * negative errno.
 */
static int claim(const char *path, struct eddis_error *err)
{
    cleanup_free char *first = file_join(path, "job.yaml");
    cleanup_fd int fd =
        first ? open(first, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

    if (!first)
        return eddis_fail(err, -ENOMEM, "no memory for the job's folder");
    if (fd < 0 && errno == EEXIST)
        return eddis_fail(err, -EEXIST,
                          "another job has just taken the job's folder '%s'; name another "
                          "one",
                          path);
    return fd < 0 ? eddis_fail_errno(err, -errno, "cannot write in the job's folder '%s'", path)
                  : 0;
}

/* Create the folder `path` and its parents, or take it if it exists, is this user's and is empty;
 * then claim it.  Set ret->path (absolute) and ret->was_there.  Return 0 or a negative errno.
 */
static int take_folder(const char *path, struct job_folder *ret, struct eddis_error *err)
{
    char full[PATH_MAX];
    struct dirent *e;
    struct stat st;
    int others = 0, rc2, rc = mkdir(path, 0700) < 0 ? -errno : 0;
    cleanup_dir DIR *dir = NULL;

    if (rc == -ENOENT) {
        cleanup_free char *parent = strdup(path);
        char *slash = parent ? strrchr(parent, '/') : NULL;

        if (slash && slash > parent) {
            *slash = '\0';
            if (file_mkdirs(parent, TRUST_DIR_MODE, err) < 0)
                return err ? err->code : -EIO;
        }
        rc = mkdir(path, 0700) < 0 ? -errno : 0;
    }
    dir = rc == 0 || rc == -EEXIST ? opendir(path) : NULL;
    if (!dir)
        return eddis_fail_errno(err, rc && rc != -EEXIST ? rc : -errno,
                                "cannot make the job's folder '%s'", path);
    if (fstat(dirfd(dir), &st) < 0 || !trust_is_self(st.st_uid))
        return eddis_fail(err, -EPERM, "the job's folder '%s' belongs to another user", path);
    while ((e = readdir(dir)))
        others += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (others)
        return eddis_fail(err, -EEXIST,
                          "the job's folder '%s' is not empty; name another one, or empty it",
                          path);
    if ((st.st_mode & 0300) != 0300)
        return eddis_fail(err, -EACCES,
                          "the job's folder '%s' is not writable; run chmod u+wx on it", path);
    rc2 = trust_stat(&st, path, NULL, err);
    if (rc2 < 0)
        return eddis_fail_prefix(err, rc2, "the job's folder");
    if (!realpath(path, full) || strlen(full) >= JOB_FOLDER_MAX_PATH)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%s' is too long", path);
    strcpy(ret->path, full);
    ret->was_there = rc == -EEXIST;
    return claim(full, err);
}

/* Append to the message in *err how to choose another root, since the user may not be able to write
 * below the present root.  Return rc, whose error *err describes.
 */
static int no_folder(int rc, struct eddis_error *err)
{
    char why[sizeof err->text];

    if (!err)
        return rc;
    memcpy(why, err->text, sizeof why);
    return eddis_fail(
        err, rc, "%s; set XDG_STATE_HOME to a folder where jobs can be kept, or write --job-dir",
        why);
}

int job_folder_make(const char *name, const char *dir, struct job_folder *ret,
                    struct eddis_error *err)
{
    char root[JOB_FOLDER_MAX_PATH - JOB_FOLDER_MAX_ID - 1];
    struct job_folder f = { 0 };
    int rc;

    if (dir) {
        rc = make_id(name, f.id, err);
        if (rc == 0)
            rc = take_folder(dir, &f, err);
        if (rc == 0)
            *ret = f;
        return rc;
    }
    rc = job_folder_root(root, sizeof root, err);
    if (rc < 0)
        return rc;
    rc = file_mkdirs(root, 0700, err);
    if (rc < 0)
        return no_folder(rc, err);
    for (int tries = 0; tries < 16; tries++) {
        rc = make_id(name, f.id, err);
        if (rc < 0)
            return rc;
        snprintf(f.path, sizeof f.path, "%s/%s", root, f.id);
        if (mkdir(f.path, 0700) == 0) {
            *ret = f;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    rc = eddis_fail_errno(err, -errno, "cannot make the job's folder '%s'", f.path);
    return no_folder(rc, err);
}

/* Check whether the job's folder contains a file or folder `name`; if so, store its attributes in
 * *ret.
 */
static bool has(const struct job_folder *f, const char *name, struct stat *ret)
{
    cleanup_free char *path = file_join(f->path, "%s", name);

    return path && stat(path, ret) == 0;
}

bool job_folder_is_starting(const struct job_folder *f)
{
    struct stat st;

    return !has(f, JOB_DRIVER_FILE, &st) && !has(f, "summary.json", &st) &&
           has(f, "job.yaml", &st) &&
           clock_of_timespec(&st.st_mtim) > clock_wall_ns() - starting_ns;
}

bool job_folder_is_of_worker(const struct job_folder *f)
{
    static const char *const own[] = { "job.yaml", "summary.json", "metrics.jsonl", "events.jsonl",
                                       JOB_DRIVER_FILE };
    struct stat st;

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (has(f, own[i], &st))
            return false;
    return has(f, "logs", &st);
}

int job_folder_drop(const struct job_folder *f, struct eddis_error *err)
{
    return f->was_there ? file_remove_inside(f->path, err) : file_remove_tree(f->path, err);
}

bool job_folder_parse_id(const char *id, char *ret_name, size_t size, int64_t *ret_s)
{
    size_t n = strlen(id);
    struct tm utc = { 0 };
    const char *stamp;

    if (n <= STAMP || n > JOB_FOLDER_MAX_ID || !text_is_name(id, JOB_FOLDER_MAX_ID))
        return false;
    stamp = id + n - STAMP;
    for (int i = 0; i < STAMP; i++) {
        bool dash = i == 0 || i == 9 || i == 16, hex = i > 16;

        if (dash ? stamp[i] != '-'
                 : !(hex ? isxdigit((unsigned char)stamp[i]) : isdigit((unsigned char)stamp[i])))
            return false;
    }
    sscanf(stamp, "-%4d%2d%2d-%2d%2d%2d", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour,
           &utc.tm_min, &utc.tm_sec);
    utc.tm_year -= 1900;
    utc.tm_mon--;
    if (ret_name)
        snprintf(ret_name, size, "%.*s", (int)(n - STAMP), id);
    if (ret_s)
        *ret_s = (int64_t)timegm(&utc);
    return true;
}

/* Return the time at which the job was created, in ns since 1970: the time of its job.yaml, which
 * is never rewritten; 0: unknown.  The time in an id has a resolution of seconds only.
 */
static int64_t made_ns(const struct job_folder *f)
{
    struct stat st;

    return has(f, "job.yaml", &st) ? clock_of_timespec(&st.st_mtim) : 0;
}

/* Compare two jobs for qsort, older first: by the date and time in their ids, then by the time of
 * job.yaml, then by id.
 */
static int by_age(const void *a, const void *b)
{
    const struct job_folder *f = a, *g = b;
    const char *x = f->id, *y = g->id;
    int order = strncmp(x + strlen(x) - STAMP, y + strlen(y) - STAMP, STAMP - 5);
    int64_t x_ns = order ? 0 : made_ns(f), y_ns = order ? 0 : made_ns(g);

    if (x_ns != y_ns)
        order = x_ns < y_ns ? -1 : 1;
    return order ? order : strcmp(x, y);
}

int job_folder_list(struct job_folder **ret, struct eddis_error *err)
{
    char root[JOB_FOLDER_MAX_PATH - JOB_FOLDER_MAX_ID - 1];
    struct job_folder *list = NULL;
    int n = 0, room = 0, rc = job_folder_root(root, sizeof root, err);
    struct dirent *e;
    cleanup_dir DIR *dir = NULL;

    *ret = NULL;
    if (rc < 0)
        return rc;
    dir = opendir(root);
    if (!dir)
        return errno == ENOENT ? 0 : eddis_fail_errno(err, -errno, "cannot read '%s'", root);
    while ((e = readdir(dir))) {
        if (!job_folder_parse_id(e->d_name, NULL, 0, NULL))
            continue;
        if (n == room) {
            struct job_folder *grown = realloc(list, (size_t)(room += 64) * sizeof *list);

            if (!grown) {
                free(list);
                return eddis_fail(err, -ENOMEM, "no memory to list jobs");
            }
            list = grown;
        }
        memcpy(list[n].id, e->d_name, strlen(e->d_name) + 1); /* a valid id fits */
        snprintf(list[n].path, sizeof list[n].path, "%s/%s", root, list[n].id);
        n++;
    }
    if (n)
        qsort(list, (size_t)n, sizeof *list, by_age);
    *ret = list;
    return n;
}

/* Set *ret to the folder `path`, with the folder's name as id.  A folder whose name is not a job id
 * must contain a job.yaml.  Return 0 or a negative errno.
 */
static int find_by_path(const char *path, struct job_folder *ret, struct eddis_error *err)
{
    char full[PATH_MAX];
    struct stat st;

    if (!realpath(path, full) || stat(full, &st) < 0 || !S_ISDIR(st.st_mode))
        return eddis_fail(err, -ENOENT, "there is no job's folder '%s'", path);
    if (!job_folder_parse_id(strrchr(full, '/') + 1, NULL, 0, NULL)) {
        cleanup_free char *job = file_join(full, "job.yaml");

        if (!job || access(job, F_OK) < 0)
            return eddis_fail(err, -ENOENT, "'%s' is not a job's folder: it has no job.yaml", path);
    }
    if (strlen(full) >= sizeof ret->path)
        return eddis_fail(err, -ENAMETOOLONG, "the path '%s' is too long", path);
    strcpy(ret->path, full);
    snprintf(ret->id, sizeof ret->id, "%.*s", JOB_FOLDER_MAX_ID, strrchr(full, '/') + 1);
    return 0;
}

/* Set *err to a message that names the newest MAX_TOLD of the `count` jobs in list [n] whose ids
 * begin with prefix, with their local time, so that the user can choose.  Return -EINVAL.
 */
static int ambiguous(const struct job_folder *list, int n, const char *prefix, int count,
                     struct eddis_error *err)
{
    struct strbuf b = { 0 };
    int listed = 0, rc;

    for (int i = n - 1; i >= 0 && listed < MAX_LISTED; i--) {
        char when[32];
        int64_t s = 0;
        time_t start;
        struct tm local;

        if (strncmp(list[i].id, prefix, strlen(prefix)) != 0)
            continue;
        (void)job_folder_parse_id(list[i].id, NULL, 0, &s);
        start = (time_t)s;
        (void)strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime_r(&start, &local));
        strbuf_addf(&b, "%s%s (%s%s)", listed ? ", " : "", list[i].id, listed ? "" : "started ",
                    when);
        listed++;
    }
    if (count > listed)
        strbuf_addf(&b, " and %d older", count - listed);
    rc = eddis_fail(err, -EINVAL, "the ids of %d jobs begin with '%s'; write more of the id: %s",
                    count, prefix, strbuf_text(&b));
    strbuf_fini(&b);
    return rc;
}

/* Find the running job among the jobs in list [n] whose ids begin with prefix.  If there is exactly
 * one, set *ret to it and return true; otherwise return false, and *ret may have changed.
 */
static bool only_running(const struct job_folder *list, int n, const char *prefix,
                         const struct job_folder **ret)
{
    int count = 0;

    for (int i = 0; i < n; i++) {
        if (strncmp(list[i].id, prefix, strlen(prefix)) != 0 ||
            job_driver_check(&list[i], NULL) != 1)
            continue;
        *ret = &list[i];
        count++;
    }
    return count == 1;
}

/* Return -EREMOTE, with err set, if the folder holds only the logs of a worker's node, otherwise 0.
 * Without this check such a job would look like one whose driver died.
 */
static int check_is_here(const struct job_folder *f, struct eddis_error *err)
{
    if (!job_folder_is_of_worker(f))
        return 0;
    return eddis_fail(err, -EREMOTE,
                      "job %s was started on another machine; run the command there, because this "
                      "machine has only logs of its workers, in '%s'",
                      f->id, f->path);
}

/* Set *err to a message that there are no jobs below the root.  Return -ENOENT, or another negative
 * errno if there is no root.
 */
static int none_yet(struct eddis_error *err)
{
    char root[PATH_MAX] = "";
    int rc = job_folder_root(root, sizeof root, err);

    return rc < 0 ? rc
                  : eddis_fail(err, -ENOENT,
                               "there are no jobs in '%s' yet; to name a job elsewhere, write the "
                               "path of its folder",
                               root);
}

int job_folder_find(const char *prefix, struct job_folder *ret, struct eddis_error *err)
{
    cleanup_free struct job_folder *list = NULL;
    const struct job_folder *found = NULL;
    int n, rc, count = 0;

    if (prefix && strchr(prefix, '/')) {
        rc = find_by_path(prefix, ret, err);
        return rc < 0 ? rc : check_is_here(ret, err);
    }
    n = job_folder_list(&list, err);
    if (n < 0)
        return n;
    for (int i = 0; i < n; i++) {
        if (prefix && strcmp(list[i].id, prefix) == 0) {
            found = &list[i];
            count = 1;
            break;
        }
        if (prefix ? strncmp(list[i].id, prefix, strlen(prefix)) != 0
                   : job_folder_is_of_worker(&list[i]))
            continue;
        found = &list[i];
        count++;
    }
    if (prefix && count > 1 && !only_running(list, n, prefix, &found))
        return ambiguous(list, n, prefix, count, err);
    if (!found && prefix)
        return eddis_fail(err, -ENOENT,
                          "no job's id begins with '%s'; run eddis-status --list to see the jobs",
                          prefix);
    if (!found)
        return none_yet(err);
    rc = check_is_here(found, err);
    if (rc == 0)
        *ret = *found;
    return rc;
}
