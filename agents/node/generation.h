/* SPDX-License-Identifier: Apache-2.0 */
/* generation.h - one start of the job's workers on this node: files, mpirun, wrappers, board
 *
 * It records which processes run and what they reported, and passes signals on.  The driver decides
 * what to do; agent_orders.c carries it out.
 */
#ifndef EDDIS_AGENTS_NODE_GENERATION_H
#define EDDIS_AGENTS_NODE_GENERATION_H

#include "agents/node/watch/core_watch.h"
#include "agents/node/watch/link_watch.h"
#include "agents/node/watch/poll_backoff.h"
#include "agents/node/watch/quiet_watch.h"
#include "agents/node/watch/stack_inspect.h"
#include "agents/node/watch/step_watch.h"
#include "openmpi.h"
#include "rank_file.h"

#include "agents/node/keep/folders.h"
#include "agents/node/watch/contact_watch.h"

#include "agents/protocol/protocol.h"
#include "lib/board/board.h"
#include "lib/http/rejections.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process seen stopped (SIGSTOP).  It has the time of a lease to continue before it is killed. */
struct frozen {
    int64_t looked_ns;  /* last check; 0: never */
    int64_t stopped_ns; /* time stopped without a break so far */
    int64_t switches;   /* see proctree_switches */
};

struct worker {
    int rank, local_rank;
    pid_t wrapper, pid;       /* 0 until they have started */
    int pidfd;                /* readable when the wrapper ends; -1: none, or it is dead */
    int watch_error;          /* errno of a failed pidfd of a live wrapper; 0: none */
    bool ended;               /* its end was reported */
    bool ending;              /* its program was already ending when another rank failed */
    bool seen;                /* `before` is valid */
    struct board_page before; /* progress page as last reported */
    struct step_watch steps;
    struct quiet_watch quiet;                /* used while it has no progress page */
    struct contact_watch_rank contact_watch; /* used while it has no progress page */
    struct stack_inspect stack; /* inspection by py-spy, when the driver has asked for it */
    struct frozen wrapper_frozen, program_frozen;
    int64_t held_ns; /* end of its last pause; 0: never paused */
};

/* A node of a generation; its index is its place in the order. */
struct generation_node {
    int agent;
    char host[256];   /* name for people */
    char address[46]; /* address on the generation's network */
};

struct generation {
    int64_t number;
    bool probe; /* its ranks measure the network */
    const struct openmpi *mpi;
    struct generation_node *node; /* [n_nodes] */
    int n_nodes, place;           /* place: index of this node; mpirun runs on node 0 */
    char *share_dir; /* folder in which all nodes must see this node's file; NULL: none */
    char share[PROTOCOL_MARKER + 1];
    size_t share_kept; /* see shared_folder.h */
    int n, n_ended;
    struct worker *worker;    /* [n], by local rank */
    struct core_watch *cores; /* processor time that these workers lose */
    struct link_watch *links; /* load of their network connections */
    struct folders folders;
    char run[FOLDERS_PATH + 24], shm[FOLDERS_PATH + 24]; /* folders of this generation */
    char board_path[FOLDERS_PATH + 40], rank_file[FOLDERS_PATH + 40];
    char socket_path[FOLDERS_PATH + 40], log_path[PATH_MAX];
    char relay_path[FOLDERS_PATH + 40], relay_program[FOLDERS_PATH + 40];
    char hosts_path[FOLDERS_PATH + 40], rules_path[FOLDERS_PATH + 40];
    char guard_path[FOLDERS_PATH + 40];
    int socket;  /* receives the wrappers' messages */
    int relay;   /* receives the messages of mpirun's relay; -1: none */
    int port_fd; /* reserves MASTER_PORT until the start; -1 afterwards */
    struct board *board;
    int64_t shm_free;  /* free shared memory before the ranks started, in bytes; -1: unknown */
    bool board_linked; /* the board's file still exists */
    struct strlist *argv, *env;
    bool in_step; /* in a Slurm step, whose signals may go to every process here */
    pid_t mpirun; /* or its daemon, on other nodes; 0 before the start and after the end */
    bool started, mpirun_ended;
    int64_t report_at_step;      /* report once all have done so many steps; 0: none, or reported */
    bool warm;                   /* all have done their first few steps, which are not measured */
    struct poll_backoff backoff; /* polls for these steps */
    int64_t look_ns;             /* time of the next poll of the workers' steps */
    struct contact_watch contact_watch; /* contact between ranks without a progress page */
    bool open;                 /* rank 0 is here, and its eddis_commit will ask for the mode */
    struct poll_backoff asked; /* polls for that */
    int32_t choice_version;    /* version of rank 0's choice that was reported */
    bool forbidden_told;       /* it was reported that the kernel forbids py-spy */
    bool network_reported;     /* rank 0's check of the network was reported */
    int64_t log_offset;        /* start of this generation's output in mpirun.log */
    struct frozen mpirun_frozen;
    struct http_rejections refused; /* rejected connections, not yet reported */
};

/* Inputs of a generation besides its order, all borrowed. */
struct generation_place {
    const struct agent_config *agent_config;
    const struct folders *folders;
    const struct openmpi *mpi;
    const char *mpi_guard; /* as guard in struct launch */
    const char *bin;       /* folder of the programs that users start */
    int cores;
    int sender; /* as in struct launch */
};

/* Make all files, the board, sockets and arguments that a start of this order needs.  The caller
 * frees *ret with generation_close.
 */
int generation_prepare(const struct generation_place *where, const struct order *order,
                       struct generation **ret, struct eddis_error *err);

/* Return the place of a node whose file in the shared folder is not visible here; -1: all are. */
int generation_unseen(struct generation *g);

/* Start mpirun, on the first node. b: the agent configuration. */
int generation_start(struct generation *g, const struct agent_config *b, struct eddis_error *err);

/* Start mpirun's daemon on another node, with the addresses that the relay has brought. */
int generation_start_daemon(struct generation *g, const struct agent_config *b,
                            const struct relay *r, struct eddis_error *err);

/* Publish the first plan, and the mode that comes with it, on the board. -EINVAL: the plan is for
 * another number of ranks; else as board_settle.
 */
int generation_settle(struct generation *g, const struct order *order, struct eddis_error *err);
/* Publish a later plan on the board.  Fails as generation_settle, or as board_publish. */
int generation_replan(struct generation *g, const struct order *order, struct eddis_error *err);

/* Check whether ranks without a progress page have contacted others, and set meeting.next_ns. */
void generation_inspect_contacts(struct generation *g, int64_t now_ns);

/* Receive mpirun's next request for a daemon, with the host's name for people; the caller frees
 * *ret with relay_free.  Return and fail as relay_receive.
 */
int generation_relay(struct generation *g, struct relay *ret, struct eddis_error *err);

/* Receive the next valid message of a wrapper and return its worker; NULL: none.  From a worker
 * that has ended, accept only output.  Count connections that mpirun or its daemon rejected.
 */
struct worker *generation_message(struct generation *g, struct rank_message *ret);

/* Check whether a rank's end message shows that it was killed before the failure reported earlier,
 * when w->ending was set.  A rank that exited or aborted may have reacted to another's end; SIGTERM
 * may come from mpirun.
 */
bool generation_was_first(const struct worker *w, const struct rank_message *m);

/* Send a signal to all live wrappers, which pass it on. */
void generation_signal(const struct generation *g, int sig);

/* Write a row of progress for each worker with a progress page to ret [g->n]; return their number.
 * Recent values count since the previous call.
 */
int generation_progress(struct generation *g, int64_t now_ns, struct progress *ret);

/* Borrow rank 0's choice of communication algorithms, as last read; NULL: rank 0 is not here, or
 * nothing is new since the previous call.
 */
const struct comm_choice *generation_choice(struct generation *g);

/* Return what rank 0 found out about the network, once; NULL: nothing, or returned before. */
const struct network_check *generation_network_check(struct generation *g);

/* Read the steps done since the previous call, and set look_ns. most_ns: time between two reports.
 * Return true if the next report should not be waited for: measurements of a plan or a speed that
 * were never reported.
 */
bool generation_look(struct generation *g, int64_t most_ns, int64_t now_ns);

/* Check whether all workers have done report_at_step steps, which is true once.  Call it at
 * backoff.next_ns; most_ns: time between two reports.
 */
bool generation_reached_step(struct generation *g, int64_t most_ns, int64_t now_ns);

/* Check whether rank 0 is in eddis_commit and waits for the mode.  Call it at asked.next_ns. */
bool generation_asks_mode(struct generation *g, int64_t now_ns);

/* Return the bytes of rank 0's model, once, when it asks for the mode, and fill *ret; else -1. */
int64_t generation_model_bytes(struct generation *g, struct program *ret);

/* Return the end of mpirun's log of this generation, with the nodes' names for people; NULL: empty.
 * The caller frees it.
 */
char *generation_words(const struct generation *g);

/* Return the JSON line that the network's probe has printed as this rank; NULL: none.  The caller
 * frees it.
 */
char *generation_network(const struct generation *g, int rank);

/* Stop (SIGSTOP) all processes below the wrappers that run. */
void generation_hold(struct generation *g);

/* Let all stopped processes of the ranks run again.  Silence and ages of ranks count from now_ns.
 */
void generation_go_on(struct generation *g, int64_t now_ns);

/* Return how long ago from_ns was; time before the worker's last pause does not count. */
int64_t generation_age_ns(const struct worker *w, int64_t now_ns, int64_t from_ns);

/* Find mpirun, a wrapper or a program that was stopped by a signal for limit_ns, kill it, and write
 * to ret [size] what was done.  Return false if there is none.
 */
bool generation_kill_frozen(struct generation *g, int64_t now_ns, int64_t limit_ns, char *ret,
                            size_t size);

/* Free g and remove its files; accept NULL. */
void generation_close(struct generation *g);

#endif
