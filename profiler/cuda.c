/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - list the node's GPUs and measure each in a child process */
#include "cuda.h"

#include "isolate.h"
#include "note.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUSY_PERCENT = 10 }; /* of the time, at which a GPU is too busy to be measured */

/* Running measurements, one child per GPU */
struct cuda_run {
    struct isolated child[PROFILE_MAX_DEVICES];
    int n, first; /* number of children; index of the first GPU in the profile's devices */
};

/* List the GPUs (isolate_fn, in the child; no task; result: struct cuda_list). Return 0, or an
 * error of gpu_list.
 */
static int list_task(const void *task, void *result, struct eddis_error *err)
{
    struct cuda_list *list = result;

    return gpu_list(list->gpu, PROFILE_MAX_DEVICES, &list->n, err);
}

/* Measure one GPU (isolate_fn, in the child; task: struct gpu_device; result: struct gpu_metrics).
 * Return 0; -EBUSY: another process keeps it busy, so that its speed would seem too low; or an
 * error of gpu_measure.
 */
static int measure_task(const void *task, void *result, struct eddis_error *err)
{
    const struct gpu_device *gpu = task;

    if (gpu->busy_percent >= BUSY_PERCENT)
        return eddis_fail(err, -EBUSY, "%s keeps it %d %% busy", gpu->user, gpu->busy_percent);
    return gpu_measure(gpu, result, err);
}

int cuda_find(int64_t deadline_ns, struct cuda_list *ret, struct node_profile *p,
              struct eddis_error *err)
{
    struct eddis_error why = { 0 };
    struct isolated child;
    int rc;

    isolate_start(&child, "search for GPUs", list_task, NULL, sizeof *ret);
    rc = isolate_wait(&child, deadline_ns, ret, &why);
    if (rc >= 0)
        return 0;
    ret->n = 0;
    if (rc == -ENOTSUP)
        note_add(p, "no GPU is used: %s", why.text);
    if (rc == -ENOENT || rc == -ENODEV || rc == -ENOTSUP)
        return 0;
    return eddis_fail(err, rc, "%s", why.text);
}

/* Append a GPU to the profile's devices, with measurements NAN. */
static void append(const struct gpu_device *g, struct node_profile *p)
{
    struct device *d = &p->device[p->n_devices++];

    *d = device_unmeasured(DEVICE_CUDA, g->ordinal, -1);
    d->memory_bytes = g->memory_bytes;
    d->driver_version = g->driver_version;
    (void)snprintf(d->id, sizeof d->id, "%s", g->uuid);
    (void)snprintf(d->name, sizeof d->name, "%s", g->name);
    (void)snprintf(d->pci, sizeof d->pci, "%s", g->pci);
    if (g->user[0] && g->busy_percent < BUSY_PERCENT)
        note_add(p, "GPU %d is also used by %s", g->ordinal, g->user);
}

struct cuda_run *cuda_start(const struct cuda_list *list, struct node_profile *p)
{
    struct cuda_run *r = list->n > 0 ? calloc(1, sizeof *r) : NULL;

    if (list->n > 0 && !r)
        note_add(p, "no memory to measure the GPUs");
    if (!r)
        return NULL;
    r->first = p->n_devices;
    while (r->n < list->n && p->n_devices < PROFILE_MAX_DEVICES) {
        const struct gpu_device *g = &list->gpu[r->n];

        append(g, p);
        isolate_start(&r->child[r->n++], "measurement of a GPU", measure_task, g,
                      sizeof(struct gpu_metrics));
    }
    return r;
}

void cuda_finish(struct cuda_run *r, int64_t deadline_ns, struct node_profile *p)
{
    for (int i = 0; r && i < r->n; i++) {
        struct device *d = &p->device[r->first + i];
        struct eddis_error err = { 0 };
        struct gpu_metrics f;

        if (isolate_wait(&r->child[i], deadline_ns, &f, &err) < 0) {
            note_add(p, "GPU %d: %s", d->index, err.text);
            continue;
        }
        d->fp32_flops = f.fp32_flops;
        d->fp16_flops = f.fp16_flops;
        d->memory_bytes_per_s = f.memory_bytes_per_s;
        d->to_device_bytes_per_s = f.to_device_bytes_per_s;
        d->from_device_bytes_per_s = f.from_device_bytes_per_s;
        if (f.note[0])
            note_add(p, "GPU %d: %s", d->index, f.note);
    }
    free(r);
}
