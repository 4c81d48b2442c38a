/* SPDX-License-Identifier: Apache-2.0 */
/* run_cleanup.c - ends what a dead job left on its hosts, and prints a line for each host */
#include "run_cleanup.h"

#include "agents/driver/start/job_cleanup.h"
#include "cmd/run/request/run_allocation.h"
#include "lib/base/cleanup.h"
#include "lib/base/file.h"
#include "lib/job/job_read.h"
#include "lib/model/job.h"
#include "lib/slurm/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Print the result of one host: to standard output if it is clean, else to standard error. A
 * callback of job_cleanup; ctx: quiet.
 */
static void on_host(void *ctx, int i, const char *host, enum host_cleanup_result result,
                    const char *text)
{
    const bool *quiet = ctx;
    /* A sentence about a login already begins with the host. */
    bool named = strncmp(text, host, strlen(host)) == 0 && text[strlen(host)] == ':';

    (void)i;
    if (result == HOST_CLEAN && !*quiet)
        printf("%s: %s\n", host, text);
    else if (result != HOST_CLEAN)
        fprintf(stderr, "eddis-run: %s%s%s\n", named ? "" : host, named ? "" : ": ", text);
}

/* Remove the driver's own files and its socket, which may lie outside of the job's folder, if the
 * driver is gone. dead: it is, even if it ran on another machine.
 */
static void remove_own(const struct job_folder *f, bool dead)
{
    static const char *const names[] = { JOB_DRIVER_FILE, JOB_RESERVE_FILE };
    struct job_driver d;
    int rc = job_driver_read(f, &d, NULL);

    explicit_bzero(d.token, sizeof d.token);
    explicit_bzero(d.owner, sizeof d.owner);
    if (rc != 0 && !(dead && rc == -EREMOTE))
        return;
    if (*d.socket == '/')
        (void)unlink(d.socket);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path = file_join(f->path, "%s", names[i]);

        if (path)
            (void)unlink(path);
    }
}

/* Return an environment variable as the driver saw it, without SLURM_STEP_ID: our own step is no
 * allocation. A callback.
 */
static const char *variable(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "SLURM_STEP_ID") == 0 ? NULL : getenv(name);
}

/* Print that Slurm has ended the job's processes on unreachable nodes, while folders there may be
 * left.
 */
static void say_over(int left, const struct job_folder *f)
{
    fprintf(
        stderr,
        "eddis-run: Slurm ended the processes of job %s on %s when it ended its own job; the next "
        "eddis job there, or --cleanup inside an allocation, removes the folders that remain\n",
        f->id, left == 1 ? "that node" : "those nodes");
}

/* Return the allocation that we run in, if the job starts its agents by steps of it; the caller
 * frees it. NULL: it does not.
 */
static struct slurm_allocation *allocation(const struct job_folder *f)
{
    cleanup_free char *path = file_join(f->path, "job.yaml");
    struct slurm_allocation *a = NULL;
    struct job *job = NULL;

    if (path && job_read(path, &job, NULL) == 0 &&
        slurm_allocation_read(variable, NULL, &a, NULL) == 1 && !run_allocation_of_starts(job, a)) {
        slurm_allocation_free(a);
        a = NULL;
    }
    job_free(job);
    return a;
}

int run_cleanup(const struct job_folder *f, bool dead, bool over, bool quiet,
                struct eddis_error *err)
{
    struct slurm_allocation *slurm = allocation(f);
    int rc = job_cleanup(f, dead, slurm, on_host, &quiet, err);

    slurm_allocation_free(slurm);
    if (rc == 0)
        remove_own(f, dead);
    if (rc > 0 && over)
        say_over(rc, f);
    return rc;
}
