/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours.c - looks for steps of Slurm's, and for probes and ranks, of other jobs */
#include "neighbours.h"

#include "lib/base/cleanup.h"
#include "lib/base/proctree.h"
#include "lib/base/text.h"
#include "lib/base/trust.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The value of a variable in a text as /proc/PID/environ is; NULL: it is not there. */
static const char *value_of(const char *text, size_t n, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = text; at < text + n; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

static bool has_word(const char *text, size_t n, const char *word)
{
    for (const char *at = text; at < text + n; at += strlen(at) + 1)
        if (strcmp(at, word) == 0)
            return true;
    return false;
}

/* ---- jobs of Slurm ---- */

/* The number in "slurmstepd: [12.batch]"; 0: there is none. */
static long step_job(pid_t pid)
{
    cleanup_free char *title = proctree_read(pid, "cmdline", NULL);
    const char *number = title ? strchr(title, '[') : NULL;

    return number ? strtol(number + 1, NULL, 10) : 0;
}

/* Of a heterogeneous job each component has a number, in SLURM_JOB_ID_HET_GROUP_1 and so on. */
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

static bool is_own(long job)
{
    pid_t above = proctree_above("slurmstepd");

    return in_environment(job) || (above && step_job(above) == job) || in_control_group(job);
}

static bool is_step(pid_t pid, char *ret, size_t size)
{
    long job = step_job(pid);

    if (job <= 0 || is_own(job))
        return false;
    (void)snprintf(ret, size, "job %ld of Slurm", job);
    return true;
}

/* ---- jobs of eddis ---- */

/* Whether it belongs to another job.  What this user may not look at does: this job is his. */
static bool is_others(pid_t pid, const char *job_id, char *ret, size_t size)
{
    size_t n = 0;
    cleanup_free char *text = proctree_read(pid, "environ", &n);
    const char *other = text ? value_of(text, n, "EDDIS_JOB_ID") : NULL;

    if (text && (!other || strcmp(other, job_id) == 0))
        return false; /* no job's: started by hand */
    if (other)
        (void)snprintf(ret, size, "job %.150s", other);
    else
        (void)snprintf(ret, size, "a job of another user's");
    text_strip_control(ret);
    return true;
}

/* One that takes a kept profile computes nothing, nor does one for emulated devices. */
static bool is_measuring(pid_t pid)
{
    size_t n = 0;
    cleanup_free char *words = proctree_read(pid, "cmdline", &n);

    return words && !has_word(words, n, "--kept-only") && !has_word(words, n, "--emulate");
}

/* ---- all ---- */

static bool is_believed(pid_t pid)
{
    return trust_is_user(proctree_user(pid));
}

/* Of a process that we may not look at we believe that it is. */
static bool is_here(pid_t pid)
{
    struct stat own, its;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
    return stat(path, &its) < 0 || stat("/proc/self/ns/net", &own) < 0 ||
           (its.st_dev == own.st_dev && its.st_ino == own.st_ino);
}

/* The first of these processes that is another job's. */
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

/* Slurm's number is what people can ask for. */
bool neighbours_find(const char *job_id, char *ret, size_t size)
{
    cleanup_free struct proctree_process *all = NULL;
    int n = proctree_all(&all, NULL);

    return find(all, n, true, job_id, ret, size) || find(all, n, false, job_id, ret, size);
}
