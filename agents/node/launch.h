/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - arguments, environment and files of mpirun and its daemons
 *
 * These functions start no process. The argument vectors come from fixed templates and the agent
 * configuration; an order adds only numbers and addresses. Secrets and the user's variables are
 * passed in the rank file (launch_ranks.c), never in arguments.
 *
 * mpirun does not get the nodes' real names: it would treat the name of its own machine, and equal
 * names, specially, and look up the other names. So for mpirun the first node is "localhost", and
 * further nodes are "eddis--1", "eddis--2", ..., by their index in the order.
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

/* Variables that show the program GPUs, and from which users choose GPUs */
enum { N_GPU_LISTS = 3 };
extern const char *const launch_gpu_lists[N_GPU_LISTS];

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
    /* with several nodes: path, without spaces, of a link to eddis-relay */
    const char *relay_program;
    const char *relay_socket, *hosts_file;
    const char *rules_file; /* with several nodes: path of Open MPI's rules for MPI_Allreduce */
    /* path of the library that guards Open MPI's daemons, see guard.h; "": none */
    const char *guard;
    const char *guard_file;
    const char *socket, *board;
    const char *bin;             /* folder of the programs that users start; "": unknown */
    char interface[IF_NAMESIZE]; /* interface that has this node's address; "": there is one node */
    int master_port;             /* MASTER_PORT on the first node; 0 on other nodes */
    int cores;                   /* cores that this node's ranks may use together */
    int agent_pid;
    /* pid of the sender of Slurm's signals, see keep/keeper.h; -1: not in a Slurm step */
    int sender;
};

/* Write the name that mpirun gets for a node (its index in the order) to ret [LAUNCH_NAME]. */
void launch_node_name(int node, char *ret);
/* Return the index of the node for which mpirun got this name; -1: none, or the first node. */
int launch_node_place(const char *name);

/* Check whether there are several nodes and the network between them is IPv6. */
bool launch_is_six(const struct launch *l);

/* Append mpirun's argument vector, whose first word is "mpirun", to ret. Return 0 or a negative
 * errno.
 */
int launch_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append to ret the argument vector of mpirun's daemon on this node, except the arguments that
 * launch_add_relay appends. Return 0 or -ENOMEM.
 */
int launch_daemon_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append to ret the environment of mpirun or its daemon. With several nodes it names this node's
 * eddis-rank and rank file, because mpirun knows only the paths on its own node. Return 0 or a
 * negative errno.
 */
int launch_environ(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append to ret, a daemon's argument vector, the arguments that are in r. */
void launch_add_relay(const struct openmpi *mpi, const struct relay *r, struct strlist *ret);

/* Write mpirun's host file; to be called only with several nodes. Return 0 or a negative errno;
 * -EEXIST: there is such a file.
 */
int launch_write_hosts(const struct launch *l, struct eddis_error *err);

/* Write Open MPI's rules, by which large MPI_Allreduce calls of the user's program run as a ring,
 * to l->rules_file; to be called only with several nodes. By default Open MPI reaches half the
 * speed of a slow network. Return 0 or a negative errno; -EEXIST: there is such a file.
 */
int launch_write_rules(const struct launch *l, struct eddis_error *err);

/* Write the guard's settings to l->guard_file: the allowed address, the secret, and the socket for
 * its reports. Return 0 or a negative errno; -EEXIST: there is such a file.
 */
int launch_write_guard(const struct launch *l, struct eddis_error *err);

/* Write the rank file of this node, and make the folder for the ranks' logs. Return 0 or a negative
 * errno.
 */
int launch_write_rank_file(const struct launch *l, struct eddis_error *err);

/* Borrow the path of the folder in which the ranks of this generation look for a checkpoint; NULL:
 * none.
 */
const char *launch_resume_from(const struct agent_config *b, const struct order *o);

/* Check that the program is found in the PATH of the ranks, and that the working directory and the
 * data exist. Return 0, -ENOENT, -EACCES, -ENOTDIR or -EMFILE; err names what is missing.
 */
int launch_check(const struct launch *l, struct eddis_error *err);

/* Check only the working directory, before the probe runs in it. Returns as launch_check. */
int launch_check_workdir(const char *dir, struct eddis_error *err);

/* Return the number of cores in a list "0-3,8"; 0 for "" or an invalid list. */
int launch_count_cpus(const char *cpus);

/* Prepare this process's own environment for mpirun: remove variables of an outer mpirun, set the
 * mark of this start, and, if this user is root, allow root to run mpirun. Return 0, or a negative
 * errno if a variable cannot be set; others are set by then.
 */
int launch_clean_environment(const struct agent_config *b, struct eddis_error *err);

/* Check whether the user's mpi.mca sets this parameter. */
bool launch_user_sets(const struct agent_config *b, const char *name);

/* Borrow the PATH in which the ranks search for programs, without the folder of eddis's own. */
const char *launch_search_path(const struct launch *l);

#endif
