/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_facts.h - how a GPU is built in and set up, as NVML and sysfs say */
#ifndef EDDIS_MODEL_GPU_FACTS_H
#define EDDIS_MODEL_GPU_FACTS_H

#include "gpu_state.h"

#include <stdint.h>

/* name of a card that ROCm does not name */
#define GPU_NAMELESS "AMD GPU"

struct gpu_facts {
    int64_t known; /* 0: nothing is known */
    /* generation and lanes of its PCIe link, while it was measured and at most; 0: unknown */
    int pcie_gen, pcie_gen_most, pcie_width, pcie_width_most;
    double watts_most,
        watts_usual;             /* power cap, and the one it had when it was made; NAN: unknown */
    char compute_mode[24];       /* "default", "exclusive process", "prohibited"; "": unknown */
    char persistence[8], ecc[8]; /* "on" or "off"; "": unknown, or it has none */
    char mig[8];   /* whether its card is divided into instances, "on" or "off"; "": unknown, or it
                    * cannot be */
    char nic[256]; /* network cards, the nearest first, and the ways to them, "mlx5_0 PIX eth0 SYS";
                    * "": none */
    /* ways to the node's GPUs, with a blank between two: "X NV4 SYS"; "X" stands for itself, other
     * words are those of nvidia-smi topo -m, and "-" is unknown
     */
    char links[384];
    /* what it did while it was measured, but `busy`, memory and other processes as they were before
     */
    struct gpu_state state;
};

#endif
