/* SPDX-License-Identifier: Apache-2.0 */
/* probe_memory.h - how fast a NUMA node's cores sweep through its memory */
#ifndef EDDIS_PROFILER_PROBE_MEMORY_H
#define EDDIS_PROFILER_PROBE_MEMORY_H

#include "lib/base/error.h"

#include <stdint.h>

/* Return the bytes to sweep through so that the caches do not answer: four times the largest cache,
 * but no more than an eighth of the memory that is free.
 */
int64_t probe_memory_sweep_bytes(int64_t cache_bytes, int64_t free_bytes);

/* An isolate_fn: struct cpu_task (cpu.h) -> double, bytes read and written per second by all
 * threads together, each in memory of its own; the best of the rounds that fit in 0.25 s.
 */
int probe_memory_sweep(const void *task, void *result, struct eddis_error *err);

#endif
