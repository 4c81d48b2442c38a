/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - what follows from a job's values */
#include "job.h"

#include <string.h>

bool job_period_is_never(const struct job_period *p)
{
    return p->steps == 0 && p->ns == 0;
}

bool job_runs_trainer(const struct job *job)
{
    const char *program = job->command && job->command[0] ? job->command[0] : "";
    const char *name = strrchr(program, '/');

    return strcmp(name ? name + 1 : program, "eddis-train") == 0;
}
