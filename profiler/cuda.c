/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.c - list the node's GPUs and measure each in a child process */
#include "cuda.h"

#include "isolate.h"
#include "note.h"

#include "lib/base/clock.h"
#include "lib/model/gpu_share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVML_NS (5 * CLOCK_S) /* time limit of NVML */

/* Running measurements, one child per GPU */
struct cuda_run {
    struct isolated child[PROFILE_MAX_DEVICES];
    int n, first; /* number of children; index of the first GPU in the profile's devices */
};

/* List the GPUs (isolate_fn, in the child; task: enum gpu_maker; result: struct cuda_list). Return
 * 0, or an error of gpu_list.
 */
static int list_task(const void *task, void *result, struct eddis_error *err)
{
    struct cuda_list *list = result;

    return gpu_list(*(const enum gpu_maker *)task, list->gpu, PROFILE_MAX_DEVICES, &list->n, err);
}

/* A GPU to measure */
struct gpu_task {
    const struct gpu_device *gpu;
    bool even_busy; /* measure it although another process keeps it busy */
};

/* Check whether another process keeps the GPU so busy that its speed seems too low. */
static bool is_busy(const struct gpu_device *g)
{
    return g->busy_percent >= GPU_BUSY_PERCENT;
}

/* Measure one GPU (isolate_fn, in the child; task: struct gpu_task; result: struct gpu_metrics).
 * Return 0; -EBUSY: another process keeps it busy, and task->even_busy is not set; or an error of
 * gpu_measure.
 */
static int measure_task(const void *task, void *result, struct eddis_error *err)
{
    const struct gpu_task *t = task;

    if (is_busy(t->gpu) && !t->even_busy)
        return eddis_fail(err, -EBUSY, "%s keeps it %d %% busy", t->gpu->user,
                          t->gpu->busy_percent);
    return gpu_measure(t->gpu, result, err);
}

/* Return how many of the GPUs other processes keep busy. */
static int count_busy(const struct cuda_list *list)
{
    int n = 0;

    for (int i = 0; i < list->n; i++)
        n += is_busy(&list->gpu[i]);
    return n;
}

/* Check whether busy GPUs are measured: there are no others, or jobs share GPUs on purpose. */
static bool is_measured_busy(const struct cuda_list *list)
{
    return count_busy(list) == list->n || gpu_share_is_meant();
}

bool cuda_is_busy(const struct cuda_list *list)
{
    return count_busy(list) > 0;
}

void cuda_note_users(const struct cuda_list *list, struct node_profile *p)
{
    bool measured = is_measured_busy(list);

    for (int i = 0; i < list->n; i++) {
        const struct gpu_device *g = &list->gpu[i];

        if (is_busy(g) && measured)
            note_add(p, "GPU %d: %s keeps it %d %% busy, so its speed may be too low", g->ordinal,
                     g->user, g->busy_percent);
        else if (g->user[0] && !is_busy(g))
            note_add(p, "GPU %d is also used by %s", g->ordinal, g->user);
    }
}

/* Complete the list of GPUs by NVML (isolate_fn, in the child; task and result: struct cuda_list).
 * Return 0.
 */
static int complete_task(const void *task, void *result, struct eddis_error *err)
{
    struct cuda_list *list = result;

    (void)err;
    memcpy(list, task, sizeof *list);
    list->n = gpu_complete(list->gpu, PROFILE_MAX_DEVICES, list->n);
    return 0;
}

/* Note a MIG instance that CUDA lists and NVML does not: there may be others, which CUDA hides. */
static void note_instance(const struct cuda_list *list, struct node_profile *p)
{
    for (int i = 0; i < list->n; i++)
        if (strncmp(list->gpu[i].uuid, "MIG-", 4) == 0 && !list->gpu[i].alone)
            note_add(p,
                     "GPU %d is the only MIG instance that CUDA shows; to use others, set "
                     "CUDA_VISIBLE_DEVICES to their UUIDs (nvidia-smi -L)",
                     list->gpu[i].ordinal);
}

/* Complete the list of GPUs in a child. If NVML crashes or hangs, leave CUDA's list, and add this
 * to the note of p.
 */
static void complete(struct cuda_list *list, struct node_profile *p)
{
    struct eddis_error why = { 0 };
    struct cuda_list all;
    struct isolated child;

    isolate_start(&child, "search for MIG instances and users of GPUs", complete_task, list,
                  sizeof all);
    if (isolate_wait(&child, clock_now_ns() + NVML_NS, &all, &why) >= 0)
        *list = all;
    else
        note_add(p, "%s", why.text);
    note_instance(list, p);
}

/* Take the GPUs found by the search for one maker's, unless another's are listed; then note it. */
static void take(const struct cuda_list *found, struct cuda_list *ret, struct node_profile *p)
{
    if (ret->n == 0)
        *ret = *found;
    else if (found->n > 0)
        note_add(p,
                 "of the GPUs of two makers those of NVIDIA are used; to use those of AMD, set "
                 "CUDA_VISIBLE_DEVICES to an empty value and HIP_VISIBLE_DEVICES to their numbers");
}

int cuda_find(int64_t deadline_ns, struct cuda_list *ret, struct node_profile *p,
              struct eddis_error *err)
{
    static const struct {
        enum gpu_maker maker;
        const char *what;
    } search[GPU_MAKERS] = { { GPU_NVIDIA, "search for GPUs" },
                             { GPU_AMD, "search for AMD GPUs" } };
    struct isolated child[GPU_MAKERS];
    struct eddis_error failed = { 0 }, absent[GPU_MAKERS] = { { 0 } };

    *ret = (struct cuda_list){ .n = 0 };
    for (int i = 0; i < GPU_MAKERS; i++)
        isolate_start(&child[i], search[i].what, list_task, &search[i].maker, sizeof *ret);
    for (int i = 0; i < GPU_MAKERS; i++) {
        struct cuda_list found = { .n = 0 };
        struct eddis_error why = { 0 };
        int rc = isolate_wait(&child[i], deadline_ns, &found, &why);

        if (rc >= 0)
            take(&found, ret, p);
        else if (rc == -ENOENT || rc == -ENODEV || rc == -ENOTSUP)
            absent[i] = why;
        else if (!failed.code)
            failed = why;
    }
    memcpy(ret->absent, absent, sizeof absent);
    for (int i = 0; ret->n > 0 && i < GPU_MAKERS; i++)
        if (absent[i].code == -ENOTSUP)
            note_add(p, "%s", absent[i].text);
    if (ret->n > 0 && failed.code)
        note_add(p, "%s", failed.text);
    else if (failed.code)
        return eddis_fail(err, failed.code, "%s", failed.text);
    if (ret->n > 0)
        complete(ret, p);
    return 0;
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
}

struct cuda_run *cuda_start(const struct cuda_list *list, struct node_profile *p)
{
    struct cuda_run *r = list->n > 0 ? calloc(1, sizeof *r) : NULL;
    struct gpu_task t = { .even_busy = is_measured_busy(list) };

    if (list->n > 0 && !r)
        note_add(p, "no memory to measure the GPUs");
    if (!r)
        return NULL;
    r->first = p->n_devices;
    while (r->n < list->n && p->n_devices < PROFILE_MAX_DEVICES) {
        t.gpu = &list->gpu[r->n];
        append(t.gpu, p);
        isolate_start(&r->child[r->n++], "measurement of a GPU", measure_task, &t,
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
        d->tf32_flops = f.tf32_flops;
        d->bf16_flops = f.bf16_flops;
        d->fp16_flops = f.fp16_flops;
        d->memory_bytes_per_s = f.memory_bytes_per_s;
        d->to_device_bytes_per_s = f.to_device_bytes_per_s;
        d->from_device_bytes_per_s = f.from_device_bytes_per_s;
        if (f.note[0])
            note_add(p, "GPU %d: %s", d->index, f.note);
    }
    free(r);
}
