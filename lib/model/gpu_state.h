/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_state.h - what a worker's GPU does, as NVML reports it */
#ifndef EDDIS_MODEL_GPU_STATE_H
#define EDDIS_MODEL_GPU_STATE_H

#include <stdint.h>

enum { GPU_MOST = 8 }; /* GPUs of one worker */

/* Why a GPU's clock is below its highest; of several reasons the first of this list */
enum gpu_slowed {
    GPU_SLOWED_NOT,
    GPU_SLOWED_HEAT,
    GPU_SLOWED_BRAKE,    /* the power supply has asked for less power */
    GPU_SLOWED_HARDWARE, /* a protection of the card that NVML does not name */
    GPU_SLOWED_POWER,    /* the power cap */
    GPU_SLOWED_SYNC,     /* other GPUs of its group are slower */
    GPU_SLOWED_SET,      /* somebody has set lower clocks */
    GPU_SLOWED_IDLE,
    GPU_SLOWED_KINDS,
};

/* A reading of one GPU; of a MIG instance clocks, power, heat and errors are its card's */
struct gpu_state {
    int64_t reading; /* number of the reading, from 1; 0: there is none */
    char id[64];     /* "GPU-..." or "MIG-...", as struct device has it */
    double busy;     /* part of the last second in which it computed, 0 to 1; NAN: unknown */
    int64_t memory_used_bytes, memory_bytes; /* 0: unknown */
    double clock_mhz, clock_most_mhz;        /* of its multiprocessors; NAN: unknown */
    enum gpu_slowed slowed;                  /* why clock_mhz is low */
    double watts, watts_most;                /* power, and its cap; NAN: unknown */
    double celsius;                          /* NAN: unknown */
    int64_t ecc_corrected, ecc_uncorrected;  /* errors since the driver's start; -1: unknown */
    int64_t xid, xids;                       /* last critical error; how many since the start of the
                                              * readings */
    int others;     /* processes outside the job that use it; -1: unknown */
    char other[64]; /* one of them, "process 4711 (python3)"; "": none */
    int pcie_gen, pcie_gen_most, pcie_width, pcie_width_most; /* 0: unknown */
    char pci[16];                                             /* "0000:17:00.0"; "": unknown */
    int numa;                                                 /* nearest NUMA node; -1: unknown */
    int nvlinks;  /* links of NVLink that are active; -1: unknown, or it has none */
    char nic[48]; /* nearest network card and the way to it, "mlx5_0 PIX"; "": none, or unknown; the
                   * reader leaves it empty */
};

#endif
