/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - what the launcher tells a worker in its environment */
#ifndef EDDIS_WORKER_ENVIRONMENT_H
#define EDDIS_WORKER_ENVIRONMENT_H

#include "lib/base/error.h"

#include <stdbool.h>

struct environment {
    const char *board_path;  /* EDDIS_BOARD; NULL: not started by eddis-run */
    bool watched;            /* EDDIS_NODE_MARK: below an agent, whose wrapper sees how we end */
    bool mpi;                /* started by mpirun or srun --mpi */
    int n_ranks;             /* 0: only MPI knows */
    int local_rank, n_local; /* on this node */
    int slurm;               /* EDDIS_SLURM_PID: who sends Slurm's signals; -1: nobody does */
};

/* Read the environment; the strings are borrowed.  -EINVAL: a variable is no number. */
int environment_read(struct environment *ret, struct eddis_error *err);

#endif
