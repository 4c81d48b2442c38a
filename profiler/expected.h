/* SPDX-License-Identifier: Apache-2.0 */
/* expected.h - checks whether a job is to use the GPUs of a node, from its environment and the
 * files of the drivers
 */
#ifndef EDDIS_PROFILER_EXPECTED_H
#define EDDIS_PROFILER_EXPECTED_H

#include "machine.h"

#include "lib/gpu/gpu.h"

#include <stdbool.h>

/* Check whether the machine shows GPUs of this maker, which need not be for this process: in the
 * files of the kernel's driver or, of NVIDIA, as a device file or on PCI. root is prepended to
 * every path: "" except in tests.
 */
bool expected_has(const char *root, const struct machine *m, enum gpu_maker maker);

/* Check whether this maker's own variables name GPUs: CUDA_VISIBLE_DEVICES; of AMD,
 * HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES.
 */
bool expected_by_name(const struct machine *m, enum gpu_maker maker);

/* Check whether the job may be meant to use GPUs of this maker, if its driver is there: variables
 * name some, or these are not set and the kernel has some, which need not be for this process.
 */
bool expected_perhaps(const struct machine *m, enum gpu_maker maker);

/* Check whether the machine shows GPUs of this maker and the job is meant to use them: variables
 * name some, or these are not set and this process may open the file of a GPU's device. rc: why the
 * search has found none, as of gpu_list. Without ROCm (-ENOENT) only AMD's own variables count,
 * since many processors have a small GPU. root is prepended to every path: "" except in tests.
 */
bool expected_surely(const char *root, const struct machine *m, enum gpu_maker maker, int rc);

#endif
