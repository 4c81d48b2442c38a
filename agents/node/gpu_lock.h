/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_lock.h - keeps the GPUs of a job's workers from other jobs of eddis on the machine
 *
 * A lock is a socket of an abstract name, which the kernel removes with the process, whatever user
 * it is of. Nodes in other network namespaces do not see it.
 */
#ifndef EDDIS_AGENTS_NODE_GPU_LOCK_H
#define EDDIS_AGENTS_NODE_GPU_LOCK_H

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Sockets that lock GPUs; zero: none */
struct gpu_lock {
    int *fd; /* [n] */
    int n;
};

/* Lock the GPU with this id, "GPU-..." or "MIG-...", for the job, and add it to *l. Ignore another
 * id, a GPU that this job has locked, and every GPU where jobs share GPUs (MPS, Slurm's gres/shard)
 * or the system has no abstract sockets. Return 0; -EADDRINUSE: another job has locked it; its id
 * and user are in err; or -ENOMEM.
 */
int gpu_lock_add(struct gpu_lock *l, const char *device_id, const char *job_id,
                 struct eddis_error *err);

/* Do the same for a job that has called gpu_lock_queue with this time: lock the GPU only if no
 * other job has waited for it for longer. err names the job that has it, or is the next.
 */
int gpu_lock_in_turn(struct gpu_lock *l, const char *device_id, const char *job_id,
                     int64_t since_ms, struct eddis_error *err);

/* Let other jobs see, until *l is released, that the job waits for this GPU since this time of
 * clock_now_ns, in milliseconds. No job that came later, and no job that does not wait, gets it
 * before. Return 0 or -ENOMEM.
 */
int gpu_lock_queue(struct gpu_lock *l, const char *device_id, const char *job_id, int64_t since_ms,
                   struct eddis_error *err);

/* Move the lock of this GPU from one list to another; do nothing if it is not there. Without memory
 * it stays.
 */
void gpu_lock_move(struct gpu_lock *from, const char *device_id, struct gpu_lock *to);

/* Check whether a job still needs the GPU with this id. */
typedef bool gpu_lock_wanted_fn(const char *device_id, const void *ctx);

/* Release the GPUs of *l that are not wanted. */
void gpu_lock_keep(struct gpu_lock *l, gpu_lock_wanted_fn *wanted, const void *ctx);

/* Release all GPUs of *l that were added since l->n was n. */
void gpu_lock_cut(struct gpu_lock *l, int n);

/* Release all GPUs of *l. */
void gpu_lock_release(struct gpu_lock *l);

#endif
