/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_share.h - whether jobs share the GPUs of this node, and which GPU a job of eddis has locked
 */
#ifndef EDDIS_MODEL_GPU_SHARE_H
#define EDDIS_MODEL_GPU_SHARE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name of the abstract socket of a locked GPU, before "GPU/UID/JOB" (agents/node/gpu_lock.c) */
#define GPU_LOCK_NAME "eddis-gpu/"

/* Check whether jobs share GPUs here on purpose: by CUDA's Multi-Process Service, also as Slurm's
 * gres/mps, or by Slurm's gres/shard.
 */
static inline bool gpu_share_is_meant(void)
{
    return getenv("CUDA_MPS_PIPE_DIRECTORY") || getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") ||
           getenv("SLURM_SHARDS_ON_NODE");
}

/* Check whether another job of eddis than `own` (NULL: any) has locked the GPU with this id. */
static inline bool gpu_share_is_locked(const char *id, const char *own)
{
    char line[512], prefix[192];
    FILE *f = fopen("/proc/net/unix", "re");
    size_t own_length = own ? strlen(own) : 0;
    bool ret = false;

    (void)snprintf(prefix, sizeof prefix, "@" GPU_LOCK_NAME "%.128s/", id);
    while (f && !ret && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, prefix), *job = at ? strchr(at + strlen(prefix), '/') : NULL;
        size_t n = job ? strcspn(++job, " @\n") : 0;

        /* of a long job id the name has the end alone */
        ret = job && !(n > 0 && n <= own_length && strncmp(own + own_length - n, job, n) == 0);
    }
    if (f)
        (void)fclose(f);
    return ret;
}

#endif
