/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_probe.c - read links, power cap and modes of GPUs in a child process */
#include "gpu_probe.h"

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/topo/near_nic.h"

#include <stdlib.h>

#define WAKE_NS CLOCK_S /* longest wait for the links of GPUs that begin to work */

/* What the child returns */
struct found {
    struct gpu_facts gpu[PROFILE_MAX_DEVICES];
    int n;
};

/* Read the GPUs (isolate_fn, in the child; task: struct cuda_list; result: struct found). Return 0.
 */
static int read_task(const void *task, void *result, struct eddis_error *err)
{
    const struct cuda_list *list = task;
    struct found *f = result;

    (void)err;
    f->n = gpu_read_facts(list->gpu, list->n, clock_now_ns() + WAKE_NS, f->gpu);
    return 0;
}

void gpu_probe_start(struct gpu_probe *g, const struct cuda_list *list)
{
    g->n = list->n;
    if (g->n > 0)
        isolate_start(&g->child, "look at the GPUs", read_task, list, sizeof(struct found));
}

void gpu_probe_finish(struct gpu_probe *g, int64_t deadline_ns, struct node_profile *p)
{
    cleanup_free struct found *f = calloc(1, sizeof *f);
    int k = 0;

    if (!f || g->n == 0 || isolate_wait(&g->child, deadline_ns, f, NULL) < 0)
        return;
    for (int i = 0; i < p->n_devices && k < f->n; i++) {
        struct device *d = &p->device[i];

        if (d->kind != DEVICE_CUDA)
            continue;
        d->gpu = f->gpu[k++];
        if (d->gpu.known)
            near_nic_find("", d->pci, d->gpu.nic, sizeof d->gpu.nic);
    }
}
