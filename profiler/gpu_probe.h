/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_probe.h - how the node's GPUs are built in, read in a separate process while they are
 * measured
 */
#ifndef EDDIS_PROFILER_GPU_PROBE_H
#define EDDIS_PROFILER_GPU_PROBE_H

#include "cuda.h"
#include "isolate.h"

/* A process that reads, or none */
struct gpu_probe {
    struct isolated child;
    int n;                      /* GPUs; 0: none is read */
    volatile int64_t *until_ns; /* shared with the child: time at which it stops to look */
};

/* Start to read the listed GPUs. Their links are fast only while they work, so this comes beside
 * the measurements, which begin when the driver has started, perhaps seconds later. It looks until
 * all links were fast, gpu_probe_finish or the deadline.
 */
void gpu_probe_start(struct gpu_probe *g, const struct cuda_list *list, int64_t deadline_ns);

/* End the look, since the measurements are over, and store what was read in the GPUs of p, which
 * are those listed, in this order, with the network card near each. Wait at most until the
 * deadline; what is missing then stays unknown, without a note, because no plan needs it.
 */
void gpu_probe_finish(struct gpu_probe *g, int64_t deadline_ns, struct node_profile *p);

#endif
