/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - what follows from a job's values */
#include "job.h"

struct job_ssh job_host_ssh(const struct job *job, const struct job_host *host)
{
    struct job_ssh s = host->ssh;

    if (!s.user)
        s.user = job->ssh.user;
    if (!s.port)
        s.port = job->ssh.port;
    if (!s.identity)
        s.identity = job->ssh.identity;
    if (!s.command || !s.command[0])
        s.command = job->ssh.command;
    return s;
}

bool job_period_is_never(const struct job_period *p)
{
    return p->steps == 0 && p->ns == 0;
}
