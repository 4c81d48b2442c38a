/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - a worker's settings from its launcher, in environment variables */
#ifndef EDDIS_WORKER_ENVIRONMENT_H
#define EDDIS_WORKER_ENVIRONMENT_H

#include "lib/base/error.h"

#include <stdbool.h>

struct environment {
    const char *board_path; /* EDDIS_BOARD; NULL: not started by eddis-run */
    bool watched; /* EDDIS_NODE_MARK is set: a wrapper of an agent sees how this process ends */
    bool mpi;     /* started by mpirun or srun --mpi */
    int n_ranks;  /* 0: unknown, only MPI knows it */
    int local_rank, n_local; /* rank among the ranks of this node, and their number */
    int slurm;               /* EDDIS_SLURM_PID: process that sends Slurm's signals; -1: none */
};

/* Read the environment variables into *ret; the strings are borrowed.  Return 0, or -EINVAL: a
 * variable is not a number, *ret is unchanged.
 */
int environment_read(struct environment *ret, struct eddis_error *err);

#endif
