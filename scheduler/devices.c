/* SPDX-License-Identifier: Apache-2.0 */
/* devices.c - choose the devices that get workers */
#include "devices.h"

#include "lib/base/text.h"
#include "time_model.h"

#include <stdio.h>

enum device_kind devices_kind(const struct node_profile *node)
{
    if (profile_count(node, DEVICE_EMULATED) > 0)
        return DEVICE_EMULATED;
    return profile_count(node, DEVICE_CUDA) > 0 && !node->cpus_only ? DEVICE_CUDA : DEVICE_CPU;
}

/* Check whether some GPU of the node has a measurement. */
static bool has_measured_gpu(const struct node_profile *node)
{
    for (int i = 0; i < node->n_devices; i++)
        if (node->device[i].kind == DEVICE_CUDA &&
            time_model_figures(&node->device[i], PRECISION_FP32))
            return true;
    return false;
}

bool devices_has_worker(const struct node_profile *node, const struct device *d)
{
    if (d->kind != devices_kind(node))
        return false;
    return d->kind != DEVICE_CUDA || time_model_figures(d, PRECISION_FP32) ||
           !has_measured_gpu(node);
}

int devices_count(const struct node_profile *node)
{
    int n = 0;

    for (int i = 0; i < node->n_devices; i++)
        n += devices_has_worker(node, &node->device[i]);
    return n;
}

unsigned devices_figures(const struct node_profile *nodes, int n_nodes, enum precision precision,
                         const struct device **ret_lacks)
{
    unsigned common = TIME_MODEL_ALL, some = 0, all;
    const struct device *lacks = NULL;

    for (int i = 0; i < n_nodes; i++)
        for (int j = 0; j < nodes[i].n_devices; j++) {
            const struct device *d = &nodes[i].device[j];
            unsigned figures = time_model_figures(d, precision);

            if (d->kind == DEVICE_EMULATED || !figures || !devices_has_worker(&nodes[i], d))
                continue;
            common &= figures;
            some |= figures;
            if (!lacks && figures != TIME_MODEL_ALL)
                lacks = d;
        }
    /* A rate in the precision is missing also if no device has one. */
    all = some | (some & TIME_MODEL_PRODUCT ? TIME_MODEL_PRECISE : 0);
    if (ret_lacks)
        *ret_lacks = all & ~common ? lacks : NULL;
    return common;
}

/* Append a sentence about device d to the node's note: before, the device, after. */
static void remark(struct node_profile *node, const struct device *d, const char *before,
                   const char *after)
{
    text_append(node->note, sizeof node->note, "%s%s%s %d%s", node->note[0] ? "; " : "", before,
                d->kind == DEVICE_CUDA ? "GPU" : "NUMA node", d->index, after);
}

/* Append to the node's note how many GPUs get no worker although they can be used. */
static void remark_idle(struct node_profile *node, int64_t workers_per_node)
{
    int gpus = profile_count(node, DEVICE_CUDA), usable = devices_count(node);
    int each = node->bundle ? node->bundle : 1;
    int64_t workers = node->workers ? node->workers : workers_per_node;
    const char *next = node->note[0] ? "; " : "";

    if (devices_kind(node) == DEVICE_CPU && gpus > 0)
        text_append(node->note, sizeof node->note,
                    "%seddis-train computes on the CPUs, so %d GPU%s no worker", next, gpus,
                    gpus == 1 ? " gets" : "s get");
    else if (devices_kind(node) == DEVICE_CUDA && workers > 0 && workers < usable)
        text_append(node->note, sizeof node->note,
                    "%s%lld of %d GPUs stay%s idle, because the job asks for %lld worker%s here",
                    next, (long long)(usable - workers) * each, usable * each,
                    (usable - workers) * each == 1 ? "s" : "", (long long)workers,
                    workers == 1 ? "" : "s");
}

/* Append to ret [size] which GPUs of the node have no products of matrices in this precision.
 * times: the plan is by measured times, not by rates.
 */
static void add_lacking(const struct node_profile *node, enum precision precision, bool times,
                        char *ret, size_t size)
{
    const char *name = precision_name(precision), *next = ret[0] ? "; " : "";
    int n = 0, first = 0;

    for (int i = 0; i < node->n_devices; i++)
        if (devices_has_worker(node, &node->device[i]) &&
            time_model_lacks(&node->device[i], precision) && n++ == 0)
            first = node->device[i].index;
    if (n == 1)
        text_append(ret, size, "%sGPU %d has no %s, %s", next, first, name,
                    times ? "but is planned by its measured times"
                          : "so it is planned by its fp32 rate");
    else if (n > 1)
        text_append(ret, size, "%sGPU %d and %d more have no %s, %s", next, first, n - 1, name,
                    times ? "but are planned by their measured times"
                          : "so they are planned by their fp32 rates");
}

/* Append to the node's note by which of the set `figures` all devices are compared, because device
 * d of the node lacks another measurement.
 */
static void remark_compared(struct node_profile *node, const struct device *d, unsigned figures,
                            enum precision precision)
{
    char before[64];

    if (figures == TIME_MODEL_MEMORY)
        remark(node, d, "without a matrix product of ",
               " all devices are compared by the speed of their memory alone");
    else if (!(figures & TIME_MODEL_MEMORY))
        remark(node, d, "without the memory's speed of ",
               " all devices are compared by matrix products alone");
    else {
        (void)snprintf(before, sizeof before, "without a matrix product in %s of ",
                       precision_name(precision));
        remark(node, d, before, " all devices are compared by their fp32 rates");
    }
}

void devices_remark(int64_t workers_per_node, enum precision precision, struct node_profile *nodes,
                    int n_nodes)
{
    const struct device *lacks;
    unsigned figures = devices_figures(nodes, n_nodes, precision, &lacks);

    for (int i = 0; i < n_nodes; i++) {
        bool gpus = devices_kind(&nodes[i]) == DEVICE_CUDA;

        for (int j = 0; j < nodes[i].n_devices; j++) {
            const struct device *d = &nodes[i].device[j];

            if (gpus && d->kind == DEVICE_CUDA && !devices_has_worker(&nodes[i], d))
                remark(&nodes[i], d, "", " gets no worker");
            if (d == lacks)
                remark_compared(&nodes[i], d, figures, precision);
        }
        if (gpus && figures & TIME_MODEL_PRECISE)
            add_lacking(&nodes[i], precision, false, nodes[i].note, sizeof nodes[i].note);
        remark_idle(&nodes[i], workers_per_node);
    }
}

int devices_lacking(const struct node_profile *nodes, int n_nodes, enum precision precision,
                    bool times, char *ret, size_t size)
{
    bool known = devices_figures(nodes, n_nodes, precision, NULL) & TIME_MODEL_PRECISE;
    int n = 0;

    ret[0] = '\0';
    for (int i = 0; i < n_nodes && known; i++) {
        char text[128] = "";

        if (devices_kind(&nodes[i]) == DEVICE_CUDA)
            add_lacking(&nodes[i], precision, times, text, sizeof text);
        if (text[0] && n++ == 0)
            (void)snprintf(ret, size, "node %s: %s", nodes[i].host, text);
    }
    if (n > 1)
        text_append(ret, size, "; the same holds on %d more node%s", n - 1, n == 2 ? "" : "s");
    return n;
}
