/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_batch.h - what a batch job of Slurm's is called at each of its starts
 *
 * Slurm may put a batch job back and start its script anew, on other nodes, while a node that was
 * cut off still runs what the start before had begun.  The name stays; the number of the start does
 * not, so that checkpoints know the older from the newer.
 */
#ifndef EDDIS_MODEL_SLURM_BATCH_H
#define EDDIS_MODEL_SLURM_BATCH_H

#include "lib/model/slurm.h"

#include <stdint.h>

enum {
    SLURM_NAME = 128,
    SLURM_MOST_STARTS = 900000,
    SLURM_GENERATIONS = 1000, /* that one start is given */
};

struct slurm_batch {
    char job[2 * SLURM_ID]; /* as scontrol takes it: "12", of an array "12_3" */
    char name[SLURM_NAME];  /* "slurm-<cluster>-<job>" */
    int64_t restarts;       /* starts before this one */
    int64_t newest;         /* step of the newest checkpoint as this one begins; -1: there is none,
                             * or nobody has looked */
};

/* Returns 1, or 0: these variables are of no batch script, which alone is started again.
 * -EINVAL: one that is needed is missing or cannot be read.
 */
int slurm_batch_read(slurm_variable_fn *variable, void *ctx, struct slurm_batch *ret,
                     struct eddis_error *err);

#endif
