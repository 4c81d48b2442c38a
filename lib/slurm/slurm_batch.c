/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_batch.c - read a batch job's name and number of restarts from Slurm's variables */
#include "slurm_batch.h"

#include "lib/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parse the value of the variable `name` as a number from 0 to `most` and store it in *ret.
 * -EINVAL: it is not such a number, or NULL.
 */
static int read_number(const char *name, const char *value, int64_t most, int64_t *ret,
                       struct eddis_error *err)
{
    size_t n = value ? strspn(value, "0123456789") : 0;

    if (!n || value[n] || n > 18 || strtoll(value, NULL, 10) > most)
        return eddis_fail(err, -EINVAL, "%s='%.60s' is not a number from 0 to %" PRId64, name,
                          value ? value : "", most);
    *ret = strtoll(value, NULL, 10);
    return 0;
}

int slurm_batch_read(slurm_variable_fn *variable, void *ctx, struct slurm_batch *ret,
                     struct eddis_error *err)
{
    const char *kind = variable(ctx, "ENVIRONMENT"), *job = variable(ctx, "SLURM_JOB_ID");
    const char *array = variable(ctx, "SLURM_ARRAY_JOB_ID");
    const char *task = variable(ctx, "SLURM_ARRAY_TASK_ID");
    const char *cluster = variable(ctx, "SLURM_CLUSTER_NAME");
    const char *restarts = variable(ctx, "SLURM_RESTART_COUNT"); /* unset in the first start */
    struct slurm_batch b = { .newest = -1 };
    int64_t id = 0, index = 0;
    bool of_array = array && *array && task && *task;
    int rc;

    if (!job || !*job || !kind || strcmp(kind, "BATCH") != 0)
        return 0;
    rc = of_array ? read_number("SLURM_ARRAY_JOB_ID", array, INT64_MAX, &id, err)
                  : read_number("SLURM_JOB_ID", job, INT64_MAX, &id, err);
    if (rc == 0 && of_array)
        rc = read_number("SLURM_ARRAY_TASK_ID", task, INT64_MAX, &index, err);
    if (rc == 0 && restarts && *restarts)
        rc = read_number("SLURM_RESTART_COUNT", restarts, SLURM_MOST_STARTS, &b.restarts, err);
    if (rc < 0)
        return rc;
    if (!cluster || !text_is_name(cluster, SLURM_NAME - 2 * SLURM_ID - sizeof "slurm--"))
        return eddis_fail(err, -EINVAL, "SLURM_CLUSTER_NAME='%.60s' is not a name of a cluster",
                          cluster ? cluster : "");
    /* the array's number without the task's index would stand for all tasks of the array */
    (void)snprintf(b.job, sizeof b.job, "%" PRId64, id);
    if (of_array)
        (void)snprintf(b.job, sizeof b.job, "%" PRId64 "_%" PRId64, id, index);
    (void)snprintf(b.name, sizeof b.name, "slurm-%s-%s", cluster, b.job);
    *ret = b;
    return 1;
}
