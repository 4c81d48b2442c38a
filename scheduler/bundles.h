/* SPDX-License-Identifier: Apache-2.0 */
/* bundles.h - join GPUs of a node to devices of several GPUs, for workers that compute on several
 */
#ifndef EDDIS_SCHEDULER_BUNDLES_H
#define EDDIS_SCHEDULER_BUNDLES_H

#include "lib/base/error.h"
#include "lib/model/profile.h"

#include <stdint.h>

/* Join the node's usable GPUs to devices of n GPUs of one name each, if possible near one NUMA
 * node; n is at most PROFILE_MAX_BUNDLE, and with 1 nothing changes. Stages of a pipeline wait for
 * the slowest, and layers are divided equally, so rates and memory are n times the least of its
 * GPUs. Remove from the profile the GPUs that fill no device, and all MIG instances, because CUDA
 * shows a process only one instance; the profile's note names both. Return 0, or -EINVAL: the
 * node's workers run on CPUs or emulated devices, or the node has fewer than n GPUs of each name.
 */
int bundles_make(struct node_profile *node, int64_t n, struct eddis_error *err);

#endif
