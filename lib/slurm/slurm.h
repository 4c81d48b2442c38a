/* SPDX-License-Identifier: Apache-2.0 */
/* slurm.h - the nodes of a Slurm allocation, from the variables that Slurm sets
 *
 * Batch scripts and the shell of salloc have the job's variables; programs started by srun also
 * have those of their step.  A batch script has SLURM_PROCID and SLURM_NODEID, too, so only
 * SLURM_STEP_ID identifies a step.  salloc's shell on a node also has SLURM_STEP_ID, but with a
 * special number, which stands for the whole job.  A heterogeneous job has one list of nodes per
 * group.  Each group is also a job with its own number, which its steps use.
 */
#ifndef EDDIS_MODEL_SLURM_H
#define EDDIS_MODEL_SLURM_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SLURM_ID = 24, SLURM_GROUPS = 128 };

/* One node of an allocation */
struct slurm_node {
    char *name;    /* name in Slurm */
    int group;     /* group of a heterogeneous job, from 0 */
    int64_t tasks; /* tasks that srun would start on the node; 0: unknown */
};

/* Nodes of a job or step */
struct slurm_allocation {
    char job[SLURM_ID];          /* number of the job; of its first group if heterogeneous */
    int groups;                  /* 0: the job is not heterogeneous */
    char (*group_job)[SLURM_ID]; /* [groups] job number of each group */
    struct slurm_node *node;     /* [n], each once, by group and in Slurm's order */
    size_t n;
};

/* Callback: return the value of a variable; NULL: unset. */
typedef const char *slurm_variable_fn(void *ctx, const char *name);

/* Return a variable of this process's environment, borrowed; NULL: not set. */
slurm_variable_fn slurm_variable_own;

/* Read the allocation from the variables.  Return 1 and the allocation, for slurm_allocation_free;
 * 0: the variables describe no allocation.  -EINVAL: a variable cannot be parsed, or this task must
 * not start workers.
 */
int slurm_allocation_read(slurm_variable_fn *variable, void *ctx, struct slurm_allocation **ret,
                          struct eddis_error *err);

/* Borrow the node of exactly this name; NULL: it is not in the allocation. */
const struct slurm_node *slurm_allocation_find(const struct slurm_allocation *a, const char *name);

/* Borrow the job number to use for steps of a group. */
const char *slurm_allocation_job(const struct slurm_allocation *a, int group);

/* Free an allocation.  Accepts NULL. */
void slurm_allocation_free(struct slurm_allocation *a);

#endif
