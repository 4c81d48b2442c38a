/* SPDX-License-Identifier: Apache-2.0 */
/* bundles.c - join GPUs to devices of several GPUs */
#include "bundles.h"

#include "cpus.h"
#include "devices.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Check whether the device is a whole GPU that a worker can use. */
static bool is_usable(const struct node_profile *node, const struct device *d)
{
    return devices_has_worker(node, d) &&
           (strncmp(d->id, "GPU-", 4) == 0 || strncmp(d->id, "HIP-", 4) == 0);
}

/* Store in ret [n] the first unused GPU and n - 1 like it, those of its NUMA node first. used
 * [n_devices]: marks of GPUs in bundles. Return false if there are too few like this one.
 */
static bool choose(const struct node_profile *node, const bool *used, int first, int n, int *ret)
{
    const struct device *like = &node->device[first];
    int found = 1;

    ret[0] = first;
    for (int near = 1; near >= 0; near--)
        for (int i = first + 1; i < node->n_devices && found < n; i++) {
            const struct device *d = &node->device[i];

            if (!used[i] && is_usable(node, d) && strcmp(d->name, like->name) == 0 &&
                (d->numa == like->numa) == near)
                ret[found++] = i;
        }
    return found == n;
}

/* Rates that several GPUs have together, as offsets in struct device */
static const size_t rates[] = {
    offsetof(struct device, fp32_flops),
    offsetof(struct device, tf32_flops),
    offsetof(struct device, bf16_flops),
    offsetof(struct device, fp16_flops),
    offsetof(struct device, memory_bytes_per_s),
    offsetof(struct device, to_device_bytes_per_s),
    offsetof(struct device, from_device_bytes_per_s),
};

enum { N_RATES = sizeof rates / sizeof *rates };

/* Return the i-th rate of a device. */
static double *rate_of(struct device *d, int i)
{
    return (double *)((char *)d + rates[i]);
}

/* Return the lesser rate; NAN if one is unknown. */
static double lesser(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmin(a, b);
}

/* Set the processors of a bundle to those of all its GPUs; those of the first if the list is too
 * long or not known for all.
 */
static void join_cpus(const struct node_profile *node, const int *gpu, int n, struct device *d)
{
    char all[PROFILE_MAX_BUNDLE * sizeof d->cpus] = "";
    int cpu[CPUS_MAX], count;
    char list[sizeof d->cpus];

    for (int i = 0; i < n; i++) {
        const char *cpus = node->device[gpu[i]].cpus;

        if (!*cpus)
            return;
        text_append(all, sizeof all, "%s%s", i ? "," : "", cpus);
    }
    count = cpus_parse(all, cpu, NULL);
    if (count > 0 && cpus_format(cpu, count, list, sizeof list, NULL) == 0)
        memcpy(d->cpus, list, sizeof list);
}

/* Return the device of n GPUs of the node. */
static struct device join(const struct node_profile *node, const int *gpu, int n)
{
    struct device d = node->device[gpu[0]];

    for (int i = 1; i < n; i++) {
        struct device o = node->device[gpu[i]];

        text_append(d.id, sizeof d.id, ",%s", o.id);
        d.numa = d.numa == o.numa ? d.numa : -1;
        d.memory_bytes = o.memory_bytes < d.memory_bytes ? o.memory_bytes : d.memory_bytes;
        for (int r = 0; r < N_RATES; r++)
            *rate_of(&d, r) = lesser(*rate_of(&d, r), *rate_of(&o, r));
    }
    d.memory_bytes *= n;
    for (int r = 0; r < N_RATES; r++)
        *rate_of(&d, r) *= n;
    (void)snprintf(d.name, sizeof d.name, "%d x %.80s", n, node->device[gpu[0]].name);
    join_cpus(node, gpu, n, &d);
    return d;
}

/* Append to the node's note which usable GPUs and MIG instances are in no bundle. */
static void remark_left(struct node_profile *node, const bool *used, int n)
{
    char gpus[128] = "";
    int left = 0, parts = 0;

    for (int i = 0; i < node->n_devices; i++) {
        const struct device *d = &node->device[i];

        if (!used[i] && is_usable(node, d))
            text_append(gpus, sizeof gpus, "%s%d", left++ ? ", " : "", d->index);
        parts += d->kind == DEVICE_CUDA && strncmp(d->id, "MIG-", 4) == 0;
    }
    if (left)
        text_append(node->note, sizeof node->note,
                    "%sGPU%s %s stay%s idle, because gpus_per_worker is %d and no other GPU of the "
                    "same kind is left",
                    node->note[0] ? "; " : "", left == 1 ? "" : "s", gpus, left == 1 ? "s" : "", n);
    if (parts)
        text_append(node->note, sizeof node->note,
                    "%s%d MIG instance%s no worker, because gpus_per_worker is %d and CUDA shows a "
                    "process only one",
                    node->note[0] ? "; " : "", parts, parts == 1 ? " gets" : "s get", n);
}

/* Replace the node's GPUs by the n_bundles devices. */
static void replace(struct node_profile *node, const struct device *bundle, int n_bundles)
{
    int kept = 0;

    for (int i = 0; i < node->n_devices; i++)
        if (node->device[i].kind != DEVICE_CUDA)
            node->device[kept++] = node->device[i];
    memcpy(&node->device[kept], bundle, (size_t)n_bundles * sizeof *bundle);
    node->n_devices = kept + n_bundles;
}

int bundles_make(struct node_profile *node, int64_t n, struct eddis_error *err)
{
    cleanup_free struct device *bundle = NULL;
    bool used[PROFILE_MAX_DEVICES] = { false };
    int gpu[PROFILE_MAX_BUNDLE], made = 0;

    if (n <= 1)
        return 0;
    if (devices_kind(node) != DEVICE_CUDA)
        return eddis_fail(err, -EINVAL,
                          "gpus_per_worker is %d, but the workers of node '%s' run on %s; remove "
                          "gpus_per_worker, or the node",
                          (int)n, node->host,
                          devices_kind(node) == DEVICE_CPU ? "its CPUs" : "emulated devices");
    bundle = calloc(PROFILE_MAX_DEVICES, sizeof *bundle);
    if (!bundle)
        return eddis_fail(err, -ENOMEM, "no memory to join GPUs");
    for (int i = 0; i < node->n_devices; i++) {
        if (used[i] || !is_usable(node, &node->device[i]) || !choose(node, used, i, (int)n, gpu))
            continue;
        bundle[made++] = join(node, gpu, (int)n);
        for (int k = 0; k < n; k++)
            used[gpu[k]] = true;
    }
    if (made == 0)
        return eddis_fail(err, -EINVAL,
                          "gpus_per_worker is %d, but node '%s' has no %d usable GPUs of the same "
                          "kind; lower gpus_per_worker, or remove the node",
                          (int)n, node->host, (int)n);
    remark_left(node, used, (int)n);
    replace(node, bundle, made);
    node->bundle = (int)n;
    return 0;
}
