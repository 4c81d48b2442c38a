/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - what CUDA does not tell of the machine's GPUs, from NVML, which is loaded at run time
 *
 * CUDA shows a process one MIG instance only, and never who else uses a GPU. The types are written
 * out in nvml.c, so that no header of NVML is needed. Without the library there is nothing to tell.
 */
#ifndef EDDIS_GPU_NVML_H
#define EDDIS_GPU_NVML_H

#include "gpu.h"

#include <stdbool.h>

/* Store the GPUs of the machine in ret [max] if one of them is divided by MIG: each instance in
 * place of its card, then the other cards in their place. Each has `alone` set.
 * CUDA_VISIBLE_DEVICES, if it is set, decides which of them; in another form than UUIDs nothing is
 * stored. driver_version is unset. Return their number; 0: no GPU is divided, or nothing is known.
 */
int nvml_list_divided(struct gpu_device *ret, int max);

/* Fill in `user` and `busy_percent` of the n GPUs that other processes use. */
void nvml_find_users(struct gpu_device *gpu, int n);

#endif
