/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - the node's GPUs, found and measured, each in a process of its own */
#ifndef EDDIS_PROFILER_CUDA_H
#define EDDIS_PROFILER_CUDA_H

#include "lib/base/error.h"
#include "lib/gpu/gpu.h"
#include "lib/model/profile.h"

#include <stdint.h>

struct cuda_list {
    struct gpu_device gpu[PROFILE_MAX_DEVICES];
    int n;
};

/* List the GPUs until the deadline.  No driver or no GPU is an empty list; what else goes wrong
 * is noted in p.  Blocks.
 */
void cuda_find(int64_t deadline_ns, struct cuda_list *ret, struct node_profile *p);

struct cuda_run; /* the measurements under way */

/* Append the listed GPUs to p's devices, and start measuring all of them at once.
 * Returns NULL without memory or without a GPU.
 */
struct cuda_run *cuda_start(const struct cuda_list *list, struct node_profile *p);

/* Collect the figures until the deadline and free r (NULL: nothing to do).  What failed stays NAN
 * and is noted.  Blocks.
 */
void cuda_finish(struct cuda_run *r, int64_t deadline_ns, struct node_profile *p);

#endif
