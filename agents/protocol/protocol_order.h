/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_order.h - orders, from the driver to an agent; protocol.h tells how they are used */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_ORDER_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_ORDER_H

#include "lib/base/error.h"
#include "lib/board/layout.h"
#include "protocol_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;

/* ---- mpirun's daemons ---- */

/* What mpirun tells a daemon of its own on another node, and nothing else of its command line. */
struct relay {
    char host[256];  /* as mpirun calls the node: order_node.host */
    char space[256]; /* name of its job: digits for Open MPI 4, a name for 5 */
    int daemon, daemons;
    char *uri;   /* where mpirun's own daemon is reached */
    char *nodes; /* its list of nodes, in its own short form; "" when it sends none */
};

/* ---- orders: driver to agent ---- */

enum order_type {
    ORDER_NONE, /* nothing new: the lease is renewed */
    ORDER_PROFILE,
    ORDER_PREPARE,
    ORDER_CHECK,
    ORDER_START,
    ORDER_RELAY,
    ORDER_SETTLE, /* the first plan of a generation that was prepared with plan 0 */
    ORDER_REBALANCE,
    ORDER_SIGNAL,
    ORDER_LOOK, /* tell where the ranks stand */
    ORDER_STOP,
    ORDER_LOGS,
    ORDER_PAUSE, /* the driver is about to stop, as by Ctrl-Z */
    ORDER_CONTINUE,
    ORDER_BYE,
};

/* How a stop goes, as rows of {signal, wait} in agents/node/stop.c. */
enum stop_ladder {
    STOP_ORDERLY, /* TERM to the ranks, grace, then as STOP_FAILURE */
    STOP_FAILURE, /* KILL to mpirun, TERM to the ranks, 1 s, KILL: all gone within 3 s */
    STOP_KILL,    /* KILL to all at once */
};

struct order_rank {
    int rank, local_rank;
    char device_id[64]; /* as profiled: "numa:0", "GPU-...", "emulated:1" */
    char cpus[256];     /* "" : not bound */
    int64_t batch;
    double weight;
    double fixed_s, sample_s; /* of an emulated device, else 0 */
};

/* A node that takes part in a generation. */
struct order_node {
    int agent;
    char host[256];   /* as mpirun shall call it */
    char address[46]; /* on the network of the generation; "" when there is one node */
    int n_ranks;
};

struct order {
    int64_t number; /* from 1, one sequence per agent; 0 with ORDER_NONE */
    enum order_type type;
    int64_t generation;
    /* profile */
    bool turn; /* no other agent of the machine measures: this one may */
    /* prepare */
    bool probe;              /* the ranks measure the network instead of training */
    struct order_node *node; /* [n_nodes] by their first rank; mpirun runs on the first */
    int n_nodes;
    char network[64];                /* "10.1.0.0/24"; "" when there is one node */
    char share[PROTOCOL_MARKER + 1]; /* name that all nodes leave in the checkpoint folder and
                                      * look for when told to check; "": nothing is to be shared */
    /* With which mpirun's daemons meet in this generation, see agents/guard/guard.h; "": without.
     */
    char mpi_secret[PROTOCOL_MPI_SECRET + 1];
    int n_ranks;             /* of the job */
    struct order_rank *rank; /* [n_local] of this node */
    int n_local;
    int64_t open_ns;              /* of struct board_area; plan->version is 0 then */
    struct comm_choice *choice;   /* of a plan that is replayed; NULL: to be measured */
    struct network_checks checks; /* of the network, from this node */
    uint64_t seed;
    int64_t bucket_bytes, warmup_steps, checkpoint_every, checkpoint_keep, check_models;
    bool emulated;
    bool resume;            /* start from the brief's resume_from; in a later generation than the
                             * first from the newest whole checkpoint in checkpoint_dir */
    bool resume_begun;      /* there is none: from resume_from in a later one too */
    int64_t report_at_step; /* report as soon as every worker has done so many; 0: as ever */
    /* prepare and settle */
    char mode[16], algorithm[16];
    struct sync_options options;
    int *group;  /* [n_group] of each rank, from 0 */
    int n_group; /* as n_plan */
    /* prepare, settle and rebalance */
    struct board_plan *plan; /* version, flags, period, batches of all ranks; NULL otherwise */
    int n_plan;              /* ranks in plan->batch */
    /* relay */
    struct relay relay;
    /* stop */
    enum stop_ladder ladder;
    int64_t grace_ns;
    /* logs */
    int log_rank;
    int64_t log_offset; /* from there on; negative: so many bytes before the end */
};

/* Return plan p as an order carries it, as this version and with these flags (BOARD_FLAG_STOP,
 * ...), to be freed; NULL without memory.
 */
struct board_plan *order_plan(const struct plan *p, int64_t version, int64_t flags);

/* Return an empty plan for so many ranks, to be freed with one free; NULL without memory. */
struct board_plan *order_plan_new(int n_ranks);

char *order_text(const struct order *o);
int order_parse(const char *text, size_t n, struct order **ret, struct eddis_error *err);
void order_free(struct order *o); /* wipes the secret; accepts NULL */

#endif
