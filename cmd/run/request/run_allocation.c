/* SPDX-License-Identifier: Apache-2.0 */
/* run_allocation.c - reads the Slurm allocation and checks the job's nodes against it */
#include "run_allocation.h"

#include "lib/base/spawn.h"
#include "lib/base/strbuf.h"
#include "lib/job/job_read.h"
#include "lib/job/job_text.h"
#include "lib/job/types/job_host_keys.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

enum { NAMED = 8 }; /* most nodes that an error names */

/* Append the names of the allocation's nodes, at most `most`, and count the others. */
static void add_names(const struct slurm_allocation *a, size_t most, struct strbuf *b)
{
    for (size_t i = 0; i < a->n && i < most; i++)
        strbuf_addf(b, "%s%s", i ? "," : "", a->node[i].name);
    if (a->n > most)
        strbuf_addf(b, " and %zu more", a->n - most);
}

/* Set the job's key `nodes` to all nodes of the allocation. Those that the job named before keep
 * their settings. Return 0 or a negative error.
 */
static int take_all(struct job *job, const struct slurm_allocation *a, struct eddis_error *err)
{
    cleanup_strbuf struct strbuf names = { 0 };
    struct job_host *before = job->host;
    size_t n = job->n_hosts;
    int rc;

    add_names(a, a->n, &names);
    if (names.failed)
        return eddis_fail(err, -ENOMEM, "no memory for the nodes of the allocation");
    job->host = NULL;
    job->n_hosts = 0;
    rc = job_set_text(job, "nodes", strbuf_text(&names), "the Slurm allocation", err);
    for (size_t i = 0; i < job->n_hosts; i++)
        for (size_t k = 0; k < n; k++)
            if (strcasecmp(job->host[i].host, before[k].host) == 0) {
                struct job_host swapped = before[k];

                before[k] = job->host[i];
                job->host[i] = swapped;
                break;
            }
    job_hosts_free(before, n);
    return rc;
}

/* Set err because the job names `host`, which is not in the allocation. Return -EINVAL. */
static int refuse(const struct job *job, const struct slurm_allocation *a, const char *host,
                  struct eddis_error *err)
{
    cleanup_strbuf struct strbuf names = { 0 };
    int rc;

    add_names(a, NAMED, &names);
    rc = eddis_fail(err, -EINVAL,
                    "node \"%.60s\" is not in the Slurm allocation %s, which has %.150s; name "
                    "some of these nodes, or none to use all of them",
                    host, a->job, strbuf_text(&names));
    return job_fail_origin(job, job->hostfile ? "hostfile" : "nodes", rc, err);
}

int run_allocation(struct job *job, bool resumed, struct slurm_allocation **ret,
                   struct eddis_error *err)
{
    struct slurm_allocation *a = NULL;
    int rc = slurm_allocation_read(slurm_variable_own, NULL, &a, err);

    if (rc <= 0) {
        *ret = NULL;
        return rc;
    }
    rc = 0;
    if (!job->n_hosts || (resumed && job_origin(job, "nodes").kind == JOB_FILE))
        rc = take_all(job, a, err);
    for (size_t i = 0; rc == 0 && i < job->n_hosts; i++)
        if (!slurm_allocation_find(a, job->host[i].host))
            rc = refuse(job, a, job->host[i].host, err);
    if (rc < 0) {
        slurm_allocation_free(a);
        return rc;
    }
    *ret = a;
    return 0;
}

const struct slurm_allocation *run_allocation_of_starts(const struct job *job,
                                                        const struct slurm_allocation *a)
{
    char path[PATH_MAX];

    if (!a || strcmp(job->slurm.launch, "srun") == 0)
        return a;
    if (strcmp(job->slurm.launch, "ssh") == 0)
        return NULL;
    return spawn_find("srun", path, sizeof path, NULL) == 0 ? a : NULL;
}
