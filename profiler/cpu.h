/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - measure how fast a NUMA node's cores multiply matrices */
#ifndef EDDIS_PROFILER_CPU_H
#define EDDIS_PROFILER_CPU_H

#include "lib/base/error.h"

#include <stdint.h>

/* Cores to measure, also used by probe_memory.h */
struct cpu_task {
    char cpus[256]; /* list of processors to which the threads are bound; "": not bound */
    int threads;
    const char *kernels; /* name of OpenBLAS's kernels, see blas_core.h; NULL: OpenBLAS chooses */
    int64_t sweep_bytes; /* probe_memory.h: bytes to sweep, total of all threads */
};

enum { CPU_CORE_NAME = 64 };

/* Write the name of the processor whose kernels OpenBLAS chooses to result. This is an isolate_fn:
 * task is unused, result is char[CPU_CORE_NAME]. Return 0, or a negative errno: OpenBLAS cannot be
 * loaded.
 */
int cpu_core(const void *task, void *result, struct eddis_error *err);

/* Measure products of square matrices in OpenBLAS for 0.3 s, and store the highest speed. This is
 * an isolate_fn: task is a struct cpu_task, result a double, in single-precision operations per
 * second.
 */
int cpu_matrix(const void *task, void *result, struct eddis_error *err);

#endif
