/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_lock.h - keeps the GPUs of a job's workers from other jobs of eddis on the machine
 *
 * A lock is a socket of an abstract name, which the kernel removes with the process, whatever user
 * it is of. Nodes in other network namespaces do not see it.
 */
#ifndef EDDIS_AGENTS_NODE_GPU_LOCK_H
#define EDDIS_AGENTS_NODE_GPU_LOCK_H

#include "lib/base/error.h"

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

/* Release all GPUs of *l that were added since l->n was n. */
void gpu_lock_cut(struct gpu_lock *l, int n);

/* Release all GPUs of *l. */
void gpu_lock_release(struct gpu_lock *l);

#endif
