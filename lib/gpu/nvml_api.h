/* SPDX-License-Identifier: Apache-2.0 */
/* nvml_api.h - the functions of NVML that eddis calls, loaded at run time
 *
 * Types and numbers are those of NVIDIA's nvml.h, written out, so that no header of NVML is needed.
 */
#ifndef EDDIS_GPU_NVML_API_H
#define EDDIS_GPU_NVML_API_H

#include <stdbool.h>

typedef struct nvml_device *nvml_handle;
typedef struct nvml_events *nvml_event_set;

struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_utilization {
    unsigned gpu, memory; /* percent of the last second */
};
struct nvml_event {
    nvml_handle device;
    unsigned long long type, data; /* data: of NVML_XID the number of the error */
    unsigned gpu_instance, compute_instance;
};

enum { NVML_TIMEOUT = 10 };                        /* result of event_wait */
enum { NVML_SM = 1 };                              /* a clock */
enum { NVML_CORRECTED = 0, NVML_UNCORRECTED = 1 }; /* errors of memory */
enum { NVML_VOLATILE = 0 };                        /* errors since the driver was loaded */
enum { NVML_XID = 8 };                             /* events */
enum { NVML_MAX_LINKS = 18 };                      /* of NVLink */
enum { NVML_MAX_PROCESSES = 1024 };
enum { NVML_NODE = 0 };        /* scope of near_memory: a NUMA node */
enum { NVML_NODE_WORDS = 16 }; /* of its result, a bit for each NUMA node */

/* Reasons for a low clock */
enum {
    NVML_IDLE = 1,
    NVML_SET = 2 | 0x100,
    NVML_POWER_CAP = 4,
    NVML_HARDWARE = 8,
    NVML_SYNC = 0x10,
    NVML_HEAT = 0x20 | 0x40,
    NVML_BRAKE = 0x80,
};

/* Functions of NVML; each returns 0 on success. Those from `parent` on are NULL if the driver lacks
 * them.
 */
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

    int (*parent)(nvml_handle d, nvml_handle *ret);
    /* two versions of each function; see nvml_processes */
    int (*processes_v2)(nvml_handle d, unsigned *n, void *ret);
    int (*processes_v3)(nvml_handle d, unsigned *n, void *ret);
    int (*graphics_v2)(nvml_handle d, unsigned *n, void *ret);
    int (*graphics_v3)(nvml_handle d, unsigned *n, void *ret);
    int (*clock)(nvml_handle d, int clock, unsigned *ret_mhz);
    int (*clock_most)(nvml_handle d, int clock, unsigned *ret_mhz);
    int (*reasons)(nvml_handle d, unsigned long long *ret); /* both are one function */
    int (*reasons_old)(nvml_handle d, unsigned long long *ret);
    int (*power)(nvml_handle d, unsigned *ret_mw);
    int (*power_cap)(nvml_handle d, unsigned *ret_mw);
    int (*power_default)(nvml_handle d, unsigned *ret_mw);
    int (*temperature)(nvml_handle d, int sensor, unsigned *ret);
    int (*ecc_errors)(nvml_handle d, int type, int counter, unsigned long long *ret);
    int (*ecc_mode)(nvml_handle d, int *ret, int *ret_pending);
    int (*persistence)(nvml_handle d, int *ret);
    int (*compute_mode)(nvml_handle d, int *ret);
    int (*pcie_gen)(nvml_handle d, unsigned *ret);
    int (*pcie_gen_most)(nvml_handle d, unsigned *ret);
    int (*pcie_width)(nvml_handle d, unsigned *ret);
    int (*pcie_width_most)(nvml_handle d, unsigned *ret);
    int (*near_memory)(nvml_handle d, unsigned words, unsigned long *ret_nodes, int scope);
    int (*common_ancestor)(nvml_handle d, nvml_handle other, int *ret);
    int (*link_state)(nvml_handle d, unsigned link, int *ret);
    int (*link_remote)(nvml_handle d, unsigned link, struct nvml_pci *ret);
    int (*event_set)(nvml_event_set *ret);
    int (*event_register)(nvml_handle d, unsigned long long types, nvml_event_set set);
    int (*event_wait)(nvml_event_set set, struct nvml_event *ret, unsigned timeout_ms);
};

/* Load and start NVML. Return false without it. */
bool nvml_load(struct nvml_api *ret);

/* Return the number of processes that compute on a GPU, and their ids in ret [NVML_MAX_PROCESSES];
 * -1: unknown.
 */
int nvml_processes(const struct nvml_api *a, nvml_handle d, unsigned *ret);

/* As nvml_processes, of processes that draw. */
int nvml_graphics(const struct nvml_api *a, nvml_handle d, unsigned *ret);

/* Write the address of a card, "0000:17:00.0", to ret [size]; "": it is unknown. */
void nvml_pci_text(const struct nvml_api *a, nvml_handle card, char *ret, unsigned long size);

/* Return the first of the NUMA nodes that are nearest to a card; -1: unknown. */
int nvml_numa(const struct nvml_api *a, nvml_handle card);

/* Return how many links of NVLink of a card are active; -1: unknown, or it has none. */
int nvml_active_links(const struct nvml_api *a, nvml_handle card);

/* Write "process 4711 (python3)" to ret, without the name if it cannot be read. */
void nvml_describe_process(unsigned pid, char *ret, unsigned long size);

#endif
