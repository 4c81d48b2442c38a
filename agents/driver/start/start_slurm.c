/* SPDX-License-Identifier: Apache-2.0 */
/* start_slurm.c - agents on the nodes of a Slurm allocation: srun -> slurmd -> supervisor -> agent
 *
 * One srun serves all nodes of a group.  Its tasks get the same arguments and input, and each line
 * of output carries the task's number.  The step overlaps whatever else runs in the allocation and
 * takes no resources from it.  The end of a task ends no other.  If srun alone is killed, the step
 * ends by itself, because a helper process of srun sees to it.
 */
#include "start_impl.h"

#include "lib/base/exit_code.h"
#include "lib/base/strbuf.h"
#include "lib/base/user_env.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Append srun and its options for a step on n nodes.  Every option is given, because srun reads
 * missing ones from variables that sbatch or the user has set.
 */
static void add_options(const struct start_place *at, int n, struct strlist *ret)
{
    static const char *const always[] = {
        "--overlap",     "--mpi=none",  "--no-kill", "--kill-on-bad-exit=0", "--wait=0",
        "--export=ALL",  "--input=all", "--label",   "--cpu-bind=none",      "--mem=0",
        "--open-mode=t", "--quiet",     "--chdir=/", "--job-name=eddis",     NULL,
    };

    strlist_addf(ret, "srun");
    strlist_addf(ret, "--jobid=%s", at->slurm->job);
    if (at->slurm->groups)
        strlist_addf(ret, "--het-group=%d", at->group);
    strlist_add_all(ret, (char *const *)(uintptr_t)always);
    strlist_addf(ret, "--nodes=%d", n);
    strlist_addf(ret, "--ntasks=%d", n);
    strlist_addf(ret, "--ntasks-per-node=1");
}

/* Append the srun command that runs the supervisor with args on n nodes of a group
 * (start_ops.argv).  Return 0 or a negative error.
 */
static int slurm_argv(const struct start_place *const *at, int n, char *const *args,
                      struct strlist *ret, struct eddis_error *err)
{
    struct strbuf names = { 0 };
    int rc;

    add_options(at[0], n, ret);
    for (int i = 0; i < n; i++)
        strbuf_addf(&names, "%s%s", i ? "," : "", at[i]->name);
    strlist_addf(ret, "--nodelist=%s", strbuf_text(&names));
    rc = start_keeper_command(at[0]->host, args, ret, err);
    if (rc == 0 && names.failed)
        rc = eddis_fail(err, -ENOMEM, "no memory for srun's arguments");
    strbuf_fini(&names);
    return rc;
}

/* Patterns of variables that srun does not get: those that would change how it places or treats the
 * agents, and the devices that Slurm has assigned on this node, since it sets each task's again.
 */
static const char *const steering[] = {
    "SRUN_*",
    "SLURM_ARBITRARY_NODELIST=*",
    "SLURM_BCAST*",
    "SLURM_COMPRESS=*",
    "SLURM_CONTAINER=*",
    "SLURM_CORE_SPEC=*",
    "SLURM_CPUS_PER_*",
    "SLURM_CPU_BIND*",
    "SLURM_CPU_FREQ_REQ=*",
    "SLURM_DEBUG=*",
    "SLURM_DEPENDENCY=*",
    "SLURM_DISTRIBUTION=*",
    "SLURM_DIST_PLANESIZE=*",
    "SLURM_EPILOG=*",
    "SLURM_EXACT=*",
    "SLURM_EXCLUSIVE=*",
    "SLURM_EXIT_*",
    "SLURM_EXPORT_ENV=*",
    "SLURM_GPU*",
    "SLURM_GRES*",
    "SLURM_HINT=*",
    "SLURM_HOSTFILE=*",
    "SLURM_IMMEDIATE=*",
    "SLURM_KILL_BAD_EXIT=*",
    "SLURM_LABELIO=*",
    "SLURM_MEM_*",
    "SLURM_MPI_TYPE=*",
    "SLURM_MULTI_PROG=*",
    "SLURM_NCORES_PER_SOCKET=*",
    "SLURM_NETWORK=*",
    "SLURM_NO_KILL=*",
    "SLURM_NNODES=*",
    "SLURM_NPROCS=*",
    "SLURM_NSOCKETS_PER_NODE=*",
    "SLURM_NTASKS*",
    "SLURM_OPEN_MODE=*",
    "SLURM_OVERCOMMIT=*",
    "SLURM_PROLOG=*",
    "SLURM_PTY_*",
    "SLURM_REMOTE_CWD=*",
    "SLURM_RELATIVE=*",
    "SLURM_RESV_PORTS=*",
    "SLURM_SIGNAL=*",
    "SLURM_SPREAD_JOB=*",
    "SLURM_STD*MODE=*",
    "SLURM_STEPID=*", /* SLURM_STEPMGR (Slurm 24.05 and later) must stay: srun asks there */
    "SLURM_STEP_*",
    "SLURM_TASK_EPILOG=*",
    "SLURM_TASK_PROLOG=*",
    "SLURM_TEST_EXEC=*",
    "SLURM_THREADS*",
    "SLURM_TIMELIMIT=*",
    "SLURM_TRES_PER_TASK=*",
    "SLURM_UNBUFFEREDIO=*",
    "SLURM_USE_MIN_NODES=*",
    "SLURM_WAIT=*",
    "SLURM_WORKING_DIR=*",
    "CUDA_VISIBLE_DEVICES=*",
    "GPU_DEVICE_ORDINAL=*",
    "ROCR_VISIBLE_DEVICES=*",
    "ZE_AFFINITY_MASK=*",
    NULL,
};

/* Append the user's environment without the variables that would change how srun runs the agents;
 * without memory, mark ret as failed (start_ops.environment).
 */
static void slurm_environment(struct strlist *ret)
{
    user_env_add_without(ret, steering);
}

/* Append the scancel command that ends a step (start_ops.cancel). */
static void slurm_cancel(const struct start_place *at, int step, struct strlist *ret)
{
    strlist_addf(ret, "scancel");
    strlist_addf(ret, "%s.%d", slurm_allocation_job(at->slurm, at->group), step);
}

/* Return the part of Slurm's output that says that a job or step is over, a static string; NULL: no
 * part does.
 */
static const char *end_of(const char *said)
{
    static const struct {
        const char *pattern, *words;
    } row[] = {
        { "*Invalid job id*", "Invalid job id" },
        { "*job [0-9]* has expired*", "has expired" }, /* expired tickets also print this */
        { "*already completing or completed*", "already completing or completed" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (fnmatch(row[i].pattern, said, 0) == 0)
            return row[i].words;
    return NULL;
}

/* Return the part of srun's own lines that says that a job or step is over, a static string; NULL:
 * no part does.  Prologs and site scripts print other lines.
 */
static const char *end_of_job(const char *said)
{
    static const char own[] = "srun: ";
    const char *found = NULL;

    for (; *said && !found; said += strcspn(said, "\n"), said += *said == '\n') {
        char line[SESSION_LINE];

        (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(said, "\n"), said);
        if (strncmp(line, own, sizeof own - 1) == 0)
            found = end_of(line);
    }
    return found;
}

/* Check whether the output of scancel says that the step was over already (start_ops.is_over). */
static bool slurm_is_over(const char *said)
{
    return end_of(said) != NULL;
}

/* Write why srun ended before a supervisor answered, to ret.  Return START_GONE if the allocation
 * has ended, else START_GIVE_UP (start_ops.judge).
 */
static enum start_verdict slurm_judge(const struct start_place *at, const struct session *p,
                                      int code, char *ret, size_t size)
{
    static const char prefix[] = "srun: error: ";
    char last[SESSION_LINE];
    const char *words = last, *end = end_of_job(p->said);

    session_last_line(p, last);
    if (strncmp(last, prefix, sizeof prefix - 1) == 0)
        words += sizeof prefix - 1;
    if (code == EXIT_NOT_FOUND || code == EXIT_NOT_EXECUTABLE || strstr(p->said, "execve()"))
        start_say_missing(at, ret, size);
    else if (end)
        (void)snprintf(ret, size,
                       "Slurm's job %s has ended (%s); start the job, or continue it with "
                       "--resume, in another one",
                       at->slurm->job, end);
    else if (code > 128 && !*words)
        (void)snprintf(ret, size, "%.100s: srun was killed by signal %d", at->name, code - 128);
    else
        (void)snprintf(ret, size, "%.100s: srun: %.300s", at->name,
                       *words ? words : "it ended before eddis started, and printed nothing");
    return end ? START_GONE : START_GIVE_UP;
}

const struct start_ops start_slurm = {
    .name = "srun",
    .begins = "srun: starting",
    .logs_in = true,
    .is_shared = true,
    .argv = slurm_argv,
    .environment = slurm_environment,
    .cancel = slurm_cancel,
    .is_over = slurm_is_over,
    .judge = slurm_judge,
};
