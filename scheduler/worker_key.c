/* SPDX-License-Identifier: Apache-2.0 */
/* worker_key.c - the keys of planner.h: what the speed and memory of a worker, or a card, depend on
 */
#include "planner.h"

#include <stdio.h>
#include <string.h>

/* Format "|" and the number of the node's software to ret, or "" if it has none. */
static void software_of(const struct node_profile *node, char ret[16])
{
    ret[0] = '\0';
    if (node->software)
        snprintf(ret, 16, "|%08x", node->software);
}

void planner_card_key(const struct node_profile *node, const struct device *card,
                      char ret[PLANNER_KEY])
{
    char software[16];

    software_of(node, software);
    snprintf(ret, PLANNER_KEY, "%s%s", card->name, software);
}

void planner_key(const char *host, const struct node_profile *node, const struct plan_worker *w,
                 char ret[PLANNER_KEY])
{
    const struct device *d = NULL;
    char software[16];

    for (int i = 0; i < node->n_devices && !d; i++)
        if (strcmp(node->device[i].id, w->device_id) == 0)
            d = &node->device[i];
    software_of(node, software);
    snprintf(ret, PLANNER_KEY, "%s|%s|%s|%s|%d|%s|%d|%.2f|%lld|%lld%s", host, node->machine_id,
             w->device_id, d ? d->name : "", d ? d->driver_version : 0, w->cpus,
             w->local_rank + w->skipped, node->cpu_quota, (long long)node->memory_bytes,
             (long long)node->memory_limit, software);
}
