/* SPDX-License-Identifier: Apache-2.0 */
/* generation.h - one start of the job's workers on this node: files, mpirun, wrappers, board
 *
 * struct generation records which processes run and what they reported, and its functions pass
 * signals on. The driver decides what to do; agent_orders.c carries out its orders.
 */
#ifndef EDDIS_AGENTS_NODE_GENERATION_H
#define EDDIS_AGENTS_NODE_GENERATION_H

#include "agents/node/watch/core_watch.h"
#include "agents/node/watch/gpu_watch.h"
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

/* A process that may be stopped (SIGSTOP). A process that is stopped for a lease is killed. */
struct frozen {
    int64_t looked_ns;  /* last check; 0: never */
    int64_t stopped_ns; /* time for which the process has been stopped without interruption */
    int64_t switches;   /* see proctree_switches */
};

struct worker {
    int rank, local_rank;
    pid_t wrapper, pid; /* process ids; 0: not started */
    /* descriptor that is readable when the wrapper has ended; -1: none, or the wrapper is dead */
    int pidfd;
    int watch_error;          /* errno of opening the pidfd of a live wrapper; 0: no error */
    bool ended;               /* the worker's end was reported */
    bool ending;              /* the program was already ending when another rank failed */
    bool seen;                /* `before` is valid */
    struct board_page before; /* progress page as last reported */
    struct step_watch steps;
    struct quiet_watch quiet;                /* used while the worker has no page */
    struct contact_watch_rank contact_watch; /* used while the worker has no page */
    struct stack_inspect stack; /* inspection of the program by py-spy, for ORDER_LOOK */
    struct frozen wrapper_frozen, program_frozen;
    int64_t held_ns; /* end of the worker's last pause; 0: never paused */
};

/* A node of a generation; its index is that in the order */
struct generation_node {
    int agent;
    char host[256];   /* name of the node, for messages */
    char address[46]; /* address on the generation's network */
};

struct generation {
    int64_t number;
    bool probe; /* the ranks measure the network */
    const struct openmpi *mpi;
    struct generation_node *node; /* [n_nodes] nodes of the generation */
    int n_nodes, place;           /* number of nodes; index of this node (mpirun runs on node 0) */
    char *share_dir; /* folder in which each node must see the files of all nodes; NULL: none */
    char share[PROTOCOL_MARKER + 1];
    size_t share_kept; /* number `kept` of shared_folder.h */
    int n, n_ended;
    struct worker *worker;    /* [n], by local rank */
    struct core_watch *cores; /* processor time that the workers lose */
    struct gpu_watch *gpus;   /* what the workers' GPUs do */
    struct link_watch *links; /* load of the workers' network connections */
    struct folders folders;
    char run[FOLDERS_PATH + 24], shm[FOLDERS_PATH + 24]; /* folders of this generation */
    char board_path[FOLDERS_PATH + 40], rank_file[FOLDERS_PATH + 40];
    char socket_path[FOLDERS_PATH + 40], log_path[PATH_MAX];
    char relay_path[FOLDERS_PATH + 40], relay_program[FOLDERS_PATH + 40];
    char hosts_path[FOLDERS_PATH + 40], rules_path[FOLDERS_PATH + 40];
    char guard_path[FOLDERS_PATH + 40];
    int socket;  /* receives the wrappers' messages */
    int relay;   /* socket that receives the messages of mpirun's relay; -1: none */
    int port_fd; /* socket that reserves MASTER_PORT until the start; -1: after the start */
    struct board *board;
    int64_t shm_free;  /* free shared memory before the ranks started, in bytes; -1: unknown */
    bool board_linked; /* the board's file still exists */
    struct strlist *argv, *env;
    /* the agent is in a Slurm step, whose signals may go to every process of the step */
    bool in_step;
    /* mpirun, or its daemon on nodes other than node 0; 0 before the start and after the end */
    pid_t mpirun;
    bool started, mpirun_ended;
    /* step count that all workers must reach for an additional report; 0: none, or reported */
    int64_t report_at_step;
    bool warm; /* all workers have done PROTOCOL_COLD_STEPS steps, which are not measured */
    struct poll_backoff backoff;        /* polls for report_at_step */
    int64_t look_ns;                    /* time of the next poll of the workers' steps */
    struct contact_watch contact_watch; /* contact between ranks without a progress page */
    bool open; /* rank 0 is on this node, and its eddis_commit will ask for the mode */
    struct poll_backoff asked; /* polls for rank 0's eddis_commit */
    int32_t choice_version;    /* version of rank 0's choice that was reported */
    bool reported_forbidden;   /* the user was told that the kernel forbids py-spy */
    bool network_reported;     /* rank 0's check of the network was reported */
    int64_t log_offset;        /* start of this generation's output in mpirun.log */
    struct frozen mpirun_frozen;
    struct http_rejections refused; /* rejected connections that have not been reported */
};

/* Inputs of a generation other than its order, all borrowed */
struct generation_place {
    const struct agent_config *agent_config;
    const struct folders *folders;
    const struct openmpi *mpi;
    const char *mpi_guard; /* as guard in struct launch */
    const char *bin;       /* folder of the programs that users start */
    int cores;
    int sender; /* as in struct launch */
};

/* Make the files, the board, the sockets and the arguments that the start of the generation needs,
 * in *ret, which the caller frees with generation_close. Return 0 or a negative errno.
 */
int generation_prepare(const struct generation_place *where, const struct order *order,
                       struct generation **ret, struct eddis_error *err);

/* Return the index of a node whose file in the shared folder is not visible on this node; -1: the
 * files of all nodes are visible.
 */
int generation_unseen(struct generation *g);

/* Start mpirun; this must be the first node. b: the agent configuration. Return 0 or a negative
 * errno.
 */
int generation_start(struct generation *g, const struct agent_config *b, struct eddis_error *err);

/* Start mpirun's daemon on this node, which is not the first, with the addresses in r. Return 0 or
 * a negative errno.
 */
int generation_start_daemon(struct generation *g, const struct agent_config *b,
                            const struct relay *r, struct eddis_error *err);

/* Publish on the board the first plan and the mode that the order contains. Return -EINVAL if the
 * plan is for another number of ranks, otherwise the result of board_settle.
 */
int generation_settle(struct generation *g, const struct order *order, struct eddis_error *err);
/* Publish on the board the later plan that the order contains. Return -EINVAL if the plan is for
 * another number of ranks, otherwise the result of board_publish.
 */
int generation_replan(struct generation *g, const struct order *order, struct eddis_error *err);

/* Inspect whether ranks without a progress page have contact to other ranks, record this in their
 * contact_watch, and set contact_watch.next_ns.
 */
void generation_inspect_contacts(struct generation *g, int64_t now_ns);

/* Receive mpirun's next request for a daemon, in *ret, with the node's real name as its host; the
 * caller frees *ret with relay_free. Returns as relay_receive.
 */
int generation_relay(struct generation *g, struct relay *ret, struct eddis_error *err);

/* Receive the next valid message of a wrapper in *ret, and return the wrapper's worker, borrowed
 * from g; NULL: there is no message. Messages of a worker that has ended are ignored, except
 * output. Messages about connections that mpirun or its daemon rejected are counted in g->refused.
 */
struct worker *generation_message(struct generation *g, struct rank_message *ret);

/* Check whether a rank's end message shows that the rank was killed before the failure of another
 * rank that was reported earlier (w->ending is set). Exits and SIGABRT do not count, as they may be
 * reactions to another rank's end; nor does SIGTERM, which may come from mpirun.
 */
bool generation_was_first(const struct worker *w, const struct rank_message *m);

/* Send a signal to all live wrappers, which pass it on to their programs. */
void generation_signal(const struct generation *g, int sig);

/* Write a row of progress for each worker with a progress page to ret [g->n], and return the number
 * of rows. The members recent_* count from the previous call.
 */
int generation_progress(struct generation *g, int64_t now_ns, struct progress *ret);

/* Borrow rank 0's choice of communication algorithms, as last read; NULL: rank 0 is not on this
 * node, or its choice has not changed since the previous call.
 */
const struct comm_choice *generation_choice(struct generation *g);

/* Return the result of rank 0's check of the network, borrowed from g, at the first call after it
 * is known; otherwise NULL.
 */
const struct network_check *generation_network_check(struct generation *g);

/* Read the steps that the workers have done since the previous call, and set look_ns. most_ns: time
 * between two reports. Return true if there are measurements of a plan or a speed that were never
 * reported, so that the agent should report now.
 */
bool generation_look(struct generation *g, int64_t most_ns, int64_t now_ns);

/* Check whether an additional report is due, because all workers have done PROTOCOL_COLD_STEPS
 * steps, or report_at_step steps; each is true only at one call. To be called at backoff.next_ns;
 * most_ns: time between two reports.
 */
bool generation_reached_step(struct generation *g, int64_t most_ns, int64_t now_ns);

/* Check whether rank 0 is in eddis_commit and waits for the mode. To be called at asked.next_ns. */
bool generation_asks_mode(struct generation *g, int64_t now_ns);

/* If rank 0 asks for the mode, and this was not returned before, return the bytes of its model and
 * fill *ret; otherwise return -1.
 */
int64_t generation_model_bytes(struct generation *g, struct program *ret);

/* Return the end of mpirun's log of this generation, with the real names of nodes, as text that the
 * caller frees; NULL: the log is empty.
 */
char *generation_words(const struct generation *g);

/* Return the JSON line that the network probe has printed as this rank, which the caller frees;
 * NULL: none.
 */
char *generation_network(const struct generation *g, int rank);

/* Stop (SIGSTOP) all descendants of the wrappers. */
void generation_hold(struct generation *g);

/* Continue (SIGCONT) all stopped processes of the ranks. Silence and ages of ranks count from
 * now_ns.
 */
void generation_go_on(struct generation *g, int64_t now_ns);

/* Return the time from from_ns to now_ns; time before the end of the worker's last pause does not
 * count.
 */
int64_t generation_age_ns(const struct worker *w, int64_t now_ns, int64_t from_ns);

/* Find mpirun, a wrapper or a program that has been stopped (SIGSTOP) for limit_ns, kill it, and
 * write to ret [size] what was killed. Return false if there is none.
 */
bool generation_kill_frozen(struct generation *g, int64_t now_ns, int64_t limit_ns, char *ret,
                            size_t size);

/* Free g and remove the generation's files. Accepts NULL. Return the pid of a killed process that
 * read the GPUs and has not ended yet; 0: there is none.
 */
pid_t generation_close(struct generation *g);

#endif
