/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.c - divides the cores of a node's CPU among its workers */
#include "cpus.h"

#include "lib/base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A hardware thread (Linux's processor number), its core, and the index of its device in the
 * profile.
 */
struct thread {
    int cpu, core, device;
};

/* Order two ints for qsort and bsearch. */
static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int cpus_parse(const char *list, int *ret, struct eddis_error *err)
{
    bool seen[CPUS_MAX] = { false };
    int n = 0;

    for (const char *s = list; *s; s++) {
        int first, last;

        if (!text_range(&s, CPUS_MAX - 1, &first, &last) || (*s && (*s != ',' || !s[1])))
            return eddis_fail(err, -EINVAL, "'%.60s' is not a list of processors", list);
        for (int c = first; c <= last; c++)
            seen[c] = true;
        if (!*s)
            break;
    }
    for (int c = 0; c < CPUS_MAX; c++)
        if (seen[c])
            ret[n++] = c;
    return n;
}

int cpus_format(const int *cpu, int n, char *ret, size_t size, struct eddis_error *err)
{
    size_t len = 0;

    ret[0] = '\0';
    for (int i = 0, end; i < n && len < size; i = end) {
        for (end = i + 1; end < n && cpu[end] == cpu[end - 1] + 1;)
            end++;
        len += (size_t)snprintf(ret + len, size - len, end > i + 1 ? "%s%d-%d" : "%s%d",
                                i ? "," : "", cpu[i], cpu[end - 1]);
    }
    if (len >= size)
        return eddis_fail(err, -E2BIG, "a list of %d processors is too long", n);
    return 0;
}

bool cpus_within(const char *a, const char *b)
{
    int inner[CPUS_MAX], outer[CPUS_MAX];
    int n = cpus_parse(a, inner, NULL), m = cpus_parse(b, outer, NULL);
    int j = 0;

    if (n < 0 || m < 0)
        return false;
    for (int i = 0; i < n; i++) {
        while (j < m && outer[j] < inner[i])
            j++;
        if (j == m || outer[j] != inner[i])
            return false;
    }
    return true;
}

/* Order threads by device, then core, then processor number, for qsort. */
static int compare_threads(const void *a, const void *b)
{
    const struct thread *x = a, *y = b;

    if (x->device != y->device)
        return x->device - y->device;
    return x->core != y->core ? x->core - y->core : x->cpu - y->cpu;
}

/* Check whether the ascending list cpu [n] contains a processor. */
static bool has_cpu(const int *cpu, int n, int wanted)
{
    return bsearch(&wanted, cpu, (size_t)n, sizeof *cpu, compare_ints) != NULL;
}

/* Check whether the n processors are whole cores under Linux's numbering (see cpus.h). */
static bool whole_cores(const struct node_profile *node, const int *cpu, int n)
{
    if (node->cores < 1 || node->threads <= node->cores || node->threads % node->cores != 0)
        return false;
    for (int i = 0; i < n; i++)
        for (int p = cpu[i] % node->cores; p < node->threads; p += node->cores)
            if (cpu[i] >= node->threads || !has_cpu(cpu, n, p))
                return false;
    return true;
}

/* List the threads of all CPU devices in ret [CPUS_MAX], core after core. Return how many there
 * are; -EINVAL: a device's list of processors is invalid.
 */
static int list_threads(const struct node_profile *node, struct thread *ret,
                        struct eddis_error *err)
{
    int n = 0;

    for (int d = 0; d < node->n_devices; d++) {
        int cpu[CPUS_MAX], m;
        bool whole;

        if (node->device[d].kind != DEVICE_CPU)
            continue;
        if ((m = cpus_parse(node->device[d].cpus, cpu, err)) < 0)
            return m;
        whole = whole_cores(node, cpu, m);
        for (int i = 0; i < m && n < CPUS_MAX; i++)
            ret[n++] = (struct thread){ .cpu = cpu[i],
                                        .core = whole ? cpu[i] % node->cores : cpu[i],
                                        .device = d };
    }
    qsort(ret, (size_t)n, sizeof *ret, compare_threads);
    return n;
}

/* Check whether two threads belong to the same core of the same device. */
static bool same_core(const struct thread *a, const struct thread *b)
{
    return a->device == b->device && a->core == b->core;
}

/* Return the number of cores in the sorted list t [n]. */
static int count_cores(const struct thread *t, int n)
{
    int cores = 0;

    for (int i = 0; i < n; i++)
        cores += i == 0 || !same_core(&t[i - 1], &t[i]);
    return cores;
}

/* Return how many of the threads t [n] belong to a device. */
static int count_of_device(const struct thread *t, int n, int device)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += t[i].device == device;
    return count;
}

/* Combine cores first to end - 1 of the sorted list t [n] into one device *ret. Each thread adds an
 * equal share of its device's speed. Return the number of threads.
 */
static int gather(const struct node_profile *node, const struct thread *t, int n, int first,
                  int end, struct device *ret)
{
    int cpu[CPUS_MAX], count = 0, core = -1;
    double flops = 0, bytes_per_s = 0;

    for (int i = 0; i < n; i++) {
        const struct device *d = &node->device[t[i].device];

        core += i == 0 || !same_core(&t[i - 1], &t[i]);
        if (core < first || core >= end)
            continue;
        if (count == 0)
            *ret = *d;
        flops += d->fp32_flops / count_of_device(t, n, t[i].device);
        bytes_per_s += d->memory_bytes_per_s / count_of_device(t, n, t[i].device);
        cpu[count++] = t[i].cpu;
    }
    ret->fp32_flops = flops;
    ret->memory_bytes_per_s = bytes_per_s;
    qsort(cpu, (size_t)count, sizeof *cpu, compare_ints);
    /* A list that does not fit leaves the worker unbound. */
    if (cpus_format(cpu, count, ret->cpus, sizeof ret->cpus, NULL) < 0)
        ret->cpus[0] = '\0';
    return count;
}

/* Add up all CPU devices into *ret, without a list of processors: for profiles that have no lists.
 */
static void sum_devices(const struct node_profile *node, struct device *ret)
{
    double flops = 0, bytes_per_s = 0;

    for (int d = node->n_devices - 1; d >= 0; d--) {
        if (node->device[d].kind != DEVICE_CPU)
            continue;
        *ret = node->device[d];
        flops += ret->fp32_flops;
        bytes_per_s += ret->memory_bytes_per_s;
    }
    ret->fp32_flops = flops;
    ret->memory_bytes_per_s = bytes_per_s;
    ret->cpus[0] = '\0';
}

int cpus_share(const struct node_profile *node, int i, int n, struct device *ret,
               struct eddis_error *err)
{
    struct thread t[CPUS_MAX];
    int n_threads = list_threads(node, t, err);
    int cores;

    if (n_threads < 0)
        return n_threads;
    cores = count_cores(t, n_threads);
    if (n_threads > 0 && n <= cores) {
        int64_t first = (int64_t)i * cores / n, end = ((int64_t)i + 1) * cores / n;

        gather(node, t, n_threads, (int)first, (int)end, ret);
        return 0;
    }
    if (n_threads > 0)
        gather(node, t, n_threads, 0, cores, ret);
    else
        sum_devices(node, ret);
    ret->fp32_flops /= n;
    ret->memory_bytes_per_s /= n;
    return 0;
}
