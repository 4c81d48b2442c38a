/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_batch.h - identity of a Slurm batch job over its restarts
 *
 * Slurm may requeue a batch job and start its script again on other nodes.  Meanwhile a node that
 * was cut off may still run processes of the earlier start.  The job's name stays the same and its
 * number of restarts grows, so that it is known which checkpoints are older.
 */
#ifndef EDDIS_MODEL_SLURM_BATCH_H
#define EDDIS_MODEL_SLURM_BATCH_H

#include "lib/slurm/slurm.h"

#include <stdint.h>

enum {
    SLURM_NAME = 128,
    SLURM_MOST_STARTS = 900000,
    SLURM_GENERATIONS = 1000, /* generations reserved for each start of the script */
};

/* A batch job at the present start of its script */
struct slurm_batch {
    char job[2 * SLURM_ID]; /* id for scontrol: "12", or "12_3" in an array */
    char name[SLURM_NAME];  /* "slurm-<cluster>-<job>" */
    int64_t restarts;       /* number of earlier starts of the script */
    int64_t newest;         /* step of the newest checkpoint at the start of the script; -1: none or
                             * unknown */
};

/* Read the batch job from the variables.  Return 1; 0: this is not a batch script, and only those
 * are requeued.  -EINVAL: a variable is missing or cannot be parsed.
 */
int slurm_batch_read(slurm_variable_fn *variable, void *ctx, struct slurm_batch *ret,
                     struct eddis_error *err);

#endif
