/* SPDX-License-Identifier: Apache-2.0 */
/* preflight.c - checks the program and the folders that a job names on this machine */
#include "preflight.h"

#include "agents/driver/start/start.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/base/program.h"
#include "lib/base/strlist.h"
#include "lib/base/trust.h"
#include "lib/job/job_text.h"
#include "other_launcher.h"
#include "run_find.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set err to this sentence (printf format), prefixed with the option or the file and line that set
 * the key. Return -EINVAL.
 */
__attribute__((format(printf, 4, 5))) static int
wrong(const struct job *job, const char *key, struct eddis_error *err, const char *fmt, ...)
{
    struct job_origin o = job_origin(job, key);
    char sentence[PATH_MAX + 128];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    if (o.kind == JOB_FLAG)
        return eddis_fail(err, -EINVAL, "%s: %s", o.flag, sentence);
    if (o.kind == JOB_FILE)
        return eddis_fail(err, -EINVAL, "%s:%d:%d: %s", job->file, o.line, o.column, sentence);
    return eddis_fail(err, -EINVAL, "%s", sentence);
}

/* Check whether path is an existing folder. */
static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Check whether a folder exists and can be written, or can be made. If it does not exist, make a
 * file for a moment in the nearest folder above that does, since /proc or a disk without inodes may
 * refuse what permissions allow.
 */
static bool can_make(const char *path)
{
    size_t n = strlen(path), kept = file_there(path);
    char above[PATH_MAX];

    if (n == 0 || n >= sizeof above)
        return false;
    if (access(path, W_OK | X_OK) == 0)
        return is_folder(path);
    if (errno != ENOENT || kept == n)
        return false;
    (void)snprintf(above, sizeof above, "%.*s", kept ? (int)kept : 1, kept ? path : ".");
    return file_try_folder(above, NULL) == 0;
}

/* Check that the folder of this key can be written or made. Return 0, also if path is NULL (the key
 * is not set), or -EINVAL.
 */
static int check_made(const struct job *job, const char *key, const char *path,
                      struct eddis_error *err)
{
    if (!path || can_make(path))
        return 0;
    return wrong(job, key, err,
                 "%s '%.150s' is not a writable folder and cannot be created; name another", key,
                 path);
}

/* Check that a file that this user makes in the folder `path`, the value of `key`, would belong to
 * a trusted user: NFS with root_squash and CIFS mounts may change the owner. Return 0, also if
 * nothing can be made there; -EINVAL: it would not.
 */
static int check_owner(const struct job *job, const char *key, const char *path,
                       struct eddis_error *err)
{
    struct eddis_error why;
    struct stat st;

    if (file_try_folder(path, &st) < 0 || trust_stat(&st, path, NULL, &why) >= 0)
        return 0;
    if (trust_is_user(st.st_uid))
        return wrong(job, key, err, "%s %s", key, why.text);
    return wrong(
        job, key, err,
        "%s '%.150s': the file system gives files that user id %u creates to user id %u (as "
        "root_squash does); run as that user, or name a folder on another file system",
        key, path, (unsigned)geteuid(), (unsigned)st.st_uid);
}

/* Check that a restart will trust the content of this key's folder; otherwise all work would be
 * lost. Return 0, also if path is NULL or no folder; -EINVAL: a restart would reject it. shared:
 * gets the warning of trust_holder; NULL: not wanted.
 */
static int check_trusted(const struct job *job, const char *key, const char *path,
                         struct eddis_error *shared, struct eddis_error *err)
{
    struct eddis_error why;

    if (!path || !is_folder(path))
        return 0;
    if (trust_holder(path, shared, &why) < 0)
        return wrong(job, key, err, "%s %s", key, why.text);
    return check_owner(job, key, path, err);
}

/* Check that checkpoint.resume is "auto" or a folder. Return 0, or -EINVAL: it is neither. */
static int check_resume(const struct job *job, struct eddis_error *err)
{
    const char *path = job->checkpoint.resume;

    if (strcmp(path, "auto") == 0 || is_folder(path))
        return 0;
    return wrong(job, "checkpoint.resume", err,
                 "checkpoint.resume '%.150s' is not a folder; name one", path);
}

/* Check that this user can read the private key of ssh at `path`; -EINVAL: it cannot be read. ssh
 * itself would skip such a key and try another. path NULL: not set, return 0. key: the job's key
 * that set it.
 */
static int check_key(const struct job *job, const char *key, const char *path,
                     struct eddis_error *err)
{
    const char *home = getenv("HOME");
    char full[PATH_MAX];
    bool own = path && strncmp(path, "~/", 2) == 0 && home;

    if (!path)
        return 0;
    (void)snprintf(full, sizeof full, "%s%s", own ? home : "", own ? path + 1 : path);
    if (access(full, R_OK) == 0)
        return 0;
    return wrong(job, key, err,
                 "ssh.identity '%.150s' cannot be read on this machine; name a private key", path);
}

/* Check that the private keys of ssh of the job and of each of its hosts can be read. Return 0, or
 * -EINVAL: one cannot be read.
 */
static int check_keys(const struct job *job, struct eddis_error *err)
{
    int rc = check_key(job, "ssh.identity", job->ssh.identity, err);

    for (int i = 0; rc == 0 && i < (int)job->n_hosts; i++)
        rc = check_key(job, "nodes", job->host[i].ssh.identity, err);
    return rc;
}

int preflight_check(const struct job *job, struct eddis_error *err)
{
    struct eddis_error shared = { 0 };
    int rc = check_made(job, "logs.dir", job->logs.dir, err);

    if (rc == 0)
        rc = check_trusted(job, "logs.dir", job->logs.dir, NULL, err);
    if (rc == 0)
        rc = check_keys(job, err);
    if (rc < 0 || job->n_hosts) /* each node checks its own folders before a start */
        return rc;
    if (!is_folder(job->workdir))
        return wrong(job, "workdir", err,
                     "workdir '%.150s' is not a folder; create it or name another", job->workdir);
    rc = check_resume(job, err);
    if (rc == 0)
        rc = check_made(job, "checkpoint.dir", job->checkpoint.dir, err);
    if (rc == 0)
        rc = check_trusted(job, "checkpoint.dir", job->checkpoint.dir, &shared, err);
    run_find_warn(&shared);
    return rc;
}

/* Check whether the job has one worker on each node. */
static bool is_one_each(const struct job *job)
{
    for (size_t i = 0; i < job->n_hosts; i++)
        if (job->host[i].workers > 1)
            return false;
    return job->workers_per_node == 1;
}

int preflight_launcher(const struct job *job, bool quiet, struct eddis_error *err)
{
    struct other_launcher l;
    char instead[200] = "the program itself", besides[96] = "";

    if (!job->command || !job->command[0] || !other_launcher_find(job->command, &l))
        return 0;
    if (l.instead[0])
        (void)snprintf(instead, sizeof instead, "'%s'", l.instead);
    if (l.besides[0])
        (void)snprintf(besides, sizeof besides, ", %s", l.besides);
    if (l.never || !is_one_each(job))
        return wrong(job, "command", err,
                     "eddis-run starts the workers itself, and '%s' would start others in each of "
                     "them; write %s in place of '%s ...'%s",
                     l.words, instead, l.words, besides);
    if (!quiet)
        fprintf(stderr,
                "eddis-run: '%s' starts workers of its own, for which eddis does not plan; with "
                "more than one worker on a node, write %s in its place%s\n",
                l.words, instead, besides);
    return 0;
}

/* Find the first host from index i on that is this machine with this installation of eddis. Return
 * its index, or the number of hosts if there is none.
 */
static size_t find_here(const struct job *job, size_t i)
{
    while (i < job->n_hosts && (!start_is_here(&job->host[i]) || job->host[i].eddis))
        i++;
    return i;
}

/* Borrow the PATH in which a program is searched on this machine, by the same rules as on a node:
 * from its variables, else our environment, else a default.
 */
static const char *search_path(const struct host_program *p)
{
    const char *path = strlist_value(p->env.item, "PATH");

    if (!path)
        path = getenv("PATH");
    return path && *path ? path : "/usr/local/bin:/usr/bin:/bin";
}

/* Check the program of a host that is this machine; NULL: the job has no hosts. Return 0 or a
 * negative error.
 */
static int check_here(const struct job *job, const struct job_host *host,
                      const struct job_caller *caller, struct eddis_error *err)
{
    struct host_program p;
    struct eddis_error why = { 0 };
    char beside[PATH_MAX] = "";
    int rc = host_program_make(job, host, caller, &p, err);
    bool own, setup; /* the host's own Python; lines that may change PATH and the folder */

    if (rc < 0)
        return rc;
    own = p.from[0];
    setup = p.setup.n > 0;
    (void)program_folder(beside, sizeof beside, NULL);
    if (own)
        rc = program_check_python(p.command.item[0], p.from, &why);
    else if (!setup || strchr(p.command.item[0], '/'))
        rc = program_check(p.command.item[0], job->workdir, setup ? NULL : search_path(&p), beside,
                           &why);
    own = own && rc < 0;
    if (rc == 0 && !setup)
        rc = program_check_script(p.command.item, job->workdir, search_path(&p), &why);
    host_program_fini(&p);
    if (own)
        return eddis_fail(err, rc, "node %s: %s", host->host, why.text);
    return rc < 0 ? wrong(job, "command", err, "%s", why.text) : 0;
}

int preflight_program(const struct job *job, const struct job_caller *caller,
                      struct eddis_error *err)
{
    int rc = job->n_hosts ? 0 : check_here(job, NULL, caller, err);

    for (size_t i = find_here(job, 0); rc == 0 && i < job->n_hosts; i = find_here(job, i + 1))
        rc = check_here(job, &job->host[i], caller, err);
    return rc;
}

void preflight_python(const struct job *job)
{
    char place[256];
    size_t i = 0;

    while (i < job->n_hosts && !job->host[i].python)
        i++;
    if (i == job->n_hosts || !job->command || !job->command[0] || host_program_is_python(job))
        return;
    host_program_place(job, &job->host[i], place, sizeof place);
    fprintf(stderr,
            "eddis-run: %s: \"python\" of node %s has no effect, because the command begins with "
            "'%.200s'; write python3 there to use it\n",
            place, job->host[i].host, job->command[0]);
}
