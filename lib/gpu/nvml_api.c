/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_api.c - load NVML, and list the processes of a GPU */
#include "nvml_api.h"

#include "lib/base/cleanup.h"
#include "lib/base/dlopen.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool nvml_load(struct nvml_api *a)
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
        { "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &a->parent, true },
        { "nvmlDeviceGetComputeRunningProcesses_v2", &a->processes_v2, true },
        { "nvmlDeviceGetComputeRunningProcesses_v3", &a->processes_v3, true },
        { "nvmlDeviceGetGraphicsRunningProcesses_v2", &a->graphics_v2, true },
        { "nvmlDeviceGetGraphicsRunningProcesses_v3", &a->graphics_v3, true },
        { "nvmlDeviceGetClockInfo", &a->clock, true },
        { "nvmlDeviceGetMaxClockInfo", &a->clock_most, true },
        { "nvmlDeviceGetCurrentClocksEventReasons", &a->reasons, true },
        { "nvmlDeviceGetCurrentClocksThrottleReasons", &a->reasons_old, true },
        { "nvmlDeviceGetPowerUsage", &a->power, true },
        { "nvmlDeviceGetEnforcedPowerLimit", &a->power_cap, true },
        { "nvmlDeviceGetPowerManagementDefaultLimit", &a->power_default, true },
        { "nvmlDeviceGetTemperature", &a->temperature, true },
        { "nvmlDeviceGetTotalEccErrors", &a->ecc_errors, true },
        { "nvmlDeviceGetEccMode", &a->ecc_mode, true },
        { "nvmlDeviceGetPersistenceMode", &a->persistence, true },
        { "nvmlDeviceGetComputeMode", &a->compute_mode, true },
        { "nvmlDeviceGetCurrPcieLinkGeneration", &a->pcie_gen, true },
        { "nvmlDeviceGetMaxPcieLinkGeneration", &a->pcie_gen_most, true },
        { "nvmlDeviceGetCurrPcieLinkWidth", &a->pcie_width, true },
        { "nvmlDeviceGetMaxPcieLinkWidth", &a->pcie_width_most, true },
        { "nvmlDeviceGetMemoryAffinity", &a->near_memory, true },
        { "nvmlDeviceGetTopologyCommonAncestor", &a->common_ancestor, true },
        { "nvmlDeviceGetNvLinkState", &a->link_state, true },
        { "nvmlDeviceGetNvLinkRemotePciInfo_v2", &a->link_remote, true },
        { "nvmlEventSetCreate", &a->event_set, true },
        { "nvmlDeviceRegisterEvents", &a->event_register, true },
        { "nvmlEventSetWait_v2", &a->event_wait, true },
    };

    return dlopen_library(names, symbols, sizeof symbols / sizeof *symbols, NULL) == 0 &&
           a->init() == 0;
}

/* Store the ids of the processes that one of two versions of a function of NVML (NULL: missing)
 * lists in ret [NVML_MAX_PROCESSES]. Return their number; -1: unknown.
 */
static int list_processes(int (*v2)(nvml_handle d, unsigned *n, void *ret),
                          int (*v3)(nvml_handle d, unsigned *n, void *ret), nvml_handle d,
                          unsigned *ret)
{
    /* A process is 24 bytes, but the drivers 535.43 to 535.86 write 32: what lies behind n of them
     * shows which.
     */
    enum { USUAL = 24, LONG = 32, UNTOUCHED = 0xa5 };
    static const char mark[LONG - USUAL] = { [0 ... LONG - USUAL - 1] = (char)UNTOUCHED };
    cleanup_free char *raw = malloc((NVML_MAX_PROCESSES + 1) * LONG);
    unsigned n = NVML_MAX_PROCESSES;
    size_t size;
    int rc = -1;

    if (!raw)
        return -1;
    memset(raw, UNTOUCHED, (NVML_MAX_PROCESSES + 1) * LONG);
    if (v2)
        rc = v2(d, &n, raw);
    else if (v3)
        rc = v3(d, &n, raw);
    if (rc != 0 || n > NVML_MAX_PROCESSES)
        return -1;
    size = memcmp(raw + n * USUAL, mark, sizeof mark) == 0 ? USUAL : LONG;
    for (unsigned i = 0; i < n; i++)
        memcpy(&ret[i], raw + i * size, sizeof *ret);
    return (int)n;
}

int nvml_processes(const struct nvml_api *a, nvml_handle d, unsigned *ret)
{
    return list_processes(a->processes_v2, a->processes_v3, d, ret);
}

int nvml_graphics(const struct nvml_api *a, nvml_handle d, unsigned *ret)
{
    return list_processes(a->graphics_v2, a->graphics_v3, d, ret);
}

void nvml_pci_text(const struct nvml_api *a, nvml_handle card, char *ret, unsigned long size)
{
    struct nvml_pci pci;

    ret[0] = '\0';
    if (a->pci(card, &pci) == 0)
        (void)snprintf(ret, size, "%04x:%02x:%02x.0", pci.domain & 0xffff, pci.bus & 0xff,
                       pci.device & 0xff);
}

int nvml_numa(const struct nvml_api *a, nvml_handle card)
{
    unsigned long nodes[NVML_NODE_WORDS] = { 0 };

    if (!a->near_memory || a->near_memory(card, NVML_NODE_WORDS, nodes, NVML_NODE) != 0)
        return -1;
    for (int i = 0; i < NVML_NODE_WORDS; i++)
        if (nodes[i])
            return i * (int)(8 * sizeof *nodes) + __builtin_ctzl(nodes[i]);
    return -1;
}

int nvml_active_links(const struct nvml_api *a, nvml_handle card)
{
    int n = -1;

    for (unsigned link = 0; a->link_state && link < NVML_MAX_LINKS; link++) {
        int active = 0;

        if (a->link_state(card, link, &active) == 0)
            n = (n < 0 ? 0 : n) + (active != 0);
    }
    return n;
}

void nvml_describe_process(unsigned pid, char *ret, unsigned long size)
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
