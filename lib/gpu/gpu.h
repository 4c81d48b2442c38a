/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - the GPUs of this process, without a CUDA type in sight
 *
 * gpu_cuda.c loads driver and cuBLAS at run time; gpu_none.c takes its place in a build without
 * CUDA.  Both start a driver that does not survive fork: call them in a process of their own.
 */
#ifndef EDDIS_GPU_GPU_H
#define EDDIS_GPU_GPU_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct gpu_device {
    int ordinal;   /* as CUDA counts, CUDA_VISIBLE_DEVICES applied */
    char name[96]; /* "NVIDIA H100 80GB HBM3" */
    char uuid[64]; /* "GPU-..." as nvidia-smi prints it */
    char pci[16];  /* "0000:17:00.0" */
    int64_t memory_bytes;
    int driver_version; /* CUDA the driver knows: 13000 */
};

struct gpu_figures { /* NAN: could not be measured, note says why */
    double fp32_flops, fp16_flops;
    double memory_bytes_per_s; /* copies inside the device, read + write */
    double to_device_bytes_per_s, from_device_bytes_per_s; /* pinned host memory */
    char note[128];
};

/* Whether this build can use GPUs at all. */
bool gpu_built(void);

/* List at most max devices.  Blocks, seconds on machines with many.
 * -ENOENT: no driver is installed; -ENODEV: it has no device; -ENOTSUP: the driver is too old, or
 * this build is without CUDA and the machine has NVIDIA's driver; -EIO: the driver's own words.
 */
int gpu_list(struct gpu_device *ret, int max, int *ret_n, struct eddis_error *err);

/* Measure one device for about two seconds.  Blocks.  A figure that fails is NAN; errors as
 * gpu_list when nothing could be measured.
 */
int gpu_measure(int ordinal, struct gpu_figures *ret, struct eddis_error *err);

#endif
