/* SPDX-License-Identifier: Apache-2.0 */
/* job_cleanup.c - end what a dead job has left on every node that it used */
#include "job_cleanup.h"

#include "host_cleanup.h"

#include "agents/job/node_list.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Time limit for one node. */
static const int64_t node_ns = 60 * CLOCK_S;

/* Check that the job's driver has ended.  Return 0 if so, -EBUSY if it runs, -EREMOTE if it ran on
 * another machine.
 */
static int check_over(const struct job_folder *f, struct eddis_error *err)
{
    struct job_driver d;
    int rc = job_driver_read(f, &d, err);

    explicit_bzero(d.token, sizeof d.token);
    explicit_bzero(d.owner, sizeof d.owner);
    if (rc == -EREMOTE)
        return rc;
    if (rc == 1)
        return eddis_fail(err, -EBUSY, "job %s is running (pid %d); end it with --stop", f->id,
                          (int)d.pid);
    return 0;
}

/* Check whether all nodes of the list belong to the allocation. */
static bool are_of(const struct node_list *j, const struct slurm_allocation *slurm)
{
    for (size_t i = 0; i < j->n; i++)
        if (!slurm_allocation_find(slurm, j->node[i].host.host))
            return false;
    return true;
}

/* Clean up all nodes of the list, by srun if all belong to the allocation.  Return the number of
 * nodes that are not clean, or a negative error.  Blocks.
 */
static int clean_list(const struct node_list *j, const struct slurm_allocation *slurm,
                      host_cleanup_say_fn say, void *ctx, struct eddis_error *err)
{
    cleanup_free struct job_host *host = calloc(j->n, sizeof *host);
    cleanup_free char *const **mark = calloc(j->n, sizeof *mark);
    const struct host_cleanup c = { .start = { .host = host,
                                               .n = (int)j->n,
                                               .slurm = slurm && are_of(j, slurm) ? slurm : NULL,
                                               .launch_ns = node_ns },
                                    .job_id = j->job_id,
                                    .mark = mark,
                                    .node_ns = node_ns,
                                    .deadline_ns = CLOCK_NEVER,
                                    .stop = -1,
                                    .say = say,
                                    .ctx = ctx };

    if (!host || !mark)
        return eddis_fail(err, -ENOMEM, "no memory to clean up");
    for (size_t i = 0; i < j->n; i++) {
        host[i] = j->node[i].host;
        mark[i] = j->node[i].mark;
    }
    return host_cleanup(&c, err);
}

int job_cleanup(const struct job_folder *f, bool dead, const struct slurm_allocation *slurm,
                host_cleanup_say_fn say, void *ctx, struct eddis_error *err)
{
    struct node_list *j = NULL;
    int rc = dead ? 0 : check_over(f, err);

    if (rc == 0)
        rc = node_list_read(f, &j, err);
    if (rc == 0)
        rc = clean_list(j, slurm, say, ctx, err);
    node_list_free(j);
    return rc;
}
