/* SPDX-License-Identifier: Apache-2.0 */
/* worker_key.c - planner_key of planner.h: the key of what the speed and memory of a worker depend
 * on
 */
#include "planner.h"

#include <stdio.h>
#include <string.h>

void planner_key(const char *host, const struct node_profile *node, const struct plan_worker *w,
                 char ret[PLANNER_KEY])
{
    const struct device *d = NULL;
    char software[16] = "";

    for (int i = 0; i < node->n_devices && !d; i++)
        if (strcmp(node->device[i].id, w->device_id) == 0)
            d = &node->device[i];
    if (node->software)
        snprintf(software, sizeof software, "|%08x", node->software);
    snprintf(ret, PLANNER_KEY, "%s|%s|%s|%s|%d|%s|%d|%.2f|%lld|%lld%s", host, node->machine_id,
             w->device_id, d ? d->name : "", d ? d->driver_version : 0, w->cpus, w->local_rank,
             node->cpu_quota, (long long)node->memory_bytes, (long long)node->memory_limit,
             software);
}
