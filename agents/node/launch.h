/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - arguments, environment and files of mpirun and its daemons
 *
 * Nothing here starts a process.  The argument vectors come from fixed templates and the agent
 * configuration; an order adds only numbers and addresses.  Secrets and the user's variables go
 * through the rank file (launch_ranks.c), never through arguments.
 *
 * mpirun does not get the nodes' real names.  It would take its own machine's name for that
 * machine, two equal names for one machine, and look up the others.  So the first node is
 * "localhost" to it, and the others are "eddis--1", "eddis--2", by their places in the order.
 */
#ifndef EDDIS_AGENTS_NODE_LAUNCH_H
#define EDDIS_AGENTS_NODE_LAUNCH_H

#include "lib/base/strlist.h"
#include "openmpi.h"
#include "rank_file.h"

#include "agents/node/keep/folders.h"
#include "agents/protocol/protocol.h"

#include <net/if.h>

enum { LAUNCH_NAME = 32 };

/* Characters in the names of nodes that mpirun gets. */
#define LAUNCH_NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

struct launch {
    const struct agent_config *agent_config;
    const struct order *order; /* the order to prepare */
    const struct openmpi *mpi;
    int node;                      /* index of this node in order->node */
    const char *run_dir;           /* the generation's folder for Open MPI's session */
    const char *shm_dir;           /* the generation's folder for Open MPI's shared memory */
    const struct folders *folders; /* folders of the job */
    const char *rank_program;      /* path of eddis-rank */
    const char *rank_file;
    const char *relay_program; /* several nodes: link to eddis-relay, no space in its path */
    const char *relay_socket, *hosts_file;
    const char *rules_file; /* several nodes: algorithms of MPI_Allreduce */
    const char *guard;      /* library that guards Open MPI's daemons, see guard.h; "": none */
    const char *guard_file;
    const char *socket, *board;
    const char *bin;             /* folder of the programs that users start; "": unknown */
    char interface[IF_NAMESIZE]; /* interface with this node's address; "": one node */
    int master_port;             /* MASTER_PORT on the first node; 0 on the others */
    int cores;                   /* cores that this node's ranks may use together */
    int agent_pid;
    int sender; /* pid of the sender of Slurm's signals, see keep/keeper.h; -1: not in a step */
};

/* Write the name of a node for mpirun to ret [LAUNCH_NAME]. */
void launch_node_name(int node, char *ret);
/* Return the index of the node with this name for mpirun, if it is not the first; else -1. */
int launch_node_place(const char *name);

/* Check whether the job's network, between several nodes, is IPv6. */
bool launch_is_six(const struct launch *l);

/* Append mpirun's argument vector to ret; its first word is "mpirun". */
int launch_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append the argument vector of mpirun's daemon on this node, without what launch_add_relay adds.
 */
int launch_daemon_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append the environment of mpirun or its daemon.  With several nodes it names each node's own
 * eddis-rank and rank file, because mpirun knows only the paths of its own node.
 */
int launch_environ(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append the arguments that a relay has brought to a daemon's argument vector. */
void launch_add_relay(const struct openmpi *mpi, const struct relay *r, struct strlist *ret);

/* Write mpirun's host file; only for several nodes. */
int launch_write_hosts(const struct launch *l, struct eddis_error *err);

/* Write Open MPI's rules to run the user's own large MPI_Allreduce as a ring; only for several
 * nodes.  By default Open MPI reaches half the speed of a slow network.
 */
int launch_write_rules(const struct launch *l, struct eddis_error *err);

/* Write the guard's settings: the allowed address, the secret, and the socket for its reports. */
int launch_write_guard(const struct launch *l, struct eddis_error *err);

/* Write the rank file of this node, and make its log folder. */
int launch_write_rank_file(const struct launch *l, struct eddis_error *err);

/* Borrow the folder in which this generation looks for a checkpoint; NULL: none. */
const char *launch_resume_from(const struct agent_config *b, const struct order *o);

/* Check that the program is found as the ranks will search for it, and that its folder and the data
 * exist. -ENOENT, -EACCES, -ENOTDIR, -EMFILE: err names what is missing.
 */
int launch_check(const struct launch *l, struct eddis_error *err);

/* Check only the program's folder, before the probe runs in it.  Fails as launch_check. */
int launch_check_workdir(const char *dir, struct eddis_error *err);

/* Return the number of cores in a list "0-3,8"; 0 for "" or an invalid list. */
int launch_count_cpus(const char *cpus);

/* Prepare this process's own environment for mpirun: remove variables of an outer mpirun, set the
 * mark of this start, and allow root if we are root.
 */
int launch_clean_environment(const struct agent_config *b, struct eddis_error *err);

/* Check whether the user's mpi.mca sets this parameter. */
bool launch_user_sets(const struct agent_config *b, const char *name);

/* Borrow the PATH in which the ranks search for programs, without the folder of eddis's own. */
const char *launch_search_path(const struct launch *l);

#endif
