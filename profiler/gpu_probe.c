/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_probe.c - read links, power cap and modes of GPUs in a child process */
#include "gpu_probe.h"

#include "lib/base/cleanup.h"
#include "lib/topo/near_nic.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

/* What the child gets */
struct task {
    const struct cuda_list *list;
    const volatile int64_t *until_ns; /* time at which it stops to look, shared with the parent */
};

/* What the child returns */
struct found {
    struct gpu_facts gpu[PROFILE_MAX_DEVICES];
    int n;
};

/* Read the GPUs (isolate_fn, in the child; task: struct task; result: struct found). Return 0. */
static int read_task(const void *task, void *result, struct eddis_error *err)
{
    const struct task *t = task;
    struct found *f = result;

    (void)err;
    f->n = gpu_read_facts(t->list->gpu, t->list->n, t->until_ns, f->gpu);
    return 0;
}

void gpu_probe_start(struct gpu_probe *g, const struct cuda_list *list, int64_t deadline_ns)
{
    void *shared = list->n > 0 ? mmap(NULL, sizeof *g->until_ns, PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                               : MAP_FAILED;

    *g = (struct gpu_probe){ .n = 0 };
    if (shared == MAP_FAILED)
        return;
    g->n = list->n;
    g->until_ns = shared;
    *g->until_ns = deadline_ns;
    isolate_start(&g->child, "look at the GPUs", read_task, &(struct task){ list, g->until_ns },
                  sizeof(struct found));
}

void gpu_probe_finish(struct gpu_probe *g, int64_t deadline_ns, struct node_profile *p)
{
    cleanup_free struct found *f = calloc(1, sizeof *f);
    int k = 0, rc;

    if (g->n == 0)
        return;
    *g->until_ns = 0; /* the GPUs have worked */
    rc = f ? isolate_wait(&g->child, deadline_ns, f, NULL) : -ENOMEM;
    (void)munmap((void *)(uintptr_t)g->until_ns, sizeof *g->until_ns);
    for (int i = 0; rc >= 0 && i < p->n_devices && k < f->n; i++) {
        struct device *d = &p->device[i];

        if (d->kind != DEVICE_CUDA)
            continue;
        d->gpu = f->gpu[k++];
        if (d->gpu.known)
            near_nic_find("", d->pci, d->gpu.nic, sizeof d->gpu.nic);
    }
}
