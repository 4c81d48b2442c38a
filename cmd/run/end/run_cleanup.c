/* SPDX-License-Identifier: Apache-2.0 */
/* run_cleanup.c - ends what a dead job left on its hosts, and prints a line for each host */
#include "run_cleanup.h"

#include "agents/driver/start/job_cleanup.h"
#include "agents/job/driver_socket.h"
#include "agents/job/log_marker.h"
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

/* Print what the cleanup of one host has reported: on standard output if the host is clean (nothing
 * if quiet), else on standard error. A callback of job_cleanup, on its caller's thread; ctx: bool,
 * quiet.
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

/* If the driver is gone, remove its files: driver.json, the reserve and what it was writing in the
 * job's folder, the marker in its own log folder, and its socket, which may lie elsewhere although
 * driver.json does not say so yet. dead: a driver on another machine is gone, too.
 */
static void remove_own(const struct job_folder *f, bool dead)
{
    static const char *const names[] = { JOB_DRIVER_FILE, JOB_RESERVE_FILE };
    cleanup_free char *logs = file_join(f->path, "logs");
    struct job_driver d;
    int rc = job_driver_read(f, &d, NULL);

    driver_socket_sweep(f, getenv("XDG_RUNTIME_DIR"));
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
    file_remove_parts(f->path);
    if (logs)
        log_marker_remove_all(logs);
}

/* Return the value of an environment variable, or NULL if it is not set. Report SLURM_STEP_ID as
 * not set: the step that this process runs in is no allocation. A callback of
 * slurm_allocation_read.
 */
static const char *variable(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "SLURM_STEP_ID") == 0 ? NULL : getenv(name);
}

/* Print that Slurm has ended the job's processes on the `left` nodes that were not reached, but
 * that eddis's folders may remain there.
 */
static void say_over(int left, const struct job_folder *f)
{
    fprintf(
        stderr,
        "eddis-run: Slurm ended the processes of job %s on %s when it ended its own job; the next "
        "eddis job there, or --cleanup inside an allocation, removes the folders that remain\n",
        f->id, left == 1 ? "that node" : "those nodes");
}

/* Return the Slurm allocation that this process runs in, if the job starts its agents by srun in
 * it; the caller frees it. NULL: no allocation, agents start by ssh, or job.yaml cannot be read.
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
