/* SPDX-License-Identifier: Apache-2.0 */
/* probe_memory.h - measure how fast a NUMA node's cores sweep through its memory */
#ifndef EDDIS_PROFILER_PROBE_MEMORY_H
#define EDDIS_PROFILER_PROBE_MEMORY_H

#include "lib/base/error.h"

#include <stdint.h>

/* Return how many bytes to sweep, so that they do not fit into the caches: four times the largest
 * cache, at least 64 MB and at most 2 GB, but at most an eighth of the free memory.
 */
int64_t probe_memory_sweep_bytes(int64_t cache_bytes, int64_t free_bytes);

/* Measure sweeps, in which each thread reads and writes its own memory, for 0.25 s, and store the
 * highest speed. This is an isolate_fn: task is a struct cpu_task (cpu.h), result a double, in
 * bytes read and written per second by all threads.
 */
int probe_memory_sweep(const void *task, void *result, struct eddis_error *err);

#endif
