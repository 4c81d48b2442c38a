/* SPDX-License-Identifier: Apache-2.0 */
/* slurm.h - the nodes of a Slurm allocation, from the variables that Slurm sets
 *
 * A batch script and the shell of salloc have the job's variables; a program that srun has started
 * has those of its step beside them.  A batch script has SLURM_PROCID and SLURM_NODEID, too, so it
 * is SLURM_STEP_ID alone that tells of a step; and that of salloc's shell on a node is none, for it
 * stands for the whole job.  The nodes of a heterogeneous job stand in one list for each group;
 * each group is a job with a number of its own, too, by which its steps go.
 */
#ifndef EDDIS_MODEL_SLURM_H
#define EDDIS_MODEL_SLURM_H

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SLURM_ID = 24, SLURM_GROUPS = 128 };

struct slurm_node {
    char *name;    /* as Slurm knows it */
    int group;     /* of the heterogeneous job, from 0 */
    int64_t tasks; /* that srun would start there; 0: not known */
};

struct slurm_allocation {
    char job[SLURM_ID]; /* number of the job; of a heterogeneous one that of its first group */
    int groups;         /* 0: the job is not heterogeneous */
    char (*group_job)[SLURM_ID]; /* [groups] the number of each as a job of its own */
    struct slurm_node *node;     /* [n], each once, by group and then as Slurm lists them */
    size_t n;
};

/* The value of a variable, or NULL. */
typedef const char *slurm_variable_fn(void *ctx, const char *name);

/* Returns 1 and an allocation that slurm_allocation_free frees; 0: these variables are of none.
 * -EINVAL: a variable cannot be read, or this is a task that must not start workers.
 */
int slurm_allocation_read(slurm_variable_fn *variable, void *ctx, struct slurm_allocation **ret,
                          struct eddis_error *err);

/* Borrow the node of exactly this name; NULL: it is not in the allocation. */
const struct slurm_node *slurm_allocation_find(const struct slurm_allocation *a, const char *name);

/* Borrow the number by which the steps of a group go. */
const char *slurm_allocation_job(const struct slurm_allocation *a, int group);

/* Accepts NULL. */
void slurm_allocation_free(struct slurm_allocation *a);

#endif
