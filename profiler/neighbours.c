/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.c - find other jobs on this node: Slurm steps, eddis probes and ranks */
#include "neighbours.h"

#include "lib/base/cleanup.h"
#include "lib/base/proctree.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Check whether the text of a /proc/PID/cmdline [n] has this argument. */
static bool has_word(const char *text, size_t n, const char *word)
{
    for (const char *at = text; at < text + n; at += strlen(at) + 1)
        if (strcmp(at, word) == 0)
            return true;
    return false;
}

/* ---- Slurm jobs ---- */

/* Return the job number in the title "slurmstepd: [12.batch]" of a process; 0: none. */
static long step_job(pid_t pid)
{
    cleanup_free char *title = proctree_read(pid, "cmdline", NULL);
    const char *number = title ? strchr(title, '[') : NULL;

    return number ? strtol(number + 1, NULL, 10) : 0;
}

/* Check whether the number is in this process's environment, as the number of its own job.
 * Components of a heterogeneous job have theirs in SLURM_JOB_ID_HET_GROUP_1 and so on.
 */
static bool in_environment(long job)
{
    static const char prefix[] = "SLURM_JOB_ID";

    for (char **e = environ; *e; e++) {
        const char *value = strchr(*e, '=');

        if (value && strncmp(*e, prefix, sizeof prefix - 1) == 0 &&
            strtol(value + 1, NULL, 10) == job)
            return true;
    }
    return false;
}

/* Check whether this process is in the job's control group. */
static bool in_control_group(long job)
{
    cleanup_free char *text = proctree_read(getpid(), "cgroup", NULL);
    char name[32];
    int n = snprintf(name, sizeof name, "/job_%ld", job);
    const char *at = text;

    while (at && (at = strstr(at, name)) && at[n] != '/' && at[n] != '\n' && at[n])
        at += n;
    return at != NULL;
}

/* Check whether the Slurm job is the one that this process belongs to. */
static bool is_own(long job)
{
    pid_t above = proctree_above("slurmstepd");

    return in_environment(job) || (above && step_job(above) == job) || in_control_group(job);
}

/* Check whether a slurmstepd belongs to another job; if so, write its name to ret. */
static bool is_step(pid_t pid, char *ret, size_t size)
{
    long job = step_job(pid);

    if (job <= 0 || is_own(job))
        return false;
    (void)snprintf(ret, size, "Slurm's job %ld", job);
    return true;
}

/* ---- eddis jobs ---- */

/* Check whether an eddis process belongs to a job other than job_id; if so, write that job's name
 * to ret. A process whose environment this user may not read belongs to another user. One whose
 * environment cannot be read for another reason, or is empty, is ending, or was started manually
 * with an empty environment: eddis starts none without EDDIS_JOB_ID.
 */
static bool is_others(pid_t pid, const char *job_id, char *ret, size_t size)
{
    size_t n = 0;
    cleanup_free char *text = proctree_read(pid, "environ", &n);
    bool forbidden = !text && (errno == EACCES || errno == EPERM);
    const char *other = text ? proctree_value(text, n, "EDDIS_JOB_ID") : NULL;

    if (other ? strcmp(other, job_id) == 0 : !forbidden)
        return false; /* this job's, or no job's */
    if (other)
        (void)snprintf(ret, size, "job %.150s", other);
    else
        (void)snprintf(ret, size, "a job of another user");
    text_strip_control(ret);
    return true;
}

/* Check whether an eddis-probe process measures. With some options it computes nothing. */
static bool is_measuring(pid_t pid)
{
    static const char *const idle[] = { "--kept-only", "--emulate", "--gpus", "--watch-gpus" };
    size_t n = 0;
    cleanup_free char *words = proctree_read(pid, "cmdline", &n);

    for (size_t i = 0; words && i < sizeof idle / sizeof *idle; i++)
        if (has_word(words, n, idle[i]))
            return false;
    return words != NULL;
}

/* ---- all ---- */

/* Check whether the process belongs to this user or root. Processes of other users could have a
 * false name.
 */
static bool is_believed(pid_t pid)
{
    return trust_is_user(proctree_user(pid));
}

/* Check whether a process is in the same network namespace as this process; true if that cannot be
 * read.
 */
static bool is_here(pid_t pid)
{
    struct stat own, its;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    return stat(path, &its) < 0 || stat("/proc/self/ns/net", &own) < 0 ||
           (its.st_dev == own.st_dev && its.st_ino == own.st_ino);
}

/* Check whether one of the n processes belongs to another job; if so, write the job's name to ret.
 * steps: look for Slurm steps, otherwise for eddis processes.
 */
static bool find(const struct proctree_process *all, int n, bool steps, const char *job_id,
                 char *ret, size_t size)
{
    for (int i = 0; i < n; i++) {
        const char *command = all[i].command;
        pid_t pid = all[i].pid;
        bool probe = strcmp(command, "eddis-probe") == 0;

        if (steps ? strcmp(command, "slurmstepd") != 0
                  : !probe && strcmp(command, "eddis-rank") != 0)
            continue;
        if (all[i].ending || !is_believed(pid) || !is_here(pid) || (probe && !is_measuring(pid)))
            continue;
        if (steps ? is_step(pid, ret, size) : is_others(pid, job_id, ret, size))
            return true;
    }
    return false;
}

/* Search Slurm jobs first: their number, which users can look up, is the better name. */
bool neighbours_find(const char *job_id, char *ret, size_t size)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_all(&all, NULL);

    return find(all, n, true, job_id, ret, size) || find(all, n, false, job_id, ret, size);
}
