/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - what follows from a job's values */
#include "job.h"

#include "trainer_name.h"

bool job_period_is_never(const struct job_period *p)
{
    return p->steps == 0 && p->ns == 0;
}

bool job_runs_trainer(const struct job *job)
{
    return job->command && trainer_is(job->command[0]);
}
