/* SPDX-License-Identifier: Apache-2.0 */
/* expected.h - checks whether a job is to use the GPUs of a node, from its environment and the
 * files of the drivers
 */
#ifndef EDDIS_PROFILER_EXPECTED_H
#define EDDIS_PROFILER_EXPECTED_H

#include "machine.h"

#include "lib/gpu/gpu.h"

#include <stdbool.h>

/* Check whether the job may be meant to use GPUs: CUDA_VISIBLE_DEVICES or AMD's variables name
 * some, or these are not set and the kernel has some, which need not be for this process.
 */
bool expected_perhaps(const struct machine *m);

/* Check whether the job is meant to use GPUs of this maker: the variables name some, or these are
 * not set and this process may open the file of a GPU's device. rc: why the search has found none,
 * as of gpu_list. Without ROCm (-ENOENT) the file of an AMD GPU is not enough, since many
 * processors have a small one. root is prepended to every path: "" except in tests.
 */
bool expected_surely(const char *root, const struct machine *m, enum gpu_maker maker, int rc);

#endif
