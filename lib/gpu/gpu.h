/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h - the GPUs of this process, independent of the drivers' types
 *
 * gpu_cuda.c loads driver and BLAS library at run time; gpu_none.c replaces it in a build without
 * GPUs.  The driver does not survive fork: call these functions in a separate process.
 */
#ifndef EDDIS_GPU_GPU_H
#define EDDIS_GPU_GPU_H

#include "lib/base/error.h"
#include "lib/model/gpu_facts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whose driver is used.  The drivers differ in maker.h's points only. */
enum gpu_maker { GPU_NVIDIA, GPU_AMD };
enum { GPU_MAKERS = GPU_AMD + 1 };

/* One GPU */
struct gpu_device {
    enum gpu_maker maker;
    int ordinal;   /* number in CUDA or HIP, after CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES */
    char name[96]; /* "NVIDIA H100 80GB HBM3" */
    /* "GPU-8-4-4-4-12" or "MIG-..." in hexadecimal digits, as nvidia-smi prints it; "GPU-16", as
     * rocminfo does, or, of AMD's GPUs without UUIDs, "HIP-" and the number for HIP_VISIBLE_DEVICES
     */
    char uuid[64];
    bool alone;   /* CUDA shows it only to a process whose CUDA_VISIBLE_DEVICES names it alone */
    char pci[16]; /* "0000:17:00.0" */
    int64_t memory_bytes;
    int driver_version; /* CUDA's version: 13000; HIP's: 60342131 */
    /* What NVML says of it, by gpu_complete and gpu_look: another process that uses it, "process
     * 4711 (python3)", "": none known; the part of the last second in which it computed; whether
     * `user` has it alone, in exclusive mode; whether it does not answer any more.
     */
    char user[64];
    int busy_percent;
    bool taken, lost;
};

/* Part of the last second from which on a GPU is too busy to be measured, or to be used beside
 * others
 */
enum { GPU_BUSY_PERCENT = 10 };

/* Measurements of one GPU */
struct gpu_metrics { /* NAN: the measurement failed, and `note` has the reason */
    /* products of matrices; 0: the GPU has none in that precision */
    double fp32_flops, tf32_flops, bf16_flops, fp16_flops;
    double memory_bytes_per_s; /* copies within the device, read + write */
    double to_device_bytes_per_s, from_device_bytes_per_s; /* copies from and to pinned host
                                                            * memory */
    char note[128];
};

/* Check whether this build supports GPUs. */
bool gpu_built(void);

/* Write to ret which of AMD's GPUs HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES and, if neither is
 * set, CUDA_VISIBLE_DEVICES show; "": all, "-1": none.  HIP itself takes an empty list for all.
 */
void gpu_amd_visible(char *ret, size_t size);

/* Store the descriptions of at most max GPUs of a maker in ret [max] and their number in *ret_n.
 * Blocks, for seconds on machines with many.  Return 0, with *ret_n > 0, or a negative errno:
 * -ENOENT: no driver is installed; -ENODEV: no GPU; -ENOTSUP: the driver is too old, or this build
 * is without GPUs and the machine has the driver; -EIO: an error of the driver.
 */
int gpu_list(enum gpu_maker maker, struct gpu_device *ret, int max, int *ret_n,
             struct eddis_error *err);

/* Complete the n > 0 GPUs that gpu_list has stored in gpu [max] by what NVML knows, if they are
 * NVIDIA's and it is installed. CUDA lists one MIG instance at most; NVML lists all. NVML also
 * knows the processes that use the GPUs. Blocks, for as long as NVML does. Return the number of
 * GPUs.
 */
int gpu_complete(struct gpu_device *gpu, int max, int n);

/* Look who uses the n GPUs now, and whether they answer. Their maker and uuid are set. Blocks for
 * as long as NVML does. If NVML counts work of processes that it does not list, this blocks for
 * up to 1.5 s more, since they may have ended. Return false, with the GPUs unchanged, without NVML
 * or if they are not NVIDIA's.
 */
bool gpu_look(struct gpu_device *gpu, int n);

/* Measure one GPU for about two seconds.  Blocks.  For a GPU that is `alone`, CUDA_VISIBLE_DEVICES
 * of this process is set.  A measurement that fails is NAN.  If nothing could be measured, errors
 * are as for gpu_list.
 */
int gpu_measure(const struct gpu_device *gpu, struct gpu_metrics *ret, struct eddis_error *err);

/* Store how the n GPUs are built in and set up in ret [n], from NVML; of an instance of MIG, how
 * its card is. Links of PCIe and clocks are slow while a GPU does nothing: look until the time
 * *until_ns, which another process may change, for all to be fast. Processes below the parent of
 * this one do not count as other ones. Blocks. Return their number, or 0 without NVML.
 */
int gpu_read_facts(const struct gpu_device *gpu, int n, const volatile int64_t *until_ns,
                   struct gpu_facts *ret);

#endif
