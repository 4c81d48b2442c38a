/* SPDX-License-Identifier: Apache-2.0 */
/* nvml.h - facts about the machine's GPUs that CUDA lacks, from NVML, which is loaded at run time
 *
 * CUDA shows a process one MIG instance only, and never who else uses a GPU. Without the library
 * nothing is known.
 */
#ifndef EDDIS_GPU_NVML_H
#define EDDIS_GPU_NVML_H

#include "gpu.h"

#include <stdbool.h>

/* Store the GPUs of the machine in ret [max] if an instance of MIG is among them: each instance in
 * place of its card, and the cards that are not divided. Each has `alone` set.
 * CUDA_VISIBLE_DEVICES, if it is set, decides which of them, and their order. A number means all
 * instances of a card, although CUDA shows the first one only; nothing is stored if CUDA may number
 * the cards in another way: they are unlike, without CUDA_DEVICE_ORDER=PCI_BUS_ID, or the GPU with
 * the UUID `shown`, which CUDA shows, is not among them. driver_version is unset. Return their
 * number; 0: there is no instance, or nothing is known.
 */
int nvml_list_divided(const char *shown, struct gpu_device *ret, int max);

/* Fill in `user`, `busy_percent`, `taken` and `lost` of the n GPUs. NVML's list of processes is
 * empty in a container, so a GPU that computes has a user, too. A GPU on which a process draws and
 * none computes, as NVML lists them, has that user and is not busy. Return false, with the GPUs
 * unchanged, without NVML.
 */
bool nvml_find_users(struct gpu_device *gpu, int n);

#endif
