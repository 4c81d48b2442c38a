/* SPDX-License-Identifier: Apache-2.0 */
/* cuda.h - list and measure the node's GPUs, each in a separate process */
#ifndef EDDIS_PROFILER_CUDA_H
#define EDDIS_PROFILER_CUDA_H

#include "lib/base/error.h"
#include "lib/gpu/gpu.h"
#include "lib/model/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* GPUs of this node */
struct cuda_list {
    struct gpu_device gpu[PROFILE_MAX_DEVICES];
    int n;
    /* why none of a maker is listed, without failure: -ENOENT, -ENODEV or -ENOTSUP, as of gpu_list
     */
    struct eddis_error absent[GPU_MAKERS];
};

/* List the GPUs in *ret, of one maker: NVIDIA's, else AMD's. Blocks at most until the deadline, and
 * 5 s more for NVML. Without a driver or GPU, or if the driver is too old or cannot be used by this
 * build, the list is empty, and ret->absent has the reasons. Return 0, or a negative errno, with an
 * empty list, if the driver failed or was late: it is unknown which GPUs there are.
 */
int cuda_find(int64_t deadline_ns, struct cuda_list *ret, struct node_profile *p,
              struct eddis_error *err);

/* Check whether another process keeps one of the GPUs busy, so that its measurement is missing or
 * too low.
 */
bool cuda_is_busy(const struct cuda_list *list);

/* Add to the note of p which other processes use the GPUs; they may have ended at the next job. */
void cuda_note_users(const struct cuda_list *list, struct node_profile *p);

struct cuda_run; /* running measurements */

/* Append the listed GPUs to p's devices, and start to measure them in parallel, except those that
 * other processes keep busy if some GPU is not busy and jobs do not share GPUs. Return the running
 * measurements, for cuda_finish; NULL without memory or without a GPU.
 */
struct cuda_run *cuda_start(const struct cuda_list *list, struct node_profile *p);

/* Wait for the measurements, at most until the deadline, store them in p, and free r (NULL: do
 * nothing). Values of failed measurements stay NAN, and the reason is added to the note of p.
 */
void cuda_finish(struct cuda_run *r, int64_t deadline_ns, struct node_profile *p);

#endif
