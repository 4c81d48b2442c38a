/* SPDX-License-Identifier: Apache-2.0 */
/* run_together.c - checks which options of a run exclude each other */
#include "run_together.h"

#include <errno.h>
#include <stdlib.h>

/* Check the options beside --what-if and --simulate, which start nothing. Return 0 or -EINVAL. */
static int check_what_if(const struct run_request *r, const char *resume, const char *plan,
                         struct eddis_error *err)
{
    const char *other = r->dry_run         ? "--dry-run"
                        : r->profile       ? "--profile"
                        : r->check         ? "--check"
                        : r->detach        ? "--detach"
                        : r->submit        ? "--slurm"
                        : resume           ? "--resume"
                        : plan             ? "--plan"
                        : r->measure_equal ? "--measure-equal"
                                           : NULL;

    if (!other)
        return 0;
    return eddis_fail(err, -EINVAL, "%s and %s exclude each other; give one",
                      r->only_today ? "--simulate" : "--what-if", other);
}

int run_together_check(const struct run_request *r, const char *resume, const char *plan,
                       struct eddis_error *err)
{
    if (r->detach && (r->dry_run || r->profile || r->check))
        return eddis_fail(err, -EINVAL,
                          "--detach: with %s nothing runs in the background; give one of the two",
                          r->dry_run   ? "--dry-run"
                          : r->profile ? "--profile"
                                       : "--check");
    if (r->submit && (r->detach || r->dry_run || r->profile || r->check))
        return eddis_fail(
            err, -EINVAL, "--slurm trains and waits for the job; %s",
            r->detach ? "to submit it only, run eddis-sbatch train.yaml"
                      : "leave it out to use --dry-run, --profile or --check inside a Slurm job");
    if (r->submit && getenv("SLURM_JOB_ID"))
        return eddis_fail(err, -EINVAL,
                          "--slurm: eddis-run already runs inside Slurm's job %.20s; leave --slurm "
                          "out to use that job",
                          getenv("SLURM_JOB_ID"));
    if (r->failed)
        return eddis_fail(err, -EINVAL,
                          "--failed works only with --prune; write --prune 7d --failed");
    if (r->check && (r->dry_run || r->profile))
        return eddis_fail(err, -EINVAL, "--check and %s exclude each other; give one",
                          r->dry_run ? "--dry-run" : "--profile");
    return r->what_if ? check_what_if(r, resume, plan, err) : 0;
}
