/* SPDX-License-Identifier: Apache-2.0 */
/* protocol_order.h - orders from the driver to an agent (see protocol.h for their use) */
#ifndef EDDIS_AGENTS_PROTOCOL_PROTOCOL_ORDER_H
#define EDDIS_AGENTS_PROTOCOL_PROTOCOL_ORDER_H

#include "lib/base/error.h"
#include "lib/board/layout.h"
#include "lib/model/profile.h"
#include "protocol_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;

/* ---- mpirun's daemons ---- */

/* Parameters with which mpirun starts one of its daemons on another node.  Nothing else of
 * mpirun's command line is passed on.
 */
struct relay {
    char host[256];      /* mpirun's name for the node: order_node.host */
    char space[256];     /* mpirun's name for its job: digits in Open MPI 4, a name in 5 */
    int daemon, daemons; /* number of this daemon, from 1; number of daemons including mpirun */
    char *uri;           /* address at which the daemon connects to mpirun */
    char *nodes;         /* list of nodes in mpirun's short form; "": mpirun sent no list */
};

/* ---- orders: driver to agent ---- */

/* Types of orders, see protocol.h. */
enum order_type {
    ORDER_NONE, /* no order: the lease is renewed */
    ORDER_PROFILE,
    ORDER_PREPARE,
    ORDER_CHECK,
    ORDER_START,
    ORDER_RELAY,
    /* contains mode and first plan of a generation that was prepared with plan version 0 */
    ORDER_SETTLE,
    ORDER_REBALANCE,
    ORDER_SIGNAL,
    ORDER_LOOK, /* report the code line or collective operation at which each rank is */
    ORDER_STOP,
    ORDER_LOGS,
    ORDER_PAUSE, /* the driver is about to be stopped, for example by Ctrl-Z */
    ORDER_CONTINUE,
    ORDER_RELEASE, /* no worker of the generation is on this node: release its GPUs */
    ORDER_BYE,
};

extern const char *const order_type_names[]; /* by enum order_type */

/* Sequence of signals with which a node is stopped; agents/node/stop.c has the exact table. */
enum stop_ladder {
    STOP_ORDERLY, /* send TERM to the ranks, wait grace_ns, then as STOP_FAILURE */
    /* send KILL to mpirun and TERM to the ranks, wait 1 s, send KILL: all have ended within 3 s */
    STOP_FAILURE,
    STOP_KILL, /* send KILL to mpirun and all ranks immediately */
};

/* One rank of the node. */
struct order_rank {
    int rank, local_rank;
    /* id of the rank's device, as profiled: "numa:0", "GPU-...", "emulated:1", "GPU-...,GPU-..." */
    char device_id[DEVICE_ID];
    char cpus[256]; /* list of cores, "0-3,8"; "": not bound */
    int64_t batch;  /* samples a step */
    double weight;
    double fixed_s, sample_s; /* step time of an emulated device: fixed_s + samples * sample_s;
                               * 0: a real device */
};

/* A node that takes part in a generation. */
struct order_node {
    int agent;
    char host[256];   /* the node's name for mpirun */
    char address[46]; /* address on the network of the generation; "": there is one node */
    int n_ranks;
};

/* An order. The comment above each group of members names the orders that use the group. */
struct order {
    int64_t number; /* number of the order, from 1 for each agent; 0 with ORDER_NONE */
    enum order_type type;
    int64_t generation;
    /* profile */
    bool turn;       /* this agent may measure: no other agent of its machine measures now */
    int64_t wait_ns; /* longest time to wait for the GPUs, which are locked before the profile is
                      * made; 0: they are not */
    int *device;     /* [n_device] CUDA ordinals of the GPUs to lock; none: all */
    int n_device;
    /* prepare */
    bool probe;              /* the ranks measure the network instead of training */
    bool check_only;         /* the generation is not started, so it needs no GPU for itself */
    struct order_node *node; /* [n_nodes] sorted by first rank; mpirun runs on the first */
    int n_nodes;
    char network[64]; /* network between the nodes, "10.1.0.0/24"; "": there is one node */
    /* name of the files that the nodes write to the checkpoint folder and, on ORDER_CHECK, search
     * there; "": no check
     */
    char share[PROTOCOL_MARKER + 1];
    /* secret by which mpirun's daemons authenticate each other (agents/guard/guard.h); "": none */
    char mpi_secret[PROTOCOL_MPI_SECRET + 1];
    int n_ranks;             /* number of ranks of the job */
    struct order_rank *rank; /* [n_local] ranks of this node */
    int n_local;
    int64_t open_ns; /* as in struct board_area, if plan->version is 0 */
    bool mode_named; /* as in struct board_area */
    /* communication settings of a plan that is replayed; NULL: the workers measure them */
    struct comm_choice *choice;
    struct network_checks checks; /* links that this node measures again; turns 0: none */
    uint64_t seed;
    int64_t bucket_bytes, warmup_steps, checkpoint_every, checkpoint_keep, check_models;
    bool emulated;
    /* the first generation starts from resume_from of the agent configuration; later generations
     * start from the newest complete checkpoint in checkpoint_dir
     */
    bool resume;
    /* no checkpoint was written in checkpoint_dir yet: a later generation, too, starts from
     * resume_from
     */
    bool resume_begun;
    /* step count that all workers must reach for an additional report; 0: none */
    int64_t report_at_step;
    /* check */
    /* time within which the program's interpreter must print its versions; 0: it is not run */
    int64_t program_ns;
    /* prepare and settle */
    char mode[16], algorithm[16];
    struct sync_options options;
    int *group; /* [n_plan] group of each rank, from 0 */
    /* prepare, settle and rebalance */
    struct board_plan *plan; /* version, flags, period, batches of all ranks; NULL otherwise */
    int n_plan;              /* number of ranks in plan->batch */
    /* relay */
    struct relay relay;
    /* stop */
    enum stop_ladder ladder;
    int64_t grace_ns;
    /* logs */
    int log_rank;
    int64_t log_offset; /* first byte to send; negative: counted from the end */
};

/* Return a copy of plan p for an order, with this version and these flags (BOARD_FLAG_STOP, ...).
 * The caller frees it with one free; NULL without memory.
 */
struct board_plan *order_plan(const struct plan *p, int64_t version, int64_t flags);

/* Return a plan of zeros for n_ranks ranks, which the caller frees with one free; NULL without
 * memory.
 */
struct board_plan *order_plan_new(int n_ranks);

/* Return the order, with its secret, as JSON, which the caller wipes and frees; NULL without
 * memory.
 */
char *order_text(const struct order *o);

/* Parse n bytes of JSON and check the result.  On success return 0 and a new order in *ret, for
 * order_free; otherwise a negative errno.
 */
int order_parse(const char *text, size_t n, struct order **ret, struct eddis_error *err);

/* Wipe the secret and free an order; accept NULL. */
void order_free(struct order *o);

#endif
