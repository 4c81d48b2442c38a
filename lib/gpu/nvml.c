/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.c - list MIG instances, and find processes that use GPUs */
#include "nvml.h"

#include "lib/base/dlopen.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIG_ENABLED = 1, MAX_PROCESSES = 1024, MAX_INSTANCES = 16, HIDDEN = -1 };

typedef struct nvml_device *nvml_handle;

struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
};
struct nvml_memory {
    unsigned long long total, free, used;
};
/* The drivers 535.43 to 535.86 write 8 bytes more for each process, so that only the first can be
 * read.
 */
struct nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
    unsigned long long more;
};
struct nvml_utilization {
    unsigned gpu, memory; /* percent of the last second */
};

/* Functions of NVML; each returns 0 on success */
struct nvml_api {
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *ret);
    int (*by_index)(unsigned index, nvml_handle *ret);
    int (*by_uuid)(const char *uuid, nvml_handle *ret);
    int (*uuid)(nvml_handle d, char *ret, unsigned size);
    int (*name)(nvml_handle d, char *ret, unsigned size);
    int (*pci)(nvml_handle d, struct nvml_pci *ret);
    int (*memory)(nvml_handle d, struct nvml_memory *ret);
    int (*mig_mode)(nvml_handle d, unsigned *ret, unsigned *ret_pending);
    int (*instance)(nvml_handle d, unsigned index, nvml_handle *ret);
    int (*utilization)(nvml_handle d, struct nvml_utilization *ret);
    /* two versions of one function; NULL: the driver lacks it */
    int (*processes)(nvml_handle d, unsigned *n, struct nvml_process *ret);
    int (*processes_v3)(nvml_handle d, unsigned *n, struct nvml_process *ret);
};

/* Load and start NVML. Return false without it. */
static bool load(struct nvml_api *a)
{
    static const char *const names[] = { "libnvidia-ml.so.1", NULL };
    const struct dlopen_symbol symbols[] = {
        { "nvmlInit_v2", &a->init, false },
        { "nvmlShutdown", &a->shutdown, false },
        { "nvmlDeviceGetCount_v2", &a->count, false },
        { "nvmlDeviceGetHandleByIndex_v2", &a->by_index, false },
        { "nvmlDeviceGetHandleByUUID", &a->by_uuid, false },
        { "nvmlDeviceGetUUID", &a->uuid, false },
        { "nvmlDeviceGetName", &a->name, false },
        { "nvmlDeviceGetPciInfo_v3", &a->pci, false },
        { "nvmlDeviceGetMemoryInfo", &a->memory, false },
        { "nvmlDeviceGetMigMode", &a->mig_mode, false },
        { "nvmlDeviceGetMigDeviceHandleByIndex", &a->instance, false },
        { "nvmlDeviceGetUtilizationRates", &a->utilization, false },
        { "nvmlDeviceGetComputeRunningProcesses_v2", &a->processes, true },
        { "nvmlDeviceGetComputeRunningProcesses_v3", &a->processes_v3, true },
    };

    return dlopen_library(names, symbols, sizeof symbols / sizeof *symbols, NULL) == 0 &&
           a->init() == 0;
}

/* ---- MIG ---- */

/* Check whether the card is divided by MIG. */
static bool is_divided(const struct nvml_api *a, nvml_handle card)
{
    unsigned mode = 0, pending;

    return a->mig_mode(card, &mode, &pending) == 0 && mode == MIG_ENABLED;
}

/* Return the place in a list as of CUDA_VISIBLE_DEVICES that has the beginning of this UUID;
 * HIDDEN: none. A list that is NULL has all at place 0.
 */
static int place_of(const char *visible, const char *uuid)
{
    int place = 0;

    for (const char *at = visible; at && *at; at += strspn(at, ","), place++) {
        size_t n = strcspn(at, ",");

        if (n > 4 && strncmp(at, uuid, n) == 0)
            return place;
        at += n;
    }
    return visible ? HIDDEN : 0;
}

/* Sort n GPUs by their places in `visible`, and number them. */
static void sort(const char *visible, struct gpu_device *gpu, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i;
             k > 0 && place_of(visible, gpu[k].uuid) < place_of(visible, gpu[k - 1].uuid); k--) {
            struct gpu_device before = gpu[k - 1];

            gpu[k - 1] = gpu[k];
            gpu[k] = before;
        }
    for (int i = 0; i < n; i++)
        gpu[i].ordinal = i;
}

/* Append an instance of a card, or the card itself if d is its own handle, unless it is hidden.
 * Return how many were appended.
 */
static int add(const struct nvml_api *a, nvml_handle card, nvml_handle d, const char *visible,
               struct gpu_device *ret)
{
    struct gpu_device g = { .alone = true };
    struct nvml_memory memory;
    struct nvml_pci pci;

    if (a->uuid(d, g.uuid, sizeof g.uuid) != 0 || place_of(visible, g.uuid) == HIDDEN ||
        a->name(d, g.name, sizeof g.name) != 0 || a->memory(d, &memory) != 0 ||
        a->pci(card, &pci) != 0)
        return 0;
    g.uuid[sizeof g.uuid - 1] = g.name[sizeof g.name - 1] = '\0';
    text_strip_control(g.name);
    (void)snprintf(g.pci, sizeof g.pci, "%04x:%02x:%02x.0", pci.domain & 0xffff, pci.bus & 0xff,
                   pci.device & 0xff);
    g.memory_bytes = (int64_t)memory.total;
    *ret = g;
    return 1;
}

int nvml_list_divided(struct gpu_device *ret, int max)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    struct nvml_api a;
    unsigned cards = 0;
    bool divided = false;
    int n = 0, before;

    if ((visible && strncmp(visible, "GPU-", 4) != 0 && strncmp(visible, "MIG-", 4) != 0) ||
        !load(&a))
        return 0;
    (void)a.count(&cards);
    for (unsigned i = 0; i < cards && n < max; i++) {
        nvml_handle card, d;

        if (a.by_index(i, &card) != 0)
            continue;
        if (!is_divided(&a, card)) {
            n += add(&a, card, card, visible, &ret[n]);
            continue;
        }
        before = n;
        for (unsigned k = 0; k < MAX_INSTANCES && n < max; k++)
            if (a.instance(card, k, &d) == 0) /* numbers may have gaps */
                n += add(&a, card, d, visible, &ret[n]);
        divided |= n > before;
    }
    (void)a.shutdown();
    sort(visible, ret, n);
    return divided ? n : 0;
}

/* ---- other processes ---- */

/* Write "process 4711 (python3)" to ret, without the name if it cannot be read. */
static void describe_process(unsigned pid, char *ret, size_t size)
{
    char path[64], name[32] = "";
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%u/comm", pid);
    f = fopen(path, "re");
    if (f) {
        if (!fgets(name, sizeof name, f))
            name[0] = '\0';
        (void)fclose(f);
    }
    name[strcspn(name, "\n")] = '\0';
    text_strip_control(name);
    (void)snprintf(ret, size, name[0] ? "process %u (%s)" : "process %u", pid, name);
}

/* Store in *ret the first process that uses a GPU. Return false if there is none, or if it is
 * unknown, or this process.
 */
static bool find_process(const struct nvml_api *a, nvml_handle d, unsigned *ret)
{
    struct nvml_process process[MAX_PROCESSES] = { 0 };
    unsigned n = MAX_PROCESSES;
    int rc = a->processes      ? a->processes(d, &n, process)
             : a->processes_v3 ? a->processes_v3(d, &n, process)
                               : -1;

    *ret = process[0].pid;
    return rc == 0 && n > 0 && process[0].pid != (unsigned)getpid();
}

void nvml_find_users(struct gpu_device *gpu, int n)
{
    struct nvml_api a;

    if (!load(&a))
        return;
    for (int i = 0; i < n; i++) {
        struct nvml_utilization used = { 0 };
        unsigned pid;
        nvml_handle d;

        if (a.by_uuid(gpu[i].uuid, &d) != 0 || !find_process(&a, d, &pid))
            continue;
        describe_process(pid, gpu[i].user, sizeof gpu[i].user);
        if (a.utilization(d, &used) == 0) /* not of MIG instances */
            gpu[i].busy_percent = (int)(used.gpu > 100 ? 100 : used.gpu);
    }
    (void)a.shutdown();
}
