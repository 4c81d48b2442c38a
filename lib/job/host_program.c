/* SPDX-License-Identifier: Apache-2.0 */
/* host_program.c - combine what a job and one of its hosts say about the program */
#include "host_program.h"

#include "job_text.h"
#include "lib/base/cleanup.h"
#include "lib/base/crc32.h"
#include "lib/base/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Set the first n variables of a list in an environment; n SIZE_MAX: all. */
static void set_all(struct strlist *env, char *const *list, size_t n)
{
    for (size_t i = 0; list && list[i] && i < n; i++) {
        size_t length = strcspn(list[i], "=");
        cleanup_free char *name = strndup(list[i], length);

        env->failed = env->failed || !name;
        if (name)
            strlist_set(env, name, list[i][length] ? list[i] + length + 1 : "");
    }
}

bool host_program_is_python(const struct job *job)
{
    return !strchr(job->command[0], '/') && program_is_python(job->command[0]);
}

void host_program_place(const struct job *job, const struct job_host *host, char *ret, size_t size)
{
    struct job_origin o = job_origin(job, "nodes");

    /* A node of a Slurm allocation has the settings of the file. */
    if (o.kind != JOB_FLAG || o.flag[0] != '-')
        (void)snprintf(ret, size, "%.200s:%d", job->file ? job->file : "job", host->python_line);
    else
        job_origin_text(job, "nodes", ret, size);
}

int host_program_make(const struct job *job, const struct job_host *host,
                      const struct job_caller *caller, struct host_program *ret,
                      struct eddis_error *err)
{
    struct host_program p = { 0 };
    bool own = host && host->python && host_program_is_python(job);

    strlist_addf(&p.command, "%s", own ? host->python : job->command[0]);
    strlist_add_all(&p.command, job->command + 1);
    strlist_add_all(&p.setup, job->setup);
    strlist_add_all(&p.env, job->env); /* has each name once */
    set_all(&p.env, caller->env, caller->n_passed);
    if (host) {
        strlist_add_all(&p.setup, host->setup);
        set_all(&p.env, host->env, SIZE_MAX);
    }
    if (caller->env)
        set_all(&p.env, caller->env + caller->n_passed, SIZE_MAX);
    if (own)
        host_program_place(job, host, p.from, sizeof p.from);
    if (p.command.failed || p.setup.failed || p.env.failed) {
        host_program_fini(&p);
        return eddis_fail(err, -ENOMEM, "no memory for the program of a node");
    }
    *ret = p;
    return 0;
}

void host_program_fini(struct host_program *p)
{
    strlist_fini(&p->command);
    strlist_fini(&p->setup);
    strlist_fini(&p->env);
}

uint32_t host_program_mark(const struct job_host *host)
{
    uint32_t crc = host->python ? crc32_update(0, host->python, strlen(host->python) + 1) : 0;

    for (char *const *s = host->setup; s && *s; s++)
        crc = crc32_update(crc, *s, strlen(*s) + 1);
    return crc;
}
