/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - how fast a NUMA node's cores multiply matrices */
#ifndef EDDIS_PROFILER_CPU_H
#define EDDIS_PROFILER_CPU_H

#include "lib/base/error.h"

#include <stdint.h>

/* The cores to measure, also for probe_memory.h. */
struct cpu_task {
    char cpus[256]; /* "" : not bound */
    int threads;
    const char *kernels; /* blas_core.h; NULL: as OpenBLAS takes them */
    int64_t sweep_bytes; /* probe_memory.h: of all threads together */
};

enum { CPU_CORE_NAME = 64 };

/* An isolate_fn: nothing -> char[CPU_CORE_NAME], the processor whose kernels OpenBLAS takes. */
int cpu_core(const void *task, void *result, struct eddis_error *err);

/* An isolate_fn: struct cpu_task -> double, single-precision operations per second of a square
 * product through OpenBLAS, the best of the rounds that fit in 0.3 s.
 */
int cpu_matrix(const void *task, void *result, struct eddis_error *err);

#endif
