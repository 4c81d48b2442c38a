/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - what a generation is started with: the arguments of mpirun and of its daemons
 *
 * Nothing here starts anything.  The argument vectors come from fixed templates and the brief; an
 * order adds numbers and addresses only.  Secrets and the user's variables go through the rank
 * file (launch_ranks.c), never through arguments.
 *
 * mpirun never hears what the nodes are called.  It takes a name that is its own machine's for
 * that machine, and two alike for one, and looks up the rest; so the first is "localhost" to it
 * and the others "eddis--1", "eddis--2", by their places in the order.
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

/* Letters of mpirun's names of nodes. */
#define LAUNCH_NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

struct launch {
    const struct brief *brief;
    const struct order *order; /* prepare */
    const struct openmpi *mpi;
    int node;                      /* place of this node in order->node */
    const char *run_dir;           /* of the generation, for Open MPI's session */
    const char *shm_dir;           /* of the generation, for Open MPI's shared memory */
    const struct folders *folders; /* of the job */
    const char *rank_program;      /* path of eddis-rank */
    const char *rank_file;
    const char *relay_program; /* several nodes: link to eddis-relay, no space in its path */
    const char *relay_socket, *hosts_file;
    const char *rules_file; /* several nodes: how MPI_Allreduce goes */
    const char *guard;      /* library that guards Open MPI's daemons, see guard.h; "": none */
    const char *guard_file;
    const char *socket, *board;
    const char *bin;             /* folder of the programs that users start; "": unknown */
    char interface[IF_NAMESIZE]; /* that has this node's address; "" when there is one node */
    int master_port;             /* of the first node; 0 on the others */
    int cores;                   /* that this node's ranks may use together */
    int agent_pid;
    int sender; /* of signals of Slurm's to this step, see keep/keeper.h; -1: there is no step */
};

/* Write what mpirun calls a node by to ret [LAUNCH_NAME]; its place from that name, or -1. */
void launch_node_name(int node, char *ret);
int launch_node_place(const char *name);

/* Whether the job's network is one of IPv6. */
bool launch_is_six(const struct launch *l);

/* Append mpirun's argument vector to ret; its first word is "mpirun". */
int launch_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append the argument vector of mpirun's daemon on this node, but for what a relay brings. */
int launch_daemon_argv(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append the environment of mpirun or its daemon.  Of several nodes the ranks find in it the
 * eddis-rank and the rank file that are on theirs: mpirun knows paths of its own node only.
 */
int launch_environ(const struct launch *l, struct strlist *ret, struct eddis_error *err);

/* Append to a daemon's arguments what its relay has brought. */
void launch_add_relay(const struct openmpi *mpi, const struct relay *r, struct strlist *ret);

/* Write the file that names the nodes for mpirun, when there are several. */
int launch_write_hosts(const struct launch *l, struct eddis_error *err);

/* Write the file by which Open MPI does the user's own large MPI_Allreduce as a ring, when there
 * are several nodes: by itself it would not, and reach half the speed of a slow network.
 */
int launch_write_rules(const struct launch *l, struct eddis_error *err);

/* Write the file by which the guard knows what to allow. */
int launch_write_guard(const struct launch *l, struct eddis_error *err);

/* Write the rank file. */
int launch_write_rank_file(const struct launch *l, struct eddis_error *err);

/* Borrows the folder in which this generation is to look for a checkpoint, or NULL. */
const char *launch_resume_from(const struct brief *b, const struct order *o);

/* Check that the program can be found as the ranks will look for it, that its folder is there, and
 * the data.  -ENOENT, -EACCES, -ENOTDIR: err says what is missing.
 */
int launch_check(const struct launch *l, struct eddis_error *err);

/* Check the program's folder alone, before the probe runs in it.  Fails as launch_check. */
int launch_check_workdir(const char *dir, struct eddis_error *err);

/* Return how many cores a list "0-3,8" names; 0 for "" and nonsense. */
int launch_count_cpus(const char *cpus);

/* Make this process's own environment fit for starting mpirun: no traces of an mpirun above us, the
 * mark of this start, and leave to run as root where we are root.
 */
int launch_clean_environment(const struct brief *b, struct eddis_error *err);

/* Whether the user's mpi.mca sets this parameter. */
bool launch_user_sets(const struct brief *b, const char *name);

/* Borrow the value that a variable will have for the ranks unless we set it, or NULL. */
const char *launch_given(const struct launch *l, const char *name);

/* Borrow the list of folders in which the ranks will look for programs, without our own. */
const char *launch_search_path(const struct launch *l);

#endif
