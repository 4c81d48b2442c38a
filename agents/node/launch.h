/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - what a generation is started with: mpirun's arguments and each rank's environment
 *
 * Nothing here starts anything.  The argument vector comes from a fixed template and the brief;
 * an order adds numbers only.  Secrets and the user's variables go through the rank file, never
 * through arguments.
 */
#ifndef EDDIS_AGENTS_NODE_LAUNCH_H
#define EDDIS_AGENTS_NODE_LAUNCH_H

#include "folders.h"
#include "rank_file.h"
#include "strlist.h"

#include "agents/protocol.h"

struct launch {
    const struct brief *brief;
    const struct order *order;     /* prepare */
    const char *run_dir;           /* of the generation, for Open MPI's session */
    const char *shm_dir;           /* of the generation, for Open MPI's shared memory */
    const struct folders *folders; /* of the job */
    const char *rank_program;      /* path of eddis-rank */
    const char *rank_file;         /* its argument */
    const char *socket, *board;
    const char *bin; /* folder of the programs that users start; "": unknown */
    int master_port;
    int cores; /* that this node's ranks may use together */
    int agent_pid;
};

/* mpirun's argument vector; argv[0] is "mpirun". */
int launch_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Write the rank file. */
int launch_write_rank_file(const struct launch *l, struct eddis_error *err);

/* Check that the program can be found as the ranks will look for it, and that its folder is there.
 * -ENOENT, -EACCES, -ENOTDIR: err says what is missing.
 */
int launch_check(const struct launch *l, struct eddis_error *err);

/* How many cores a list "0-3,8" names; 0 for "" and nonsense. */
int launch_count_cpus(const char *cpus);

/* Make this process's own environment fit for starting mpirun: no traces of an mpirun above us,
 * and leave to run as root where we are root.
 */
int launch_clean_environment(struct eddis_error *err);

#endif
