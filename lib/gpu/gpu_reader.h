/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_reader.h - reads what GPUs do while a job runs, from NVML
 *
 * A driver may block any of these calls, so they belong into a process of their own. NVML, and no
 * CUDA, is needed: no memory of a GPU is used.
 */
#ifndef EDDIS_GPU_GPU_READER_H
#define EDDIS_GPU_GPU_READER_H

#include "lib/base/error.h"
#include "lib/model/gpu_state.h"

#include <sys/types.h>

struct gpu_reader;

/* Open a reader of the n GPUs with these ids, "GPU-..." or "MIG-...", in *ret, which the caller
 * frees with gpu_reader_close. Processes below `job`, and that process, belong to the job. Return
 * 0; -ENOENT: NVML is not there, does not start, or knows none of the GPUs; -ENOMEM.
 */
int gpu_reader_open(const char *const *id, int n, pid_t job, struct gpu_reader **ret,
                    struct eddis_error *err);
void gpu_reader_close(struct gpu_reader *r); /* accepts NULL */

/* Store the state of the GPUs in ret [n], without those that NVML does not know. Return their
 * number.
 */
int gpu_reader_read(struct gpu_reader *r, struct gpu_state *ret);

/* Wait for a critical error (Xid) of the GPUs, and count it, at most until timeout_ms have passed.
 */
void gpu_reader_wait(struct gpu_reader *r, int timeout_ms);

#endif
