/* SPDX-License-Identifier: Apache-2.0 */
/* generation.h - one start of the job's workers on this node: files, mpirun, wrappers, board
 *
 * It knows who runs and what they said, and passes signals; what to do about it is decided by the
 * driver and carried out in agent_orders.c.
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
#include "lib/http/refusals.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A process that has been seen stopped (SIGSTOP) is given a lease to go on. */
struct frozen {
    int64_t looked_ns;  /* 0: never yet */
    int64_t stopped_ns; /* counted so far */
    int64_t switches;   /* see proctree_switches */
};

struct worker {
    int rank, local_rank;
    pid_t wrapper, pid;       /* 0 until it started */
    int pidfd;                /* readable at the end of the wrapper; -1: none, or dead */
    int watch_error;          /* errno for which no pidfd could be had of one that lives */
    bool ended;               /* its end is known and was reported */
    bool ending;              /* its program was seen to end when another rank had failed */
    bool seen;                /* `before` holds something */
    struct board_page before; /* as last reported */
    struct step_watch steps;
    struct quiet_watch quiet;    /* while it has no page */
    struct meeting_rank meeting; /* likewise */
    struct stack_look stack;     /* of it, when the driver has asked */
    struct frozen wrapper_frozen, program_frozen;
    int64_t held_ns; /* until then it was last held; 0: never */
};

/* A node of a generation, by its place in the order. */
struct generation_node {
    int agent;
    char host[256];   /* as people call it */
    char address[46]; /* on the network of the generation */
};

struct generation {
    int64_t number;
    bool probe; /* the ranks measure the network */
    const struct openmpi *mpi;
    struct generation_node *node; /* [n_nodes] */
    int n_nodes, place;           /* of this node; mpirun runs on the first */
    char *share_dir;              /* where all must see this node's file; NULL: nowhere */
    char share[PROTOCOL_MARKER + 1];
    size_t share_kept; /* see shared_folder.h */
    int n, n_ended;
    struct worker *worker;    /* [n], by local rank */
    struct core_watch *cores; /* of these */
    struct link_watch *links; /* likewise */
    struct folders folders;
    char run[FOLDERS_PATH + 24], shm[FOLDERS_PATH + 24]; /* of this generation */
    char board_path[FOLDERS_PATH + 40], rank_file[FOLDERS_PATH + 40];
    char socket_path[FOLDERS_PATH + 40], log_path[PATH_MAX];
    char relay_path[FOLDERS_PATH + 40], relay_program[FOLDERS_PATH + 40];
    char hosts_path[FOLDERS_PATH + 40], rules_path[FOLDERS_PATH + 40];
    char guard_path[FOLDERS_PATH + 40];
    int socket;  /* the wrappers' messages */
    int relay;   /* those of mpirun's relay; -1: none */
    int port_fd; /* keeps MASTER_PORT ours until the start; -1 from then on */
    struct board *board;
    int64_t shm_free;  /* bytes in shared memory before the ranks; -1: unknown */
    bool board_linked; /* the file is still there */
    struct strlist *argv, *env;
    bool in_step; /* of Slurm's, which may signal every process here */
    pid_t mpirun; /* or its daemon, on other nodes; 0 before the start and after the end */
    bool started, mpirun_ended;
    int64_t report_at_step;      /* of the order to prepare; 0: none, or all have done it */
    bool warm;                   /* and its first few, from which on speeds are measured */
    struct poll_backoff backoff; /* for that */
    int64_t look_ns;             /* when to look at the workers' steps again */
    struct meeting meeting;      /* of ranks without a page */
    bool open;                   /* rank 0 is here, and its eddis_commit will ask for the mode */
    struct poll_backoff asked;   /* for that */
    int32_t choice_version;      /* of rank 0's choice, as reported */
    bool forbidden_told;         /* that py-spy may not look was said */
    bool network_told;           /* what rank 0 found the network to be was reported */
    int64_t log_offset;          /* where this generation's words in mpirun.log begin */
    struct frozen mpirun_frozen;
    struct http_refusals refused; /* connections to mpirun or its daemon, not reported yet */
};

/* What a generation is made from, beside its order. */
struct generation_place {
    const struct brief *brief;
    const struct folders *folders;
    const struct openmpi *mpi;
    const char *mpi_guard; /* as struct launch's guard */
    const char *bin;       /* folder of the programs that users start */
    int cores;
    int sender; /* as struct launch */
};

/* Make everything that a start of this order needs. */
int generation_prepare(const struct generation_place *where, const struct order *order,
                       struct generation **ret, struct eddis_error *err);

/* Return the place of a node whose file is not seen here, or -1: what all must share is shared. */
int generation_unseen(struct generation *g);

/* Start mpirun, on the first node. */
int generation_start(struct generation *g, const struct brief *b, struct eddis_error *err);

/* Start mpirun's daemon, on another node. */
int generation_start_daemon(struct generation *g, const struct brief *b, const struct relay *r,
                            struct eddis_error *err);

/* Publish the first plan and the mode that comes with it, or a later plan.  -EINVAL: it is of
 * another number of ranks than the generation; otherwise as board_settle and board_publish.
 */
int generation_settle(struct generation *g, const struct order *order, struct eddis_error *err);
int generation_rebalance(struct generation *g, const struct order *order, struct eddis_error *err);

/* Look whether ranks without a page have met anybody, and set meeting.next_ns. */
void generation_look_for_meeting(struct generation *g, int64_t now_ns);

/* Take mpirun's next wish for a daemon, with the host's name as people use it; the caller frees it
 * by relay_free.  Returns and fails as relay_receive.
 */
int generation_relay(struct generation *g, struct relay *ret, struct eddis_error *err);

/* Take the next message of a wrapper, its rank checked.  Returns its worker, or NULL when there is
 * none. Only output is taken from one whose program has ended.  What mpirun or its daemon refuses
 * is counted on the way.
 */
struct worker *generation_message(struct generation *g, struct rank_message *ret);

/* Whether this message of its end says that it was killed before a rank failed that was heard of
 * earlier, when w->ending was set.  What ended by itself then may well have seen the other leave,
 * and so may what aborted; and mpirun tells the others to end by SIGTERM.
 */
bool generation_was_first(const struct worker *w, const struct rank_message *m);

/* Signal all wrappers that live, which pass it on. */
void generation_signal(const struct generation *g, int sig);

/* Write rows of progress since the call before to ret [g->n], from the boards.  Returns their
 * number.
 */
int generation_progress(struct generation *g, int64_t now_ns, struct progress *ret);

/* Borrow what rank 0 of this node had chosen of the communication when the boards were last read;
 * NULL when it is not here, or has chosen nothing new since the call before.
 */
const struct comm_choice *generation_choice(struct generation *g);

/* Return what rank 0 found the network to be, once; NULL: nothing, or it was told before. */
const struct network_check *generation_network_check(struct generation *g);

/* Look at the steps that were done since the look before, and set look_ns; most_ns: the time
 * between two reports.  Returns whether there is news that should not wait for the next report:
 * figures of a plan or of a speed of which none were reported yet.
 */
bool generation_look(struct generation *g, int64_t most_ns, int64_t now_ns);

/* Whether all workers have done report_at_step steps, which is true once; to be asked when
 * backoff.next_ns has come.  most_ns: the time between two reports.
 */
bool generation_reached_step(struct generation *g, int64_t most_ns, int64_t now_ns);

/* Whether rank 0 has come to eddis_commit where the mode is open; to be asked when asked.next_ns
 * has come.
 */
bool generation_asks_mode(struct generation *g, int64_t now_ns);

/* Return how many bytes rank 0's model has, as it was read last, when it asks for the mode, once,
 * and fill *ret; else -1.
 */
int64_t generation_model_bytes(struct generation *g, struct program *ret);

/* Return the last words of mpirun in this generation, with the names of nodes that people use, for
 * the caller to free; NULL when it said nothing.
 */
char *generation_words(const struct generation *g);

/* Return the line that the network's probe has printed as this rank, for the caller to free; NULL
 * when it has printed none.
 */
char *generation_network(const struct generation *g, int rank);

/* Stop what runs below the wrappers, of which some may be stopped already. */
void generation_hold(struct generation *g);

/* Let all of it go on.  No rank has stood still, or been quiet, since before now_ns. */
void generation_go_on(struct generation *g, int64_t now_ns);

/* Return how long ago from_ns was, of something that a rank was to do: what went before its last
 * hold does not count.
 */
int64_t generation_age_ns(const struct worker *w, int64_t now_ns, int64_t from_ns);

/* Find mpirun, a wrapper or a program that has been stopped by a signal for limit_ns and kill it.
 * Returns what was done in ret [size], or false when there was nothing to do.
 */
bool generation_kill_frozen(struct generation *g, int64_t now_ns, int64_t limit_ns, char *ret,
                            size_t size);

/* Free g and remove its files.  Accepts NULL. */
void generation_close(struct generation *g);

#endif
