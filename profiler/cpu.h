/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - measure how fast a NUMA node's cores multiply matrices */
#ifndef EDDIS_PROFILER_CPU_H
#define EDDIS_PROFILER_CPU_H

#include "lib/base/error.h"

#include <stdint.h>

/* Cores to measure, also for probe_memory.h */
struct cpu_task {
    char cpus[256]; /* "": not bound */
    int threads;
    const char *kernels; /* see blas_core.h; NULL: OpenBLAS's choice */
    int64_t sweep_bytes; /* probe_memory.h: total of all threads */
};

enum { CPU_CORE_NAME = 64 };

/* Get the name of the processor whose kernels OpenBLAS chooses.  An isolate_fn: no task ->
 * char[CPU_CORE_NAME].
 */
int cpu_core(const void *task, void *result, struct eddis_error *err);

/* Measure a square product in OpenBLAS, as the best of 0.3 s.  An isolate_fn: struct cpu_task ->
 * double, single-precision operations per second.
 */
int cpu_matrix(const void *task, void *result, struct eddis_error *err);

#endif
