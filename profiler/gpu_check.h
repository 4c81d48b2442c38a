/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_check.h - looks at the GPUs of a kept profile, in a separate process: their speeds last, but
 * who uses them, and whether they answer, may differ at each start
 */
#ifndef EDDIS_PROFILER_GPU_CHECK_H
#define EDDIS_PROFILER_GPU_CHECK_H

#include "isolate.h"

#include "lib/base/error.h"
#include "lib/model/profile.h"

/* A process that looks at GPUs, or none */
struct gpu_check {
    struct isolated child;
    int64_t deadline_ns;
    int n;     /* GPUs; 0: at none */
    bool late; /* NVML did not answer in time: at an earlier start, and after gpu_check_finish at
                * this one */
};

/* Start to look at the GPUs of p that have been measured, if they are NVIDIA's. late: NVML did not
 * answer in time at an earlier start, so it gets little time.
 */
void gpu_check_start(struct gpu_check *c, const struct node_profile *p, bool late);

/* Wait for the look, for 5 s at most, or half a second if NVML was late before, and take the speeds
 * from those GPUs of p that another process keeps busy or has for itself, if another one is free
 * and jobs do not share GPUs; such a GPU gets no worker. A GPU that another job of eddis than
 * job_id (NULL: any) has locked keeps its speed: its lock decides. Add to the note of p who uses
 * the GPUs. If NVML is late, p stays as it is, but for a note. Return 0; -ESTALE, with p unchanged:
 * a GPU does not answer any more, or NVML, which did before, fails, so measure again.
 */
int gpu_check_finish(struct gpu_check *c, const char *job_id, struct node_profile *p,
                     struct eddis_error *err);

#endif
